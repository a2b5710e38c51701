#include "syrtos/run/owner.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "syrtos/base/clock.h"
#include "syrtos/base/descriptor.h"
#include "syrtos/base/error.h"
#include "syrtos/base/files.h"
#include "syrtos/base/log.h"
#include "syrtos/base/secret.h"
#include "syrtos/run/files.h"
#include "syrtos/run/json.h"

namespace syrtos::run {

namespace fs = std::filesystem;

namespace {

fs::path file_in(const fs::path& directory) { return directory / name_of(File::owner); }

std::string record_text(const OwnerRecord& owner) {
  return to_text(json{{"host", owner.name.host},
                      {"machine", owner.name.machine},
                      {"boot", owner.name.boot},
                      {"pid_namespace", owner.name.pid_namespace},
                      {"process", owner.name.process},
                      {"started", owner.name.started},
                      {"token", owner.token},
                      {"since", owner.since}}) +
         "\n";
}

std::optional<OwnerRecord> read_record(const fs::path& file) {
  const FileText found = read_text(file);
  errno = found.error;
  if (found.error != 0) return std::nullopt;
  const json value = json::parse(found.text, nullptr, false);
  // Whatever else it is, somebody has put it there.
  return OwnerRecord{.name = {.host = text_in(value, "host"),
                              .machine = text_in(value, "machine"),
                              .boot = text_in(value, "boot"),
                              .pid_namespace = text_in(value, "pid_namespace"),
                              .process = count_in(value, "process"),
                              .started = count_in(value, "started")},
                     .token = text_in(value, "token"),
                     .since = number_in(value, "since")};
}

std::string name_of_owner(const OwnerRecord& owner) {
  if (owner.name.host.empty()) return "somebody who cannot be read";
  const auto since = static_cast<std::time_t>(owner.since);
  return fmt::format("process {} on {} (since {:%Y-%m-%d %H:%M:%S})", owner.name.process,
                     owner.name.host, fmt::localtime(since));
}

[[noreturn]] void refuse(const fs::path& directory, const OwnerRecord& owner, bool alive) {
  if (alive) {
    fail_request(
        "{} is being trained by {}: wait for its end, or end it and take the run over with --force",
        directory.string(), name_of_owner(owner));
  }
  fail_request(
      "{} belongs to {}, and whether that still runs cannot be seen from here: if it does not, "
      "take the run over with --force",
      directory.string(), name_of_owner(owner));
}

[[noreturn]] void fail_taken_over(const fs::path& directory, const OwnerRecord& owner) {
  throw TakenOver(fmt::format("{} was taken over by {}: this process writes nothing more into it",
                              directory.string(), name_of_owner(owner)));
}

/// Where the answer of a file server was lost, the link may be there although it is said to have
/// failed; so the number of names is what counts.
bool link_new(const fs::path& own, const fs::path& name) {
  const int failed = link(own.c_str(), name.c_str());
  if (failed == 0) return true;
  const int reason = errno;
  struct stat found {};
  if (stat(own.c_str(), &found) == 0 && found.st_nlink == 2) return true;
  if (reason == EEXIST) return false;
  // Without links only renaming is left, which would replace another one that came just now.
  if (access(name.c_str(), F_OK) == 0) return false;
  if (rename(own.c_str(), name.c_str()) == 0) return true;
  fail_run("cannot create {}: {}", name.string(), std::strerror(reason));
}

/// The record of one who wants to be the owner, before it has its place: a file without a name, so
/// that nothing is left of a process that is killed, or beside, where the file system has no such
/// files.
class Candidate {
 public:
  Candidate(const fs::path& directory, const OwnerRecord& owner)
      : beside_(part_of(file_in(directory))),
        descriptor_(open(directory.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666)),
        nameless_(descriptor_.valid()) {
    if (!nameless_) {
      descriptor_ =
          Descriptor(open(beside_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    }
    const std::string text = record_text(owner);
    if (descriptor_.valid() &&
        ::write(descriptor_.get(), text.data(), text.size()) == ssize_t(text.size()) &&
        fsync(descriptor_.get()) == 0) {
      return;
    }
    const int reason = errno;
    if (!nameless_) unlink(beside_.c_str());
    const std::string why =
        fmt::format("cannot create {}: {}", beside_.string(), std::strerror(reason));
    if (reason == ENOSPC || reason == EDQUOT) throw NoRoom(why);
    throw RunError(why);
  }
  ~Candidate() {
    if (!nameless_) unlink(beside_.c_str());
  }
  Candidate(const Candidate&) = delete;
  Candidate& operator=(const Candidate&) = delete;

  /// False: there is one already.
  bool take(const fs::path& name) const {
    if (!nameless_) return link_new(beside_, name);
    const std::string self = "/proc/self/fd/" + std::to_string(descriptor_.get());
    if (linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) return true;
    if (errno == EEXIST) return false;
    fail_run("cannot create {}: {}", name.string(), std::strerror(errno));
  }

 private:
  const fs::path beside_;
  Descriptor descriptor_;
  const bool nameless_;
};

/// Who may change the record of a directory now: looking at it and replacing it are two calls, and
/// between them others must not. The kernel ends the lock with its process. File systems that lock
/// no directories (NFS) are left to what linking and renaming alone can do.
class Turn {
 public:
  explicit Turn(const fs::path& directory)
      : directory_(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    using namespace std::chrono_literals;
    constexpr auto kPatience = 5s;
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (directory_.valid() && flock(directory_.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EINTR) continue;
      if (errno != EWOULDBLOCK) return;
      if (std::chrono::steady_clock::now() > end) {
        fail_run("{}: another process has been claiming it for 5 s: is one stopped (Ctrl-Z)?",
                 directory.string());
      }
      std::this_thread::sleep_for(1ms);
    }
  }

 private:
  Descriptor directory_;
};

/// On a full disk: the heir's record takes the place of the one before within its file. False:
/// there is no such one, or no room for this either.
bool write_over(const fs::path& directory, const OwnerRecord& owner, const Claim& claim) {
  if (claim.heir_of.empty()) return false;
  const Turn turn(directory);
  const std::optional<OwnerRecord> before = read_record(file_in(directory));
  if (!before || !before->token.starts_with(claim.heir_of)) return false;
  const Descriptor file(open(file_in(directory).c_str(), O_WRONLY | O_CLOEXEC));
  const std::string text = record_text(owner);
  const auto bytes = static_cast<ssize_t>(text.size());
  if (!file.valid() || pwrite(file.get(), text.data(), text.size(), 0) != bytes) return false;
  log_info("{} had the run directory {}: taken over", name_of_owner(*before), directory.string());
  return ftruncate(file.get(), bytes) == 0 && fsync(file.get()) == 0;
}

}  // namespace

std::optional<OwnerRecord> read_owner(const fs::path& directory) {
  return read_record(file_in(directory));
}

Owner::Owner(fs::path directory, Claim claim)
    : directory_(std::move(directory)), token_(claim.token.empty() ? random_token() : claim.token) {
  const OwnerRecord mine{.name = this_process(), .token = token_, .since = wall_clock()};
  try {
    const Candidate candidate(directory_, mine);
    const Turn turn(directory_);
    claim_free([&](const fs::path& name) { return candidate.take(name); }, claim);
  } catch (const NoRoom&) {
    if (!write_over(directory_, mine, claim)) throw;
  }
  if (!still()) check();
  log_info("owns the run directory {}", directory_.string());
}

/// Of several that find a dead owner only one takes its place: the record is moved away before, and
/// put back if it is another one than was read.
void Owner::claim_free(const std::function<bool(const fs::path&)>& take, const Claim& claim) const {
  const fs::path name = file_in(directory_);
  constexpr int kTries = 10;  // others may come and go meanwhile
  for (int attempt = 0; attempt < kTries; ++attempt) {
    if (take(name)) return;
    const std::optional<OwnerRecord> owner = read_owner(directory_);
    if (!owner && errno != ENOENT)
      fail_run("cannot read {}: {}", name.string(), std::strerror(errno));
    if (!owner) continue;
    const Liveness alive = liveness_of(owner->name);
    const bool heir = !claim.heir_of.empty();
    if (heir && !owner->token.starts_with(claim.heir_of)) fail_taken_over(directory_, *owner);
    if (!heir && !claim.force && alive != Liveness::gone)
      refuse(directory_, *owner, alive == Liveness::alive);
    log_info("{} had the run directory {}: taken over", name_of_owner(*owner), directory_.string());
    const fs::path old = part_of(name);
    if (rename(name.c_str(), old.c_str()) != 0) continue;
    const std::optional<OwnerRecord> moved = read_record(old);
    if (moved && moved->token != owner->token) link_new(old, name);
    unlink(old.c_str());
  }
  fail_request("{}: others claim it again and again: is it being resumed in a loop?",
               directory_.string());
}

Owner::~Owner() {
  try {
    const Turn turn(directory_);
    if (still()) unlink(file_in(directory_).c_str());
  } catch (const Error& error) {
    // Whoever comes next finds the record of a process that is gone.
    log_info("{}", error.what());
  }
}

bool Owner::still() const {
  const std::optional<OwnerRecord> owner = read_owner(directory_);
  return owner && owner->token == token_;
}

void Owner::check() const {
  const std::optional<OwnerRecord> owner = read_owner(directory_);
  if (owner && owner->token == token_) return;
  const int reason = errno;
  std::error_code ignored;
  if (!owner && (reason != ENOENT || !fs::is_directory(directory_, ignored))) {
    fail_run("cannot read {}: {}", file_in(directory_).string(), std::strerror(reason));
  }
  if (!owner) {
    throw TakenOver(fmt::format("{} is gone: somebody else may have {}, so nothing more is written",
                                file_in(directory_).string(), directory_.string()));
  }
  fail_taken_over(directory_, *owner);
}

void refuse_owned(const fs::path& directory) {
  const std::optional<OwnerRecord> owner = read_owner(directory);
  if (owner && liveness_of(owner->name) == Liveness::alive) refuse(directory, *owner, true);
}

bool is_free_after(const fs::path& directory, const std::string& token) {
  const Turn turn(directory);
  const std::optional<OwnerRecord> owner = read_owner(directory);
  if (!owner) return errno == ENOENT;
  if (!owner->token.starts_with(token)) return false;
  unlink(file_in(directory).c_str());
  return true;
}

}  // namespace syrtos::run
