#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "syrtos/run/directory.h"
#include "syrtos/run/metric.h"

namespace syrtos::run {

enum class State {
  training,
  complete,       ///< it did all that was asked for
  stopped_early,  ///< by --early-stop
  interrupted,    ///< somebody wanted it, and it can go on
  failed,
  unknown,  ///< of another version
  silent,   ///< its process is gone, and nobody has said how it ended; no file says this
};
/// "training", "complete", "stopped early", "interrupted", "failed", "unknown", "ended without a
/// word"
std::string_view to_string(State state);

/// progress.json: how far a run is, for whoever watches it.
struct Progress {
  State state = State::training;
  int64_t step = 0, steps = 0;    ///< done, and to do in all
  int64_t epoch = 0, epochs = 0;  ///< the current one, from 1
  double loss = 0;  ///< mean over the samples of the current epoch so far, as the score
  Score score = {};
  double images_per_s = 0;   ///< of all workers, in this epoch
  double time = 0;           ///< seconds since 1970, when it was written
  std::string message = {};  ///< why it failed

  bool operator==(const Progress&) const = default;
};

/// For whoever watches: as replace_text() in text_file.h.
void replace(const Directory& directory, const Progress& progress);
/// Nothing when it is missing, or damaged, which is noted.
std::optional<Progress> read_progress(const Directory& directory, Notes& notes);

/// Whether what it says is still so: a run that trains has an owner (owner.h) that is there.
State state_now(const Directory& directory, const Progress& progress);

/// Writes down why a run has failed, for who learns it after its processes have ended. Where there
/// is no directory, nothing happens.
void note_failure(const Directory& directory, const std::string& message);

}  // namespace syrtos::run
