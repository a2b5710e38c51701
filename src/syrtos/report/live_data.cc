#include "syrtos/report/live_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "syrtos/base/clock.h"
#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/base/statistics.h"
#include "syrtos/report/explain.h"
#include "syrtos/report/html_page.h"
#include "syrtos/report/run_reader.h"
#include "syrtos/report/text.h"
#include "syrtos/run/log.h"

namespace syrtos::report {

using nlohmann::json;

namespace {

constexpr double kQuiet = 20;         // seconds without news that are worth a word
constexpr int64_t kFewestSteps = 20;  // before that, nothing is said about causes
constexpr size_t kLogLines = 200;

/// The last lines of what the run had to say.
json log_of(const run::Directory& directory) {
  json lines = json::array();
  for (const std::string& line : run::read_log(directory, kLogLines)) {
    lines.push_back(clean_text(line));
  }
  return lines;
}

/// Seconds of a step with its share of evaluating and saving, from the curve since this process
/// began; 0: not known yet. An epoch that begins says nothing of its own speed.
double pace_of(const Run& run) {
  if (!run.progress || run.points.size() < 2) return 0;
  size_t first = run.points.size() - 1;
  const auto gap = [&](size_t i) { return run.points[i].time - run.points[i - 1].time; };
  std::vector<double> gaps;
  for (size_t i = 1; i < run.points.size(); ++i) gaps.push_back(gap(i));
  const double long_gap = std::max(60.0, 20 * median(gaps));  // it was resumed after that
  while (first > 0 && gap(first) < long_gap) --first;
  const double seconds = run.progress->time - run.points[first].time;
  const int64_t steps = run.progress->step - run.points[first].step;
  return steps > 0 && seconds > 0 ? seconds / static_cast<double>(steps) : 0;
}

json progress_json(const run::Progress& progress, double pace, double images_per_s,
                   int64_t samples_per_step) {
  json text = {{"step", progress.step},
               {"steps", progress.steps},
               {"epoch", progress.epoch},
               {"epochs", progress.epochs},
               {"loss", progress.loss},
               {"time", progress.time},
               {"state", run::to_string(progress.state)},
               {"images_per_s", progress.images_per_s}};
  if (pace > 0) {
    text["left_seconds"] = pace * static_cast<double>(progress.steps - progress.step);
  } else if (images_per_s > 0 && samples_per_step > 0) {
    text["left_seconds"] =
        static_cast<double>((progress.steps - progress.step) * samples_per_step) / images_per_s;
  }
  return text;
}

/// As many as every rank has done.
int64_t steps_of_all(const Explanation& explanation) {
  int64_t steps = explanation.ranks.empty() ? 0 : INT64_MAX;
  for (const RankTime& rank : explanation.ranks) steps = std::min(steps, rank.steps);
  return steps;
}

}  // namespace

void LiveData::read(double now) {
  const Run run = read_run(run_, {.trace = false});
  const bool running = run.progress && run.progress->state == run::State::training;
  // Simulating takes a moment: only once a run has ended.
  Explanation explanation = explain(run, {.simulate = !running});
  if (running && run.epochs.empty() && steps_of_all(explanation) < kFewestSteps) {
    explanation.causes.clear();
    explanation.advice.clear();
  }
  data_ = page_json(run, explanation);
  data_["live"] = true;
  data_["running"] = running;
  // What is still to come is not missing.
  if (running && run.epochs.empty()) data_["notes"] = json::array();
  json banner = explanation.lost;
  if (run.progress) {
    if (running && run.progress->images_per_s > 0) {
      data_["images_per_s"] = run.progress->images_per_s;
    }
    data_["progress"] = progress_json(*run.progress, pace_of(run), data_.value("images_per_s", 0.0),
                                      explanation.samples_per_step);
    if (run.progress->state == run::State::silent) {
      banner.push_back("it has ended without a word: it was killed, or its machine has failed");
    }
    if (!run.progress->message.empty()) banner.push_back(clean_text(run.progress->message));
    if (running) {
      data_["state"] = fmt::format("epoch {} of {}", run.progress->epoch, run.progress->epochs);
      const double quiet = now - run.progress->time;
      if (quiet > std::max(kQuiet, 5 * explanation.step_s)) {
        banner.push_back(fmt::format("no news for {}: it evaluates, is stuck, or was killed",
                                     format_duration(10 * std::floor(quiet / 10))));
      }
    }
  }
  for (const Cause& cause : explanation.causes) {
    // Ranks of one host compete for its cores: now this one is slower, now that one.
    if ((cause.kind == CauseKind::slow_rank || cause.kind == CauseKind::slow_link) &&
        cause.share > 0.05 && run.hosts.size() != 1) {
      banner.push_back(cause.text);
    }
  }
  data_["banner"] = std::move(banner);
  data_["log"] = log_of(run::Directory::at(run_));
}

void LiveData::show_beginning() {
  Run run;
  run.path = run_;
  data_ = page_json(run, explain(run, {.simulate = false}));
  data_["live"] = data_["running"] = true;
  data_["state"] = "it begins";
  data_["notes"] = json::array();
}

const json& LiveData::get() {
  const auto at = std::chrono::steady_clock::now();
  if (!data_.is_null() && at - looked_ < kAgain) return data_;
  looked_ = at;
  const double now = wall_clock();
  // Silence changes the page too, every ten seconds.
  std::string stamp = run::Directory::at(run_).stamp();
  if (data_.is_object() && data_.value("running", false)) {
    stamp += fmt::format("{:.0f}", std::floor(now / 10));
  }
  if (!data_.is_null() && stamp == stamp_) return data_;
  try {
    read(now);
    stamp_ = stamp;
    begins_ = false;
  } catch (const RequestError& error) {
    if (begins_) {
      show_beginning();
    } else if (data_.is_null()) {
      throw;
    } else {
      data_["running"] = false;
      data_["banner"] = json::array({error.what()});
    }
  }
  return data_;
}

}  // namespace syrtos::report
