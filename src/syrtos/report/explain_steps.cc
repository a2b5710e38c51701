#include "syrtos/report/explain_steps.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "syrtos/base/statistics.h"

namespace syrtos::report {

using trace::DivisionRecord;
using trace::Part;
using trace::StepDivision;

namespace {

constexpr double kFarLonger = 2.5;       // than the median: a pause
constexpr double kShortestPause = 0.05;  // seconds
constexpr double kStandsOut = 3;         // times as long as those that are often
constexpr size_t kFewest = 8;            // steps of which something is said

/// Without what happens between steps, for one of the record's steps.
double step_seconds(const DivisionRecord& record) {
  return record.division().training() / static_cast<double>(record.steps);
}
/// Of that, what the rank did itself.
double busy_seconds(const DivisionRecord& record) {
  const StepDivision division = record.division();
  return (division.training() - division[Part::network] - division[Part::wait] -
          division[Part::bubble]) /
         static_cast<double>(record.steps);
}
bool has_pause_of_its_own(const DivisionRecord& record) {
  const StepDivision division = record.division();
  return division[Part::evaluate] > 0 || division[Part::checkpoint] > 0;
}
/// Of a run that goes on, the first step and then those of about a second.
bool first_alone(const RunRank& rank) {
  const std::vector<DivisionRecord>& records = rank.records;
  return !rank.per_epoch && records.size() > 1 && records[0].steps == 1 && records[1].steps > 1;
}

class Divider {
 public:
  Divider(Explanation& explanation, const Run& run) : explanation_(explanation), run_(run) {}

  void divide() {
    for (const RunRank& rank : run_.ranks) note_ends(rank);
    if (explanation_.in_step) note_common_ends();
    for (const RunRank& rank : run_.ranks) find_medians(rank);
    find_pauses();
    for (const RunRank& rank : run_.ranks) {
      if (rank.server < 0) explanation_.ranks.push_back(mean_of(rank));
      if (rank.server >= 0 && run_.job.strategy.exchange.own_servers() > 0) {
        explanation_.servers.push_back(mean_of(rank));
      }
    }
    find_spread();
  }

 private:
  struct Usual {
    std::set<int64_t> left_out;  // first steps of records that are not usual
    double step_s = 0, busy_s = 0;
  };

  /// The first step of a process, and the ends of epochs: whoever does not save waits for who does.
  void note_ends(const RunRank& rank) {
    Usual& usual = usual_[rank.rank];
    const auto& records = rank.records;
    const size_t parts = std::max<size_t>(1, run_.parts.size());
    const bool enough = !rank.per_epoch && records.size() >= kFewest * parts;
    for (size_t i = 0; i < records.size(); ++i) {
      const bool first = i == 0 || run_.begins_part(records[i].step);
      const bool begins = first && (enough || (i == 0 && first_alone(rank)));
      if (begins || (enough && has_pause_of_its_own(records[i]))) {
        usual.left_out.insert(records[i].step);
      }
    }
    keep_enough(rank, usual);
  }

  /// Where all steps are like that (an epoch of one step), they are usual.
  void keep_enough(const RunRank& rank, Usual& usual) const {
    if (2 * usual.left_out.size() <= rank.records.size()) return;
    usual.left_out.clear();
    if (rank.records.size() > 1 && !rank.per_epoch) {
      usual.left_out.insert(rank.records.front().step);
    }
  }

  void note_common_ends() {
    std::set<int64_t> all;
    for (const auto& [rank, usual] : usual_) {
      all.insert(usual.left_out.begin(), usual.left_out.end());
    }
    for (const RunRank& rank : run_.ranks) {
      if (rank.server >= 0 || rank.per_epoch || rank.records.size() < kFewest) continue;
      usual_[rank.rank].left_out = all;
      keep_enough(rank, usual_[rank.rank]);
    }
  }

  bool is_usual(const RunRank& rank, const DivisionRecord& record) const {
    return !usual_.at(rank.rank).left_out.contains(record.step);
  }

  void find_medians(const RunRank& rank) {
    std::vector<double> steps, busy;
    for (const DivisionRecord& record : rank.records) {
      if (!is_usual(rank, record)) continue;
      steps.push_back(step_seconds(record));
      busy.push_back(busy_seconds(record));
    }
    if (steps.empty()) return;
    usual_[rank.rank].step_s = median(std::move(steps));
    usual_[rank.rank].busy_s = median(std::move(busy));
  }

  struct Long {
    const RunRank* rank;
    const DivisionRecord* record;
    double seconds;  // beyond the usual
    double busy;     // of them, that the rank did something itself
  };

  void find_pauses() {
    std::map<int64_t, std::vector<Long>> found;  // by step; free workers have steps of their own
    size_t records = 0;
    for (const RunRank& rank : run_.ranks) {
      if (rank.server >= 0 || rank.per_epoch || rank.records.size() < kFewest) continue;
      records = std::max(records, rank.records.size());
      const Usual& usual = usual_[rank.rank];
      for (const DivisionRecord& record : rank.records) {
        if (!is_usual(rank, record)) continue;
        const double beyond = step_seconds(record) - usual.step_s;
        const auto steps = static_cast<double>(record.steps);
        const bool is_long =
            step_seconds(record) > kFarLonger * usual.step_s && beyond * steps > kShortestPause;
        if (!is_long) continue;
        found[record.step].push_back(
            {&rank, &record, beyond * steps, steps * (busy_seconds(record) - usual.busy_s)});
      }
    }
    keep_those_that_stand_out(found, std::max<size_t>(2, records / 20));
    for (const auto& [step, longs] : found) {
      add_pause(step, longs);
      for (const RunRank& rank : run_.ranks) {
        const bool all = explanation_.in_step && rank.server < 0;
        const bool one = std::any_of(longs.begin(), longs.end(),
                                     [&](const Long& one) { return one.rank == &rank; });
        if (all || one) usual_[rank.rank].left_out.insert(step);
      }
    }
    std::stable_sort(explanation_.pauses.begin(), explanation_.pauses.end(),
                     [](const Pause& a, const Pause& b) { return a.seconds > b.seconds; });
  }

