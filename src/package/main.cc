// The launcher of a package: one static program with everything that Syrtos needs behind it, for
// machines on which nothing is installed. It unpacks that once, and becomes the program in it.

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "package/place.h"

namespace syrtos::package {

namespace {

constexpr int kExitFailed = 1;
constexpr const char* kHostLoader = "/lib64/ld-linux-x86-64.so.2";

[[noreturn]] void fail(const std::string& text) {
  std::fprintf(stderr, "error: %s\n", text.c_str());
  std::exit(kExitFailed);
}

/// "2.36" as 2036; 0: unknown.
int version_of(const std::string& text) {
  int major = 0;
  int minor = 0;
  return std::sscanf(text.c_str(), "%d.%d", &major, &minor) == 2 ? major * 1000 + minor : 0;
}

std::string first_line_of(FILE* file) {
  char line[256] = {};
  if (file == nullptr || std::fgets(line, sizeof(line), file) == nullptr) line[0] = '\0';
  if (file != nullptr) std::fclose(file);
  return line;
}

/// The version of the machine's own C library, as its loader says it since 2.33; 0: older, or none.
int host_version() {
  int ends[2];
  if (access(kHostLoader, X_OK) != 0 || pipe2(ends, O_CLOEXEC) != 0) return 0;
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    const int nowhere = open("/dev/null", O_WRONLY);
    if (nowhere >= 0) dup2(nowhere, STDERR_FILENO);
    unsetenv("LD_PRELOAD");
    execl(kHostLoader, kHostLoader, "--version", nullptr);
    _exit(kExitFailed);
  }
  close(ends[1]);
  const std::string line = first_line_of(fdopen(ends[0], "r"));
  if (child > 0) waitpid(child, nullptr, 0);
  const size_t word = line.rfind("version ");
  return word == std::string::npos ? 0 : version_of(line.substr(word + 8));
}

void set(const char* name, const std::string& value) {
  if (setenv(name, value.c_str(), 1) != 0) fail("the environment is full");
}

/// What the program would otherwise find out or start again for.
void prepare_environment(const std::string& self, const std::string& place) {
  set("SYRTOS_PACKAGE", self);
  if (std::getenv("OMP_WAIT_POLICY") == nullptr) setenv("GOMP_SPINCOUNT", "2000", 0);
  if (access("/etc/fonts/fonts.conf", R_OK) != 0 && std::getenv("FONTCONFIG_FILE") == nullptr) {
    set("FONTCONFIG_FILE", place + "/share/fonts.conf");
  }
}

bool under_mpi() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK"}) {
    if (std::getenv(name) != nullptr) return true;
  }
  return false;
}

/// The program that the package was called as, by a link to it.
std::string program_of(const std::string& place, const char* called) {
  const char* slash = called != nullptr ? std::strrchr(called, '/') : nullptr;
  const std::string name = slash != nullptr ? slash + 1 : called != nullptr ? called : "";
  const std::string program = place + "/bin/" + name;
  return !name.empty() && access(program.c_str(), X_OK) == 0 ? program : place + "/bin/syrtos";
}

/// With our own C library, so that every machine computes the same; but MPI is the machine's, and
/// may need its C library, if that is newer.
[[noreturn]] void become_program(const std::string& place, char** arguments) {
  const int ours = version_of(first_line_of(std::fopen((place + "/libc/version").c_str(), "re")));
  const bool use_hosts = under_mpi() && host_version() > ours;
  const std::string loader = use_hosts ? kHostLoader : place + "/libc/ld-linux-x86-64.so.2";
  std::string libraries = (use_hosts ? "" : place + "/libc:") + place + "/lib";
  // The option takes the place of this variable.
  const char* more = std::getenv("LD_LIBRARY_PATH");
  if (more != nullptr && *more != '\0') libraries += std::string(":") + more;
  const std::string program = program_of(place, arguments[0]);
  std::vector<const char*> words = {loader.c_str(), "--library-path", libraries.c_str(),
                                    "--argv0",      "syrtos",         program.c_str()};
  for (char** word = arguments + 1; *word != nullptr; ++word) words.push_back(*word);
  words.push_back(nullptr);
  execv(loader.c_str(), const_cast<char**>(words.data()));
  fail(loader + " cannot be started: " + std::strerror(errno));
}

}  // namespace

}  // namespace syrtos::package

int main(int, char** arguments) {
  using namespace syrtos::package;
  char self[PATH_MAX] = {};
  if (readlink("/proc/self/exe", self, sizeof(self) - 1) <= 0) {
    fail("/proc/self/exe cannot be read: is /proc mounted?");
  }
  const int file = open(self, O_RDONLY | O_CLOEXEC);
  struct stat found {};
  if (file < 0 || fstat(file, &found) != 0) fail(std::string(self) + ": " + std::strerror(errno));
  const Content content = find_content(file, static_cast<uint64_t>(found.st_size));
  if (!content.problem.empty()) fail(std::string(self) + ": " + content.problem);
  std::string problem;
  const std::string place = find_place(file, content, problem);
  if (place.empty()) {
    fail("the program cannot be unpacked (" + problem +
         "): set XDG_CACHE_HOME or TMPDIR to a directory with 200 MB of free space");
  }
  prepare_environment(self, place);
  become_program(place, arguments);
}
