#include "package/place.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <utility>
#include <vector>

namespace syrtos::package {

namespace {

constexpr size_t kOthersKept = 2;
constexpr time_t kAbandoned = 3600;  // seconds after which nobody unpacks any more
constexpr int kLockTries = 600;      // of 0.1 s each
constexpr char kUnpacking[] = ".unpacking-";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

/// Homes are shared between hosts, which count their processes each for itself.
std::string own_name() {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  return host + std::string("-") + std::to_string(getpid());
}

bool make_directories(const std::string& path, mode_t mode) {
  for (size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    if (mkdir(part.c_str(), mode) != 0 && errno != EEXIST) return false;
    if (slash == std::string::npos) return true;
  }
}

int remove_entry(const char* path, const struct stat*, int, FTW*) { return remove(path); }

void remove_all(const std::string& path) {
  nftw(path.c_str(), remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/// Only one process of this host unpacks; where files cannot be locked, several may, which is only
/// wasteful.
class Lock {
 public:
  explicit Lock(const std::string& path)
      : file_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
    for (int i = 0; i < kLockTries && file_ >= 0; ++i) {
      if (flock(file_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
      const timespec tenth{.tv_sec = 0, .tv_nsec = 100'000'000};
      nanosleep(&tenth, nullptr);
    }
  }
  ~Lock() {
    if (file_ >= 0) close(file_);
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  int file_;
};

void remove_old(const std::string& base, const std::string& used) {
  std::vector<std::pair<time_t, std::string>> others;
  const auto path_of = [&](const std::string& name) { return base + "/" + name; };
  DIR* directory = opendir(base.c_str());
  if (directory == nullptr) return;
  while (const dirent* entry = readdir(directory)) {
    const std::string name = entry->d_name;
    struct stat found {};
    if (name == "." || name == ".." || name == used) continue;
    if (stat(path_of(name).c_str(), &found) != 0 || !S_ISDIR(found.st_mode)) continue;
    const bool begun = name.starts_with(kUnpacking);
    if (!begun) others.emplace_back(found.st_mtime, name);
    if (begun && found.st_mtime + kAbandoned < time(nullptr)) remove_all(path_of(name));
  }
  closedir(directory);
  std::ranges::sort(others, std::greater<>());
  for (size_t i = kOthersKept; i < others.size(); ++i) remove_all(path_of(others[i].second));
}

/// Below `base`, which exists. Empty when all went well.
std::string place_below(const std::string& base, int file, const Content& content) {
  const std::string place = base + "/" + content.hash;
  if (!is_complete(place)) {
    const Lock lock(base + "/lock");
    if (!is_complete(place)) {
      const std::string fresh = base + "/" + kUnpacking + own_name();
      remove_all(fresh);
      if (mkdir(fresh.c_str(), 0755) != 0) return fresh + ": " + std::strerror(errno);
      std::string problem = unpack(file, content, fresh);
      if (problem.empty()) remove_all(place);  // what was there was not complete
      if (problem.empty() && rename(fresh.c_str(), place.c_str()) != 0 && !is_complete(place)) {
        problem = place + ": " + std::strerror(errno);
      }
      remove_all(fresh);
      if (!problem.empty()) return problem;
      remove_old(base, content.hash);
    }
  }
  if (access((place + "/bin/syrtos").c_str(), X_OK) != 0) {
    return place + ": programs cannot be started from there";
  }
  utimensat(AT_FDCWD, place.c_str(), nullptr, 0);  // it was used now
  return "";
}

/// Everybody may write where temporary files are: the directory must be ours alone.
bool is_ours_alone(const std::string& path) {
  struct stat found {};
  return lstat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode) && found.st_uid == geteuid() &&
         (found.st_mode & 022U) == 0;
}

}  // namespace

std::string find_place(int file, const Content& content, std::string& problem) {
  std::string cache = variable("XDG_CACHE_HOME");
  if (cache.empty() && !variable("HOME").empty()) cache = variable("HOME") + "/.cache";
  if (cache.starts_with('/')) {
    const std::string base = cache + "/syrtos/program";
    problem = make_directories(base, 0755) ? place_below(base, file, content)
                                           : base + ": " + std::strerror(errno);
    if (problem.empty()) return base + "/" + content.hash;
    problem += "; ";
  }
  const std::string temporary = variable("TMPDIR");
  const std::string base =
      (temporary.empty() ? "/tmp" : temporary) + "/syrtos-program-" + std::to_string(geteuid());
  if (!make_directories(base, 0700)) {
    problem += base + ": " + std::strerror(errno);
  } else if (!is_ours_alone(base)) {
    problem += base + ": it belongs to somebody else";
  } else {
    const std::string second = place_below(base, file, content);
    if (second.empty()) return base + "/" + content.hash;
    problem += second;
  }
  return "";
}

}  // namespace syrtos::package
