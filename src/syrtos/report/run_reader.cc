#include "syrtos/report/run_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "syrtos/base/error.h"
#include "syrtos/report/run_job.h"
#include "syrtos/run/about.h"
#include "syrtos/run/live.h"
#include "syrtos/run/steps.h"
#include "syrtos/run/trace.h"

namespace syrtos::report {

namespace fs = std::filesystem;
using run::File;
using run::name_of;
using run::TrainedPart;

namespace {

/// The rank of that number, which is added if it is new.
RunRank& rank_of(Run& run, int number) {
  for (RunRank& rank : run.ranks) {
    if (rank.rank == number) return rank;
  }
  run.ranks.push_back({.rank = number});
  return run.ranks.back();
}

void sort_ranks(Run& run) {
  std::sort(run.ranks.begin(), run.ranks.end(),
            [](const RunRank& a, const RunRank& b) { return a.rank < b.rank; });
}

void read_parts(Run& run, const run::Directory& directory) {
  run.parts = run::read_parts(directory, run.notes);
  if (!run.parts.empty()) run.lost = run.parts.back().lost;
}

/// Of a part that has taken no step only who trained it is known.
void leave_out_empty_parts(Run& run) {
  std::erase_if(run.parts,
                [](const TrainedPart& part) { return part.last_step < part.first_step; });
}

/// The metrics always know the hosts, and times of whole epochs.
void add_epoch(RunRank& rank, const EpochMetrics& epoch, int64_t steps,
               const trace::StepDivision& seconds) {
  rank.per_epoch = true;
  trace::DivisionRecord record = trace::record_of_step(epoch.step - steps, 0, seconds);
  record.steps = std::max<int64_t>(1, steps);
  rank.records.push_back(record);
}

void read_metrics(Run& run, const run::Directory& directory) {
  run.epochs = run::read_metrics(directory, run.notes);
  int64_t before = 0;
  for (const EpochMetrics& epoch : run.epochs) {
    const int64_t steps = epoch.step > before ? epoch.step - before : epoch.step;
    if (epoch.workers.empty()) add_epoch(rank_of(run, 0), epoch, steps, epoch.seconds);
    for (const run::WorkerEpoch& worker : epoch.workers) {
      RunRank& rank = rank_of(run, worker.rank);
      if (!worker.host.empty()) rank.host = worker.host;
      add_epoch(rank, epoch, steps, worker.seconds);
    }
    before = epoch.step;
  }
}

/// Finer than what the metrics say; hosts stay known.
void read_steps(Run& run, const run::Directory& directory) {
  const bool is_there = directory.has(File::steps);
  std::vector<trace::RankDivision> steps = run::read_steps(directory, run.notes);
  if (steps.empty()) {
    if (!is_there && !run.ranks.empty() && !directory.has(File::live)) {
      run.notes.push_back(fmt::format("{} is missing: times are those of whole epochs, from {}",
                                      name_of(File::steps), name_of(File::metrics)));
    }
    return;
  }
  for (RunRank& rank : run.ranks) {
    rank.records.clear();
    rank.per_epoch = false;
  }
  for (trace::RankDivision& found : steps) {
    rank_of(run, found.rank).records = std::move(found.records);
  }
  std::erase_if(run.ranks, [](const RunRank& rank) { return rank.records.empty(); });
  sort_ranks(run);
}

template <typename Ranks>
int64_t last_step(const Ranks& ranks) {
  int64_t last = 0;
  for (const auto& rank : ranks) {
    if (rank.records.empty()) continue;
    last = std::max(last, rank.records.back().step + rank.records.back().steps);
  }
  return last;
}

/// Of a run that goes on or was killed: what is newer than the table of steps, which is finer.
void read_live(Run& run, const run::Directory& directory) {
  const std::vector<run::LiveRank> live = run::read_live(directory, run.notes);
  if (last_step(live) <= last_step(run.ranks)) return;
  for (const run::LiveRank& rank : live) {
    RunRank& known = rank_of(run, rank.rank);
    known.host = rank.host;
    if (std::exchange(known.per_epoch, false)) known.records.clear();
    const int64_t next =
        known.records.empty() ? 0 : known.records.back().step + known.records.back().steps;
    for (const trace::DivisionRecord& record : rank.records) {
      if (record.step >= next) known.records.push_back(record);
    }
  }
  sort_ranks(run);
}

/// Where the ranks were, as other files say it.
void find_hosts(Run& run) {
  const auto set_host = [&](int number, const std::string& host) {
    for (RunRank& rank : run.ranks) {
      if (rank.rank == number && rank.host.empty()) rank.host = host;
    }
  };
  if (run.exchange) {
    for (const auto* ranks : {&run.exchange->ranks, &run.exchange->servers}) {
      for (const run::RankTraffic& rank : *ranks) set_host(rank.rank, rank.host);
    }
  }
  if (run.trace) {
    for (const trace::RankEvents& events : run.trace->ranks) set_host(events.rank, events.host);
  }
}

void note_missing_ranks(Run& run) {
  std::set<int> known;
  for (const RunRank& rank : run.ranks) known.insert(rank.rank);
  if (known.empty()) return;
  std::string missing;
  int count = 0;
  for (int rank = 0; rank < run.job.workers; ++rank) {
    if (known.contains(rank)) continue;
    if (++count <= 8) missing += fmt::format("{}{}", missing.empty() ? "" : ", ", rank);
  }
  if (count == 0) return;
  run.notes.push_back(fmt::format(
      "{} of {} ranks say nothing (rank {}{}): lost, or the run ended before their part "
      "arrived; the others are explained",
      count, run.job.workers, missing, count > 8 ? ", ..." : ""));
}

/// While all records are there.
void read_account(Run& run) {
  for (const RunRank& rank : run.ranks) {
    if (rank.rank == 0) run.account = account_of(run.parts, rank.records);
  }
}

/// Means over steps of different teams would say nothing: what is explained is the last one's.
void keep_steps_of_last_team(Run& run) {
  if (run.parts.empty()) return;
  for (const TrainedPart& part : run.parts) {
    if (part.same_team(run.parts.back())) continue;
    for (RunRank& rank : run.ranks) {
      std::erase_if(rank.records, [&](const trace::DivisionRecord& record) {
        return record.step >= part.first_step && record.step <= part.last_step;
      });
    }
    run.notes.push_back(
        fmt::format("steps {} to {} were trained by {} worker{} ({} {} {}): they are not in the "
                    "means, which are those of the last team",
                    part.first_step, part.last_step, part.workers, part.workers == 1 ? "" : "s",
                    part.exchange, part.sync, part.wire));
  }
  std::erase_if(run.ranks, [](const RunRank& rank) { return rank.records.empty(); });
}

/// A process that is killed has not written down its last steps.
void note_missing_steps(Run& run) {
  int64_t next = 1;
  for (const TrainedPart& part : run.parts) {
    if (part.first_step > next) {
      run.notes.push_back(
          fmt::format("steps {} to {} left no record: the run was killed before it was written",
                      next, part.first_step - 1));
    }
    next = part.last_step + 1;
  }
}

/// Their ranks come after the workers'.
void find_servers(Run& run) {
  for (RunRank& rank : run.ranks) {
    if (rank.rank >= run.job.workers) rank.server = rank.rank - static_cast<int>(run.job.workers);
  }
}

void check_same_job(Run& run) {
  if (run.operators && !run.operators->network.empty() && !run.job.network.empty() &&
      run.operators->network != run.job.network) {
    run.notes.push_back(fmt::format("{}: it is about {}, the run trained {}; left out",
                                    name_of(File::operators), run.operators->network,
                                    run.job.network));
    run.operators.reset();
  }
}

}  // namespace

std::string RunRank::name() const {
  const std::string who =
      server < 0 ? fmt::format("rank {}", rank) : fmt::format("server {}", server);
  return host.empty() ? who : fmt::format("{} on {}", who, host);
}

std::string lost_text(const run::LostWorker& lost) {
  return fmt::format("{} was lost at step {}", RunRank{.rank = lost.rank, .host = lost.host}.name(),
                     lost.step);
}

std::string Run::name() const {
  const fs::path clean = path.has_filename() ? path : path.parent_path();
  const std::string last = clean.filename().string();
  return last.empty() || last == "." || last == ".." ? fs::absolute(clean).filename().string()
                                                     : last;
}

bool Run::complete() const {
  if (progress && progress->state != run::State::unknown) {
    return progress->state == run::State::complete;
  }
  if (epochs.empty()) return false;
  return epochs.back().epoch >= job.epochs || (job.steps > 0 && epochs.back().step >= job.steps);
}

bool Run::begins_part(int64_t step) const {
  return std::any_of(parts.begin(), parts.end(),
                     [&](const TrainedPart& part) { return part.first_step == step; });
}

int64_t Run::samples_per_step() const {
  return job.strategy.sync.step_samples(job.batch, job.replicas());
}

Run read_run(const fs::path& path, const ReadOptions& options) {
  const run::Directory directory = run::Directory::open(path);
  Run run;
  run.path = path;
  run::read_about(directory, run.notes);
  read_parts(run, directory);
  read_job(run, directory);
  leave_out_empty_parts(run);
  read_metrics(run, directory);
  run::Curve curve = run::read_curve(directory);
  run.points = std::move(curve.points);
  run.point_metric = curve.metric;
  run.scores = run::read_test_scores(directory, run.notes);
  read_steps(run, directory);
  read_account(run);
  keep_steps_of_last_team(run);
  note_missing_steps(run);
  read_live(run, directory);
  run.hosts = run::read_hosts(directory, run.notes);
  run.operators = run::read_operators(directory, run.notes);
  run.exchange = run::read_exchange(directory, run.notes);
  run.progress = run::read_progress(directory, run.notes);
  if (run.progress) run.progress->state = run::state_now(directory, *run.progress);
  if (options.trace) run.trace = run::read_trace(directory, run.notes);
  find_hosts(run);
  note_missing_ranks(run);
  find_servers(run);
  check_same_job(run);
  return run;
}

}  // namespace syrtos::report
