#include "syrtos/report/explain_compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "syrtos/base/format.h"
#include "syrtos/planner/units.h"
#include "syrtos/report/explain_links.h"
#include "syrtos/report/text.h"

namespace syrtos::report {

using planner::format_short_time;

namespace {

constexpr double kSame = 0.02;       // below, runs vary anyway
constexpr double kOtherRate = 1.25;  // of a link: beyond what varies

std::string name_of(size_t run) {
  return run < 26 ? std::string(1, static_cast<char>('A' + run)) : fmt::format("run {}", run + 1);
}

class Comparer {
 public:
  explicit Comparer(const std::vector<Explained>& runs) : runs_(runs) {}

  Comparison compare() {
    for (size_t i = 0; i < runs_.size(); ++i) {
      const Explanation& one = runs_[i].explanation;
      result_.names.push_back(name_of(i));
      result_.images_per_s.push_back(one.images_per_s);
      result_.in_all.push_back(one.images_per_s_in_all);
      samples_.push_back(one.images_per_s * one.step_s);
    }
    find_unit();
    settings();
    cluster();
    account();
    steps();
    ranks();
    operators();
    for (size_t i = 1; i < runs_.size(); ++i) result_.verdicts.push_back(verdict(i));
    for (size_t i = 0; i < runs_.size(); ++i) {
      for (const std::string& note : runs_[i].explanation.notes) {
        result_.notes.push_back(result_.names[i] + ": " + note);
      }
    }
    return std::move(result_);
  }

 private:
  /// Steps of as many samples can be compared as they are; the images of all workers always.
  void find_unit() {
    const auto [least, most] = std::minmax_element(samples_.begin(), samples_.end());
    result_.per_step = *least <= 0 || *most < 1.001 * *least;
    for (const double samples : samples_) {
      scales_.push_back(result_.per_step ? 1 : 1000 / samples);
    }
  }

  void add_setting(const std::string& name, std::vector<std::string> values) {
    const bool same = std::all_of(values.begin(), values.end(),
                                  [&](const std::string& value) { return value == values[0]; });
    if (same) return;
    for (std::string& value : values) value = clean_text(value.empty() ? "-" : value);
    result_.other.push_back({clean_text(name), std::move(values)});
  }
  template <typename Value>
  void add_values(const std::string& name, Value value) {
    std::vector<std::string> values;
    for (const Explained& one : runs_) values.push_back(value(one.run));
    add_setting(name, std::move(values));
  }

  /// Every key of the job; where one of them is not known, what the report knows of it.
  void settings() {
    const bool known = std::all_of(runs_.begin(), runs_.end(),
                                   [](const Explained& one) { return one.run.job.request; });
    if (known) {
      for (const job::JobField& field : job::job_fields()) {
        if (!field.recorded) continue;
        add_values(std::string(field.key),
                   [&](const Run& run) { return job::field_text(*run.job.request, field); });
      }
      return;
    }
    add_values("network", [](const Run& run) { return run.job.network; });
    add_values("data", [](const Run& run) { return run.job.data; });
    add_values("batch", [](const Run& run) { return fmt::format("{}", run.job.batch); });
    add_values("workers", [](const Run& run) { return fmt::format("{}", run.job.workers); });
    add_values("exchange", [](const Run& run) { return to_string(run.job.strategy.exchange); });
    add_values("sync", [](const Run& run) { return to_string(run.job.strategy.sync); });
    add_values("wire", [](const Run& run) { return to_string(run.job.strategy.wire); });
  }

  /// Where they ran, and how fast each host moves bytes.
  void cluster() {
    add_values("hosts", [](const Run& run) {
      std::set<std::string> hosts;
      for (const RunRank& rank : run.ranks) hosts.insert(rank.host);
      return hosts.size() > 12 ? fmt::format("{} hosts", hosts.size())
                               : fmt::format("{}", fmt::join(hosts, " "));
    });
    add_values("cores", [](const Run& run) {
      std::set<int64_t> cores;
      if (run.exchange) {
        for (const auto& rank : run.exchange->ranks) cores.insert(rank.cores);
      }
      return fmt::format("{}", fmt::join(cores, " "));
    });
    std::vector<std::map<std::string, double>> rates;
    std::set<std::string> hosts;
    for (const Explained& one : runs_) {
      rates.push_back(host_rates(one.run));
      for (const auto& [host, rate] : rates.back()) hosts.insert(host);
    }
    for (const std::string& host : hosts) {
      double least = INFINITY, most = 0;
      std::vector<std::string> values;
      for (auto& of_run : rates) {
        const auto found = of_run.find(host);
        values.push_back(found == of_run.end() ? "-" : planner::format_bandwidth(found->second));
        if (found == of_run.end()) continue;
        least = std::min(least, found->second);
        most = std::max(most, found->second);
      }
      if (most > kOtherRate * least) add_setting("link of host " + host, std::move(values));
    }
  }

