#include "syrtos/report/explain_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "syrtos/job/resolve_split.h"
#include "syrtos/planner/even_parts.h"
#include "syrtos/planner/units.h"

namespace syrtos::report {

using planner::format_short_time;
using trace::Part;

namespace {

constexpr double kUnequal = 1.2;  // times the mean of all parts

/// Computing of each part in a step, the mean of its replicas.
std::vector<double> computing_of_parts(const Explanation& explanation, int parts) {
  std::vector<double> seconds(static_cast<size_t>(parts));
  std::vector<double> ranks(seconds.size());
  for (const RankTime& rank : explanation.ranks) {
    const auto part = static_cast<size_t>(rank.rank % parts);
    seconds[part] += rank.computing();
    ranks[part] += 1;
  }
  for (size_t part = 0; part < seconds.size(); ++part) {
    if (ranks[part] > 0) seconds[part] /= ranks[part];
  }
  return seconds;
}

}  // namespace

WaitingParts waiting_parts(const Explanation& explanation, const Run& run) {
  WaitingParts waits;
  if (!run.job.in_parts()) return waits;
  const int parts = run.job.strategy.split.parts;
  waits.seconds = explanation.cluster.step[Part::bubble];
  waits.computing = computing_of_parts(explanation, parts);
  const auto slowest = std::max_element(waits.computing.begin(), waits.computing.end());
  double mean = 0;
  for (const double seconds : waits.computing) mean += seconds / parts;
  waits.text = fmt::format("workers wait {} of a step for other parts of the network",
                           format_short_time(waits.seconds));
  const bool unequal = mean > 0 && *slowest > kUnequal * mean;
  if (unequal) {
    waits.text += fmt::format(": part {} computes {}, all of them {} on average",
                              slowest - waits.computing.begin() + 1, format_short_time(*slowest),
                              format_short_time(mean));
  }
  const int64_t micros = run.job.request ? run.job.request->accumulate : 0;
  if (micros < 1) return waits;
  const double idle = static_cast<double>(parts - 1) / static_cast<double>(micros + parts - 1);
  if (!unequal) {
    waits.text += fmt::format(
        ": with {} micro-batch{} in {} parts each of them is idle for {:.0f} % of a step at least",
        micros, micros == 1 ? "" : "es", parts, 100 * idle);
  }
  const int64_t batch = run.job.worker_batch();
  if (batch >= 2 * micros && batch % (2 * micros) == 0) {
    waits.more_micro_batches = 2 * micros;
    const double then =
        static_cast<double>(parts - 1) / static_cast<double>(2 * micros + parts - 1);
    waits.more_gain = (idle - then) * explanation.step_s / explanation.whole_s;
  }
  return waits;
}

std::optional<EvenerCut> evener_cut(const WaitingParts& waits, const Explanation& explanation,
                                    const job::Job& job) {
  const strategy::Options& way = job.strategy;
  if (!way.split.cuts() || way.pipeline.pieces > 1 || waits.computing.size() < 2 ||
      waits.computing.size() != static_cast<size_t>(way.split.parts)) {
    return std::nullopt;
  }
  nn::Model model = job::model_to_cut(job);
  const int64_t samples = model.graph.type(model.images).shape[0];
  const planner::NetworkGraph network(std::move(model.graph), model.loss, samples);
  const planner::EvenParts even = planner::even_parts(network, way.split, waits.computing);
  if (even.moves.empty()) return std::nullopt;
  const double slowest = *std::max_element(waits.computing.begin(), waits.computing.end());
  // The slowest part computes M of M + P - 1 turns; in the others it waits for as slow a one.
  const auto micros = static_cast<double>(job.accumulate);
  const double turns = (micros + way.split.parts - 1) / micros;
  const double saved = std::min(turns * (slowest - even.slowest_s), explanation.step_s);
  return EvenerCut{to_string(even.split), planner::moves_text(even.moves),
                   saved / explanation.whole_s};
}

}  // namespace syrtos::report
