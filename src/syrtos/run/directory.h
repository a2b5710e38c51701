#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "syrtos/run/files.h"
#include "syrtos/run/owner.h"

namespace syrtos::run {

/// What is missing or damaged in a run's files, and what was done about it, for people.
using Notes = std::vector<std::string>;

/// Where a run is, and which of its files are there. What is in them, each file's own header says.
/// A name of a place: copies mean the same directory, and own it together.
class Directory {
 public:
  /// A new run: `wanted`, which must not exist or be empty, or, if that is empty,
  /// runs/<name>-<date>-<time>. `job` is the text of its job file. It is owned (owner.h). Throws
  /// RequestError when it cannot be made or written.
  static Directory create(const std::filesystem::path& wanted, const std::string& name,
                          std::string_view job, Claim claim = {});
  /// The directory that create() will use with the result as `wanted`: made now, so that its name
  /// is known.
  static std::filesystem::path reserve(const std::filesystem::path& wanted,
                                       const std::string& name);
  /// A run that is there, to read. Throws RequestError when it is none, or of a newer format.
  static Directory open(const std::filesystem::path& path);
  /// The same, to go on with it: a job or a checkpoint is there.
  static Directory open_to_resume(const std::filesystem::path& path);
  /// From now on, and as long as a copy of this lives, this process alone writes here. Throws as
  /// Owner does.
  void own(Claim claim);
  /// A directory in which nothing was looked at yet, and which may be empty.
  static Directory at(std::filesystem::path path) { return Directory(std::move(path)); }

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path file(File file) const { return path_ / name_of(file); }
  bool has(File file) const;
  /// Throws TakenOver when this process has owned the directory and another one has it now.
  void check_owner() const;
  /// The same as file(), for whoever is about to write it; throws as check_owner().
  std::filesystem::path to_write(File file) const;
  /// For what may be left out: nobody has taken it over.
  bool is_writable() const { return !owner_ || owner_->still(); }
  std::filesystem::path last() const { return file(File::last_checkpoint); }
  std::filesystem::path previous() const { return file(File::previous_checkpoint); }
  /// The last checkpoint is whole: the one before it may go where something needs its place. False:
  /// there is none.
  bool drop_previous() const;
  std::filesystem::path best() const { return file(File::best_checkpoint); }

  /// Writes the job of a run that goes on, unless it is there already. Throws RunError.
  void record_job(std::string_view job) const;
  /// What was measured so far is about steps that begin anew.
  void forget_measures() const;
  /// Makes the last checkpoint the best one too. Throws RunError.
  void keep_as_best() const;
  /// Makes it one of the members of the ensemble that the run becomes. Throws RunError.
  void keep_as_member(int64_t number) const;
  /// The checkpoints that are such members, in their order; empty: it is one network.
  std::vector<std::filesystem::path> members() const;
  std::filesystem::path member(int64_t number) const;
  /// Makes another checkpoint of this run the last one; what was the last one until now is called
  /// damaged.ckpt from now on. Throws RunError.
  void restore_last(const std::filesystem::path& checkpoint) const;
  /// Takes away a directory that was reserved and in which no run has begun.
  void remove_if_unused() const;
  /// Changes when a file does that a page of the run shows.
  std::string stamp() const;

 private:
  explicit Directory(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path path_;
  std::shared_ptr<const Owner> owner_;  // none: it is only read, or by one who asks nobody
};

/// The checkpoint that a command's argument means: a file, or a run's best (else last) one. Throws
/// RequestError.
std::filesystem::path find_checkpoint(const std::filesystem::path& argument);

}  // namespace syrtos::run
