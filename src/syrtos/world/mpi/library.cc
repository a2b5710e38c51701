#include "syrtos/world/mpi/library.h"

#include <dlfcn.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <vector>

#include "syrtos/base/error.h"
#include "syrtos/base/log.h"

namespace syrtos::world {

namespace {

/// Libraries of this kind have the same binary interface, whatever they are called.
struct Kind {
  std::string name;
  std::vector<const char*> libraries;
  const char* plugin;  ///< found as every library: beside the program, or where it was installed
};

std::vector<Kind> kinds(const std::string& preferred) {
  std::vector<Kind> all = {{"Open MPI", {"libmpi.so.40"}, "libsyrtos_openmpi.so"},
                           {"MPICH", {"libmpi.so.12", "libmpich.so.12"}, "libsyrtos_mpich.so"}};
  std::ranges::stable_partition(all, [&](const Kind& kind) { return kind.name == preferred; });
  return all;
}

std::string last_error() {
  const char* text = dlerror();
  return text != nullptr ? text : "";
}

/// nullptr: it is not here, and `why` says what was missing.
const SyrtosMpiCalls* load(const Kind& kind, std::vector<std::string>& why) {
  void* mpi = nullptr;
  for (const char* library : kind.libraries) {
    // Its own modules look for its symbols, so that they must be visible to all.
    mpi = dlopen(library, RTLD_LAZY | RTLD_GLOBAL);
    if (mpi != nullptr) break;
    why.push_back(last_error());
  }
  if (mpi == nullptr) return nullptr;
  void* plugin = dlopen(kind.plugin, RTLD_NOW | RTLD_LOCAL);
  if (plugin == nullptr) {
    why.push_back(last_error());
    dlclose(mpi);  // the plugin of another kind must not find its symbols
    return nullptr;
  }
  const auto calls_of = reinterpret_cast<decltype(&syrtos_mpi_calls)>(  //
      dlsym(plugin, SYRTOS_MPI_CALLS_SYMBOL));
  const SyrtosMpiCalls* calls = calls_of != nullptr ? calls_of() : nullptr;
  if (calls == nullptr || calls->version != SYRTOS_MPI_CALLS_VERSION) {
    why.push_back(fmt::format("{} is not of this version of the program", kind.plugin));
    return nullptr;
  }
  return calls;
}

}  // namespace

MpiLibrary::MpiLibrary(const std::string& preferred) {
  std::vector<std::string> why;
  for (const Kind& kind : kinds(preferred)) {
    calls_ = load(kind, why);
    if (calls_ == nullptr) continue;
    log_info("MPI: {}", kind.name);
    return;
  }
  fail_request(
      "started by mpirun or srun: expected an MPI library (Open MPI 4 or later, MPICH 3.1 or later "
      "or one with its binary interface), found none ({}): install one on every host, or set "
      "LD_LIBRARY_PATH to where it is; or use --hosts, which needs no MPI",
      fmt::join(why, "; "));
}

void MpiLibrary::check(int code, const char* call) const {
  if (code == 0) return;
  std::array<char, 1024> text{};
  calls_->error_text(code, text.data(), static_cast<int>(text.size()));
  fail_run("MPI failed in {}: {}", call, text.data());
}

}  // namespace syrtos::world