  void account() {
    for (const Explained& one : runs_) {
      if (!one.run.account) return;
    }
    ComparedTime total{"from the command to its end", {}};
    for (const Explained& one : runs_) total.values.push_back(one.run.account->sum());
    result_.account.push_back(total);
    const size_t parts = account_parts(*runs_[0].run.account).size();
    for (size_t i = 0; i < parts; ++i) {
      ComparedTime part;
      for (const Explained& one : runs_) {
        const auto [name, seconds] = account_parts(*one.run.account)[i];
        part.name = name;
        part.values.push_back(seconds);
      }
      const double most = *std::max_element(part.values.begin(), part.values.end());
      if (most > 0) result_.account.push_back(part);
    }
  }

  template <typename Value>
  ComparedTime scaled(const std::string& name, Value value) const {
    ComparedTime time{name, {}};
    for (size_t i = 0; i < runs_.size(); ++i) {
      time.values.push_back(scales_[i] * value(runs_[i].explanation));
    }
    return time;
  }

  void steps() {
    result_.total = scaled("total", [](const Explanation& one) { return one.cluster.seconds(); });
    for (size_t i = 0; i < trace::kParts; ++i) {
      const auto part = static_cast<trace::Part>(i);
      if (part == trace::Part::evaluate || part == trace::Part::checkpoint) continue;
      ComparedTime time = scaled(std::string(trace::kPartNames[i]),
                                 [&](const Explanation& one) { return one.cluster.step[part]; });
      const double most = *std::max_element(time.values.begin(), time.values.end());
      if (most > 0) result_.parts.push_back(std::move(time));
    }
    sort_by_change(result_.parts);
  }

  /// Ranks have as many images each where they are as many.
  void ranks() {
    for (const RankTime& rank : runs_[0].explanation.ranks) {
      ComparedTime time{rank.name, {}};
      for (size_t i = 0; i < runs_.size(); ++i) {
        const auto& ranks = runs_[i].explanation.ranks;
        const auto same = std::find_if(ranks.begin(), ranks.end(),
                                       [&](const RankTime& one) { return one.rank == rank.rank; });
        if (same != ranks.end()) time.values.push_back(scales_[i] * same->computing());
      }
      if (time.values.size() == runs_.size()) result_.ranks.push_back(std::move(time));
    }
    sort_by_change(result_.ranks);
  }

  /// All profiles, item by item; what only some have counts as 0 in the others.
  void operators() {
    const std::string& network = runs_[0].run.job.network;
    for (const Explained& one : runs_) {
      if (one.run.job.network != network) {
        result_.notes.push_back("operators are not compared: the networks differ");
        return;
      }
      if (!one.run.operators) {
        result_.notes.push_back(fmt::format("operators are not compared: not all runs have {}",
                                            run::name_of(run::File::operators)));
        return;
      }
    }
    std::map<std::string, ComparedTime> items;
    for (size_t i = 0; i < runs_.size(); ++i) {
      for (const OperatorItem& item : runs_[i].run.operators->items) {
        const std::string name = clean_text(item.layer + " " + item.operation + " " + item.phase);
        ComparedTime& found = items[name];
        found.name = name;
        found.values.resize(runs_.size());
        found.values[i] += scales_[i] * item.usual_seconds();
      }
    }
    for (auto& [name, item] : items) {
      const auto [least, most] = std::minmax_element(item.values.begin(), item.values.end());
      if (*most - *least > kSame * *most) result_.operators.push_back(item);
    }
    sort_by_change(result_.operators);
  }

  static void sort_by_change(std::vector<ComparedTime>& times) {
    const auto spread = [](const ComparedTime& time) {
      const auto [least, most] = std::minmax_element(time.values.begin(), time.values.end());
      return *most - *least;
    };
    std::stable_sort(times.begin(), times.end(), [&](const ComparedTime& a, const ComparedTime& b) {
      return spread(a) > spread(b);
    });
  }

  /// Nine in ten steps of a run, in the unit of the table.
  std::optional<StepSpread> range(size_t i) const {
    std::optional<StepSpread> range = runs_[i].explanation.spread;
    if (!range || range->median <= 0) return {};
    for (double* value : {&range->low, &range->median, &range->high}) *value *= scales_[i];
    return range;
  }