  static double longest_of(const std::vector<Long>& longs) {
    double longest = 0;
    for (const Long& one : longs) longest = std::max(longest, one.seconds);
    return longest;
  }

  /// Many are no pauses, that is how the run goes: only what is far longer than those.
  static void keep_those_that_stand_out(std::map<int64_t, std::vector<Long>>& found, size_t most) {
    if (found.size() <= most) return;
    std::vector<double> seconds;
    for (const auto& [step, longs] : found) seconds.push_back(longest_of(longs));
    std::sort(seconds.begin(), seconds.end(), std::greater<>());
    const double least = kStandsOut * seconds[most];
    std::erase_if(found, [&](const auto& one) { return longest_of(one.second) < least; });
  }

  /// Whoever was held up itself is to blame; the others waited for it.
  void add_pause(int64_t step, const std::vector<Long>& longs) {
    const Long& busiest = *std::max_element(
        longs.begin(), longs.end(), [](const Long& a, const Long& b) { return a.busy < b.busy; });
    const Long& longest =
        *std::max_element(longs.begin(), longs.end(),
                          [](const Long& a, const Long& b) { return a.seconds < b.seconds; });
    Pause pause{.step = step, .seconds = longest.seconds};
    pause.after_s =
        static_cast<double>(busiest.record->start - busiest.rank->records.front().start) * 1e-9;
    if (busiest.busy > 0.4 * longest.seconds) {
      pause.name = busiest.rank->name();
      pause.seconds = busiest.busy;
    } else {
      pause.name = stopped_host(busiest.record->start, longest.seconds);
    }
    explanation_.pauses.push_back(std::move(pause));
  }

  /// A process that stands still takes no samples of its host either.
  std::string stopped_host(int64_t start, double seconds) const {
    for (const auto& [host, samples] : run_.hosts) {
      std::vector<double> periods;
      for (const trace::HostSample& sample : samples) periods.push_back(sample.seconds);
      if (periods.size() < 3) continue;
      const double usual = median(std::move(periods));
      for (const trace::HostSample& sample : samples) {
        const auto length = static_cast<int64_t>(1e9 * sample.seconds);
        const bool then = sample.time > start && sample.time - length < start + 2 * length;
        if (then && sample.seconds > usual + 0.5 * seconds) return "host " + host;
      }
    }
    return {};
  }

  RankTime mean_of(const RunRank& rank) const {
    RankTime time{.rank = rank.rank, .host = rank.host, .name = rank.name()};
    double evaluate = 0, checkpoint = 0;
    int64_t all = 0;
    for (const DivisionRecord& record : rank.records) {
      const StepDivision division = record.division();
      evaluate += division[Part::evaluate];
      checkpoint += division[Part::checkpoint];
      all += record.steps;
      if (!is_usual(rank, record)) continue;
      time.step += division;
      time.steps += record.steps;
    }
    const auto steps = static_cast<double>(std::max<int64_t>(1, time.steps));
    for (double& seconds : time.step.seconds) seconds /= steps;
    time.step.hidden_network /= steps;
    // They happen now and then, and are spread over all steps.
    time.step[Part::evaluate] = evaluate / static_cast<double>(std::max<int64_t>(1, all));
    time.step[Part::checkpoint] = checkpoint / static_cast<double>(std::max<int64_t>(1, all));
    return time;
  }

  /// In step, of the first rank: the others' steps are as long. Otherwise of all.
  void find_spread() {
    std::vector<double> steps;
    for (const RunRank& rank : run_.ranks) {
      if (rank.server >= 0 || rank.per_epoch) continue;
      for (const DivisionRecord& record : rank.records) {
        if (is_usual(rank, record)) steps.push_back(step_seconds(record));
      }
      if (explanation_.in_step && !steps.empty()) break;
    }
    if (steps.size() < kFewest) return;
    explanation_.spread = StepSpread{.steps = static_cast<int64_t>(steps.size()),
                                     .low = percentile(steps, 0.05),
                                     .median = percentile(steps, 0.5),
                                     .high = percentile(steps, 0.95),
                                     .highest = *std::max_element(steps.begin(), steps.end())};
  }

  Explanation& explanation_;
  const Run& run_;
  std::map<int, Usual> usual_;
};

RankTime mean_of(const std::vector<RankTime>& ranks) {
  RankTime mean{.rank = -1, .name = "all"};
  for (const RankTime& rank : ranks) {
    mean.step += rank.step;
    mean.steps = std::max(mean.steps, rank.steps);
  }
  const auto count = static_cast<double>(std::max<size_t>(1, ranks.size()));
  for (double& seconds : mean.step.seconds) seconds /= count;
  mean.step.hidden_network /= count;
  return mean;
}

}  // namespace

void divide_steps(Explanation& explanation, const Run& run) {
  Divider(explanation, run).divide();
  explanation.cluster = mean_of(explanation.ranks);
}

}  // namespace syrtos::report
