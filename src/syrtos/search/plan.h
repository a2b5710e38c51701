#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "syrtos/job/job.h"
#include "syrtos/job/request.h"
#include "syrtos/run/metric.h"
#include "syrtos/search/space.h"

namespace syrtos::search {

/// How a space is searched, as people write it: section [search] of the file, or options.
struct Settings {
  std::string sampler = "tpe";    ///< grid, random, quasi or tpe
  int64_t trials = 0;             ///< 0: all of a grid, 20 where nothing else ends the search
  int64_t total_epochs = 0;       ///< of all trials together; 0: any number
  double hours = 0;               ///< 0: no limit
  int64_t halving = 0;            ///< one of so many goes on; 0: every trial is trained to its end
  int64_t first_epochs = 1;       ///< of halving, until the first of them are chosen
  std::string hopeless = "none";  ///< median: trials below the median of the others end
  int64_t attempts = 3;           ///< of a trial whose process is killed or whose host is lost

  bool operator==(const Settings&) const = default;
};

/// One of the settings: its key in [search], its option and what it means.
struct SettingField {
  std::string_view key;
  std::string_view option;
  std::string_view help;
  std::variant<std::string Settings::*, int64_t Settings::*, double Settings::*> member;
  bool may_change = false;  ///< a search that goes on may have another value
};
std::vector<SettingField> setting_fields();
/// Throws RequestError when it is no number where one is expected.
void set(Settings& settings, const SettingField& field, const std::string& text);
std::string text_of(const Settings& settings, const SettingField& field);

/// Everything that a search is asked for.
struct Plan {
  job::JobRequest job = {};  ///< what is the same in all trials
  Space space = {};
  Settings settings = {};

  /// What is to be best, on the test data: the one place that says it.
  const run::Metric& metric() const;
  /// The job of a trial. Its run directory and threads are not decided here.
  job::JobRequest job_at(const Point& point) const;
  /// Epochs after which halving chooses, the last one a trial's end; without halving the end alone.
  std::vector<int64_t> rungs() const;
  int64_t epochs() const;  ///< of a whole trial
};

/// Reads a job file with two sections more: [space] and [search]. Throws RequestError with file and
/// line, and the closest known key.
Plan read_plan(const std::filesystem::path& file);
Plan parse_plan(const std::string& text, const std::string& name);
/// The same as such a file: reading it gives the same plan.
std::string to_toml(const Plan& plan);

/// What does not fit together. Throws RequestError.
void check(const Plan& plan);

/// Points of the whole grid; infinity where they cannot be counted.
double grid_size(const Plan& plan);

}  // namespace syrtos::search
