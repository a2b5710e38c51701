#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "syrtos/base/error.h"
#include "syrtos/base/process_name.h"

namespace syrtos::run {

/// Another process has the run now.
class TakenOver : public RunError {
 public:
  using RunError::RunError;
};

/// Who has a run directory, as owner.json says.
struct OwnerRecord {
  ProcessName name;
  std::string token;  ///< Of this ownership alone.
  double since = 0;   ///< Seconds since 1970.
};
/// Nothing when nobody has it, or when that cannot be read; errno says which.
std::optional<OwnerRecord> read_owner(const std::filesystem::path& directory);

/// How a process wants to have a run directory.
struct Claim {
  std::string token = {};  ///< Empty: one is made.
  bool force = false;      ///< Also when another process may have it.
  /// Also when it has a token that begins so: of the same run, before. Nobody else is replaced
  /// then.
  std::string heir_of = {};
};

/// The right to write into a run directory: one process has it at a time, also where hosts share
/// the directory, and gives it back when this ends. One that a dead process has left is taken over.
/// By force it is taken from a living one, which learns it when it asks next. The record is changed
/// under a lock of the directory, and by renaming and linking, which every file system does at once
/// or not at all. Any thread may ask.
class Owner {
 public:
  /// Throws RequestError when another process has it, or may have it, and TakenOver when an heir
  /// finds that; RunError when nothing can be written.
  Owner(std::filesystem::path directory, Claim claim);
  ~Owner();
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;

  bool still() const;
  /// Throws TakenOver, which says who has; RunError when that cannot be read now, as where a share
  /// is gone.
  void check() const;

 private:
  void claim_free(const std::function<bool(const std::filesystem::path&)>& take,
                  const Claim& claim) const;

  const std::filesystem::path directory_;
  const std::string token_;
};

/// Throws RequestError when a process of this machine has it: for who is about to start one that
/// will want it.
void refuse_owned(const std::filesystem::path& directory);

/// For who started the owner and has seen its end: whether the directory is nobody's now. What a
/// process has left that was killed while it had this token, or one that begins with it, is taken
/// away.
bool is_free_after(const std::filesystem::path& directory, const std::string& token);

}  // namespace syrtos::run
