#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "syrtos/report/run.h"

// Where a run's time went, why, and what to do about it. Analysis makes data of data; texts, JSON
// and pages are made of that.

namespace syrtos::report {

/// The mean of one rank's usual steps.
struct RankTime {
  int rank = 0;
  std::string host = {};
  std::string name = {};
  int64_t steps = 0;
  trace::StepDivision step = {};  ///< seconds per step

  double computing() const;  ///< forward, backward and update
  /// A step alone: without evaluating and saving, which happen now and then.
  double seconds() const;
};

/// How long usual steps took. Seconds.
struct StepSpread {
  int64_t steps = 0;  ///< or records of some steps each
  double low = 0;     ///< one in twenty is shorter
  double median = 0;
  double high = 0;  ///< one in twenty is longer
  double highest = 0;
};

/// A step that took far longer than the others.
struct Pause {
  int64_t step = 0;
  double after_s = 0;     ///< since the first step began
  double seconds = 0;     ///< beyond the usual
  std::string name = {};  ///< of the rank or host that stood still; empty: not known
};

enum class CauseKind {
  loader,       ///< steps wait for their batch
  slow_rank,    ///< one computes slower than the others
  slow_link,    ///< one exchanges slower than the others
  exchange,     ///< more bytes than can be hidden behind computing
  latency,      ///< more messages than can be hidden
  server,       ///< all workers wait for the server
  uneven,       ///< another rank is slowest in each step
  operation,    ///< a kernel far below what the machine can do
  small_batch,  ///< what each step costs once, whatever its batch
  evaluation,
  checkpoint,
  other,
  cpus,   ///< more threads want to run than there are CPUs
  pause,  ///< a step or two that stood still
  start,  ///< what happens once: before the first step, in it, and after the last
  parts,  ///< parts of the network wait for each other
};
/// "slow loader", for people and programs.
const char* to_string(CauseKind kind);

/// Something that makes steps longer.
struct Cause {
  CauseKind kind = CauseKind::other;
  std::string text;
  double seconds = 0;  ///< of a step; of all together where it happens once
  double share = 0;    ///< of the time from the command to its end, as far as that is known
  bool once = false;   ///< and not in each step
};

/// What a gain is worth.
enum class Certainty {
  simulated,  ///< by the planner, with what was measured
  reckoned,   ///< from what was measured
  at_most,    ///< if the cause were gone altogether
  open,       ///< nobody knows before it was tried
};
const char* to_string(Certainty certainty);

struct Advice {
  std::string what = {};
  std::string options =
      {};               ///< of 'syrtos train', to be added to the job; empty: no option does it
  double speed_up = 1;  ///< images per second, new to old; 1 where it is open
  Certainty certainty = Certainty::reckoned;
  bool other_hardware = false;  ///< it takes more than another command
};

enum class GroupBy { layer, kind, phase };
/// Throws RequestError.
GroupBy parse_group_by(const std::string& text);

/// Operators of one name, per step.
struct OperatorRow {
  std::string name;
  int64_t calls = 0;  ///< in a step
  double seconds = 0;
  double share = 0;  ///< of all operators
  double gflops = 0, gb_s = 0;
  std::optional<double> of_roofline;  ///< 1: as fast as the machine can be
};

struct Explanation {
  std::string title;              ///< "resnet18 on cifar10, 4 workers, allreduce join f32"
  std::string state;              ///< "complete", "epoch 2 of 5"
  std::vector<RankTime> ranks;    ///< workers, by rank
  RankTime cluster;               ///< their mean
  std::vector<RankTime> servers;  ///< of their own
  double step_s = 0;              ///< a usual one, mean of the ranks, without evaluating and saving
  double whole_s = 0;             ///< of a step, with its share of all that is no step
  std::optional<StepSpread> spread;
  std::vector<Pause> pauses;       ///< longest first
  double images_per_s = 0;         ///< of all, in usual steps; 0: not known
  double images_per_s_in_all = 0;  ///< from the command to its end; 0: not known
  int64_t samples_per_step = 0;
  bool in_step = true;
  std::string path;               ///< the critical path in words
  std::string certainty;          ///< what measuring cost, and how well clocks agree
  std::vector<std::string> lost;  ///< workers that it went on without, in words
  std::vector<Cause> causes;      ///< largest first
  std::vector<Advice> advice;     ///< largest gain first
  std::optional<double> planned_step_s;
  std::vector<std::string> notes;
};

struct ExplainOptions {
  bool simulate = true;
  bool trace = true;  ///< it is read, for one step across ranks and links that nobody measured
  size_t advice = 3;
};
Explanation explain(const Run& run, const ExplainOptions& options = {});

/// Most time first.
std::vector<OperatorRow> operator_rows(const OperatorProfile& profile, GroupBy by);

/// The share of a step in which a server does not wait for workers.
double busy_share(const Explanation& explanation, const RankTime& server);

/// Seconds of a step that ranks wait for each other although none of them is busy for longer than
/// the others on average: for a server, or for another one each time.
double unexplained_wait(const Explanation& explanation);

/// What is expected of a run that was planned, and what came: "The plan expected 3 ms ...".
std::string plan_text(const Explanation& explanation);

/// For explain(): in files of their own.
void find_causes(Explanation& explanation, const Run& run);
void find_advice(Explanation& explanation, const Run& run, const ExplainOptions& options);

struct ExplainTextOptions {
  int columns = 100;
  bool colour = false;  ///< bars in colours, otherwise of letters
  bool unicode = false;
  GroupBy by = GroupBy::layer;
  size_t top = 6;
};
/// One screen.
std::string explain_text(const Run& run, const Explanation& explanation,
                         const ExplainTextOptions& options);

/// The same for programs. Seconds.
nlohmann::json explain_json(const Run& run, const Explanation& explanation);

}  // namespace syrtos::report
