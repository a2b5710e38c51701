#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "syrtos/base/files.h"
#include "syrtos/run/owner.h"
#include "syrtos/search/ledger.h"
#include "syrtos/search/plan.h"

namespace syrtos::search {

/// The directory of a search:
///
///   search.toml     what is searched and how, as 'syrtos search' reads it
///   trials.jsonl    everything that happened, a line each (ledger.h): all that a search knows
///   trials/0001     the run directory of the first trial, and so on
///   best.toml       the best trial so far, as a job file
///   owner.json      which process has the search, while one has it
///
/// One process writes, at a time; any may read.
class Directory {
 public:
  /// A new one: `wanted`, or runs/search-<network>-<date>-<time>. Throws RequestError.
  static Directory create(const std::filesystem::path& wanted, const Plan& plan);
  /// One that is there, to go on with. Throws RequestError when it is none or another process has
  /// it.
  static Directory open_to_resume(const std::filesystem::path& path, bool force);
  /// The same, to read.
  static Directory open(const std::filesystem::path& path);
  static bool is_search(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path trial(int number) const;  ///< its run directory
  std::filesystem::path best_job() const { return path_ / "best.toml"; }
  const Plan& plan() const { return plan_; }
  const Ledger& ledger() const { return ledger_; }
  const std::string& token() const { return token_; }  ///< of its owner, which is this process

  /// Another plan from now on: more trials, more time. Throws RunError.
  void change(const Settings& settings);
  /// Writes it down, then knows it. Throws RunError: then nothing has happened.
  void add(const Event& event);
  /// Writes the best trial's job file, if there is one. Throws RunError.
  void write_best() const;

 private:
  Directory(std::filesystem::path path, Plan plan);
  void own(bool force);
  void read_trials();

  std::filesystem::path path_;
  Plan plan_;
  Ledger ledger_;
  std::string token_;
  std::unique_ptr<const run::Owner> owner_;
  LineFile trials_;
};

}  // namespace syrtos::search