  /// Why a difference may be none; empty where it is one. Steps of one run that vary widely say
  /// nothing against a difference as long as the usual step of one is unusual in the other.
  std::string no_difference(size_t i) const {
    const double a = result_.total.values[0], b = result_.total.values[i];
    std::string same =
        std::fabs(b - a) < kSame * std::min(a, b) ? "no more than runs vary anyway" : "";
    const std::optional<StepSpread> one = range(0), other = range(i);
    if (!one || !other) return same;
    const auto inside = [](double value, const StepSpread& in) {
      return in.low <= value && value <= in.high;
    };
    if (!inside(one->median, *other) || !inside(other->median, *one)) return same;
    const auto text = [](const StepSpread& of) {
      return fmt::format("{} to {}", format_short_time(of.low), format_short_time(of.high));
    };
    return fmt::format("within the spread of steps (nine in ten take {} in A, {} in {})",
                       text(*one), text(*other), result_.names[i]);
  }

  static std::string change_text(double seconds) {
    return (seconds < 0 ? "-" : "+") + format_short_time(std::fabs(seconds));
  }

  std::string verdict(size_t i) const {
    const std::string name = result_.names[i];
    std::string text;
    if (!result_.account.empty()) {
      text += fmt::format("From the command to its end {} took {}, A {}. ", name,
                          format_short_time(result_.account[0].values[i]),
                          format_short_time(result_.account[0].values[0]));
    }
    const double a = result_.total.values[0], b = result_.total.values[i];
    if (a <= 0 || b <= 0) return text;
    text +=
        fmt::format("{} {} instead of {}", result_.per_step ? "A step takes" : "1,000 samples take",
                    format_short_time(b), format_short_time(a));
    if (result_.images_per_s[0] > 0 && result_.images_per_s[i] > 0) {
      text += fmt::format(" ({} instead of {} samples/s)",
                          format_count(std::llround(result_.images_per_s[i])),
                          format_count(std::llround(result_.images_per_s[0])));
    }
    if (const std::string none = no_difference(i); !none.empty()) return text + ": " + none + ".";
    text += fmt::format(": in steps {} is {:.2f} times as fast", name, a / b);
    return text + reasons(i, b - a);
  }

  /// What changed in the same direction explains it.
  std::string reasons(size_t i, double change) const {
    double explained = 0;
    int named = 0;
    std::string text;
    for (const ComparedTime& part : result_.parts) {
      const double changed = part.values[i] - part.values[0];
      if (changed * change <= 0 || named == 3) continue;
      if (std::fabs(changed) < 0.05 * std::fabs(change)) continue;
      text += fmt::format("{}{} {}", named++ > 0 ? ", " : ". ", change_text(changed), part.name);
      explained += changed;
    }
    if (named == 0) return text + ".";
    text += explained / change < 1.005
                ? fmt::format(" make up {:.0f} % of it.", 100 * explained / change)
                : std::string("; other parts went the other way.");
    if (result_.ranks.size() > 1) text += rank_that_stands_out(i);
    if (!result_.operators.empty()) {
      const ComparedTime& item = result_.operators.front();
      if (std::fabs(item.values[i] - item.values[0]) > 0.2 * std::fabs(change)) {
        text += fmt::format(" The operator that changed most is {}: {} instead of {}.", item.name,
                            format_short_time(item.values[i]), format_short_time(item.values[0]));
      }
    }
    return text;
  }

  std::string rank_that_stands_out(size_t i) const {
    const auto change = [&](const ComparedTime& rank) {
      return std::fabs(rank.values[i] - rank.values[0]);
    };
    std::vector<double> changes;
    const ComparedTime* most = &result_.ranks.front();
    for (const ComparedTime& rank : result_.ranks) {
      changes.push_back(change(rank));
      if (change(rank) > change(*most)) most = &rank;
    }
    std::sort(changes.begin(), changes.end());
    if (change(*most) <= 2 * changes[changes.size() / 2] + 0.05 * result_.total.values[0]) {
      return "";
    }
    return fmt::format(" {} stands out: it computes for {} instead of {}.", most->name,
                       format_short_time(most->values[i]), format_short_time(most->values[0]));
  }

  const std::vector<Explained>& runs_;
  std::vector<double> samples_;  // of a step, of all workers
  std::vector<double> scales_;
  Comparison result_;
};

}  // namespace

Comparison compare(const std::vector<Explained>& runs) { return Comparer(runs).compare(); }

}  // namespace syrtos::report
