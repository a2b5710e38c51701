#include "syrtos/run/progress.h"

#include <array>

#include "syrtos/base/clock.h"
#include "syrtos/run/json.h"
#include "syrtos/run/text_file.h"

namespace syrtos::run {

namespace {

constexpr std::array<std::string_view, 7> kStates = {
    "training", "complete", "stopped early",       "interrupted",
    "failed",   "unknown",  "ended without a word"};

State state_of(std::string_view text) {
  for (size_t i = 0; i < kStates.size(); ++i) {
    if (kStates[i] == text) return static_cast<State>(i);
  }
  return State::unknown;
}

Score score_in(const json& object) {
  for (const Metric& metric : metrics()) {
    if (metric.name == "loss" || !object.contains(metric.name)) continue;
    return {&metric, number_in(object, std::string(metric.name).c_str())};
  }
  return {};
}

}  // namespace

std::string_view to_string(State state) { return kStates[static_cast<size_t>(state)]; }

void replace(const Directory& directory, const Progress& progress) {
  json text = {{"state", to_string(progress.state)},
               {"step", progress.step},
               {"steps", progress.steps},
               {"epoch", progress.epoch},
               {"epochs", progress.epochs},
               {"loss", progress.loss},
               {"images_per_s", progress.images_per_s},
               {"time", progress.time}};
  if (progress.score.metric != nullptr) {
    text[std::string(progress.score.metric->name)] = progress.score.value;
  }
  if (!progress.message.empty()) text["message"] = progress.message;
  replace_text(directory, File::progress, to_text(text) + "\n");
}

std::optional<Progress> read_progress(const Directory& directory, Notes& notes) {
  const std::optional<json> object = read_object(directory, File::progress, notes);
  if (!object) return std::nullopt;
  return Progress{.state = state_of(text_in(*object, "state")),
                  .step = count_in(*object, "step"),
                  .steps = count_in(*object, "steps"),
                  .epoch = count_in(*object, "epoch"),
                  .epochs = count_in(*object, "epochs"),
                  .loss = number_in(*object, "loss"),
                  .score = score_in(*object),
                  .images_per_s = number_in(*object, "images_per_s"),
                  .time = number_in(*object, "time"),
                  .message = text_in(*object, "message")};
}

State state_now(const Directory& directory, const Progress& progress) {
  if (progress.state != State::training) return progress.state;
  const std::optional<OwnerRecord> owner = read_owner(directory.path());
  const bool gone = !owner || liveness_of(owner->name) == Liveness::gone;
  return gone ? State::silent : State::training;
}

void note_failure(const Directory& directory, const std::string& message) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(directory.path(), ignored)) return;
  Notes unused;
  Progress progress = read_progress(directory, unused).value_or(Progress());
  progress.state = State::failed;
  progress.message = message;
  progress.time = wall_clock();
  replace(directory, progress);
}

}  // namespace syrtos::run
