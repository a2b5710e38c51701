#pragma once

#include <span>
#include <string>
#include <string_view>

namespace syrtos::run {

/// The files of a run directory.
enum class File {
  about,
  owner,
  job,
  network,
  layers,
  metrics,
  scores,
  last_checkpoint,
  previous_checkpoint,
  best_checkpoint,
  events,
  progress,
  curve,
  log,
  live,
  steps,
  parts,
  hosts,
  operators,
  exchange,
  trace,
};

struct FileInfo {
  File file = File::about;
  std::string_view name;    ///< of events: what the names begin with
  std::string_view what;    ///< is in it
  std::string_view writer;  ///< who writes it, and when
  std::string_view absent;  ///< when it can be missing; empty: in every run it is there
  bool measured = false;    ///< it tells of steps, so it goes when the run begins anew
  bool shown = false;       ///< a page of the run changes with it
};

/// All files that a run can have, in the order in which docs/run-directory.md tells of them.
std::span<const FileInfo> all_files();

/// The file's name within the run directory.
std::string name_of(File file);

}  // namespace syrtos::run
