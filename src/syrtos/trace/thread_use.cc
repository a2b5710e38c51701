#include "syrtos/trace/thread_use.h"

#include <sched.h>

#include <cstdint>
#include <fstream>
#include <sstream>

namespace syrtos::trace {

namespace fs = std::filesystem;

namespace {

constexpr int kPolicyField = 39;  // of a thread's stat, behind its name: see proc(5)

/// Whether it runs only where nothing else does.
bool is_idle(const fs::path& thread) {
  std::ifstream file(thread / "stat");
  std::string text;
  std::getline(file, text);
  const size_t end = text.rfind(')');  // a name may have spaces
  if (end == std::string::npos) return false;
  std::istringstream rest(text.substr(end + 1));
  std::string field;
  for (int i = 0; i < kPolicyField && rest; ++i) rest >> field;
  return field == std::to_string(SCHED_IDLE);
}

}  // namespace

ThreadUse read_thread_use(const fs::path& process) {
  ThreadUse use;
  std::error_code error;
  for (const auto& thread : fs::directory_iterator(process / "task", error)) {
    std::ifstream file(thread.path() / "schedstat");
    uint64_t ran = 0, ready = 0;  // nanoseconds
    if (!(file >> ran >> ready) || is_idle(thread.path())) continue;
    use.cpu_s += 1e-9 * static_cast<double>(ran);
    use.ready_s += 1e-9 * static_cast<double>(ready);
  }
  return use;
}

std::string machine_name(const fs::path& proc) {
  std::ifstream file(proc / "sys/kernel/random/boot_id");
  std::string name;
  file >> name;
  return name.substr(0, name.find('-'));
}

}  // namespace syrtos::trace
