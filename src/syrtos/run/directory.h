#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "syrtos/run/files.h"

namespace syrtos::run {

/// What is missing or damaged in a run's files, and what was done about it, for people.
using Notes = std::vector<std::string>;

/// Where a run is, and which of its files are there. What is in them, each file's own header says.
/// A name of a place: copies mean the same directory.
class Directory {
 public:
  /// A new run: `wanted`, which must not exist or be empty, or, if that is empty,
  /// runs/<name>-<date>-<time>. `job` is the text of its job file. Throws RequestError when it
  /// cannot be made or written.
  static Directory create(const std::filesystem::path& wanted, const std::string& name,
                          std::string_view job);
  /// The directory that create() will use with the result as `wanted`: made now, so that its name
  /// is known.
  static std::filesystem::path reserve(const std::filesystem::path& wanted,
                                       const std::string& name);
  /// A run that is there, to read. Throws RequestError when it is none, or of a newer format.
  static Directory open(const std::filesystem::path& path);
  /// The same, and it has what is needed to go on with it.
  static Directory open_to_resume(const std::filesystem::path& path);
  /// A directory in which nothing was looked at yet, and which may be empty.
  static Directory at(std::filesystem::path path) { return Directory(std::move(path)); }

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path file(File file) const { return path_ / name_of(file); }
  bool has(File file) const;
  std::filesystem::path last() const { return file(File::last_checkpoint); }
  std::filesystem::path best() const { return file(File::best_checkpoint); }

  /// What was measured so far is about steps that begin anew.
  void forget_measures() const;
  /// Makes the last checkpoint the best one too, without a second copy where the file system allows
  /// it. Throws RunError.
  void keep_as_best() const;
  /// Takes away a directory that was reserved and in which no run has begun.
  void remove_if_unused() const;
  /// Changes when a file does that a page of the run shows.
  std::string stamp() const;

 private:
  explicit Directory(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path path_;
};

/// The checkpoint that a command's argument means: a file, or a run's best (else last) one. Throws
/// RequestError.
std::filesystem::path find_checkpoint(const std::filesystem::path& argument);

}  // namespace syrtos::run
