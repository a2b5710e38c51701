#include "syrtos/report/run_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "syrtos/base/error.h"
#include "syrtos/report/run_files.h"

namespace syrtos::report {

namespace fs = std::filesystem;

namespace {

void refuse_what_is_no_run(const Run& run) {
  std::error_code error;
  if (!fs::exists(run.path, error)) {
    fail_request("{}: expected a run directory, found nothing of that name", run.path.string());
  }
  if (!fs::is_directory(run.path, error)) {
    fail_request("{}: expected a run directory, found a file", run.path.string());
  }
  for (const char* name : {"job.toml", "metrics.jsonl", "steps.csv"}) {
    if (has_file(run, name)) return;
  }
  fail_request(
      "{} is not a run: expected job.toml, metrics.jsonl or steps.csv in it, found none of them",
      run.path.string());
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

/// Means over steps of different teams would say nothing: what is explained is the last one's.
void keep_steps_of_last_team(Run& run) {
  if (run.parts.empty()) return;
  for (const RunPart& part : run.parts) {
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
  for (const RunPart& part : run.parts) {
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
    run.notes.push_back(fmt::format("operators.json: it is about {}, the run trained {}; left out",
                                    run.operators->network, run.job.network));
    run.operators.reset();
  }
}

/// What the words of the job mean, once and for all.
void understand_job(Run& run) {
  RunJob& job = run.job;
  try {
    strategy::Options options;
    options.exchange = strategy::parse_exchange(job.exchange);
    options.sync = strategy::parse_sync(job.sync);
    options.wire = strategy::parse_wire(job.wire);
    options.update = strategy::parse_update(job.update, options.exchange);
    options.bucket_mb = job.bucket_mb;
    job.strategy = options;
  } catch (const RequestError& error) {
    job.strategy_known = false;
    run.notes.push_back(fmt::format("job.toml: {}", error.what()));
  }
}

}  // namespace

std::string RunRank::name() const {
  const std::string who =
      server < 0 ? fmt::format("rank {}", rank) : fmt::format("server {}", server);
  return host.empty() ? who : fmt::format("{} on {}", who, host);
}

std::string RunLost::text() const {
  return fmt::format("{} was lost at step {}", RunRank{.rank = rank, .host = host}.name(), step);
}

std::string Run::name() const {
  const fs::path clean = path.has_filename() ? path : path.parent_path();
  const std::string last = clean.filename().string();
  return last.empty() || last == "." || last == ".." ? fs::absolute(clean).filename().string()
                                                     : last;
}

bool Run::complete() const {
  if (progress && !progress->state.empty()) return progress->state == "complete";
  if (epochs.empty()) return false;
  return epochs.back().epoch >= job.epochs || (job.steps > 0 && epochs.back().step >= job.steps);
}

bool RunPart::same_team(const RunPart& other) const {
  return workers == other.workers && exchange == other.exchange && sync == other.sync &&
         wire == other.wire;
}

bool Run::begins_part(int64_t step) const {
  return std::any_of(parts.begin(), parts.end(),
                     [&](const RunPart& part) { return part.first_step == step; });
}

int64_t Run::samples_per_step() const {
  return job.strategy.sync.step_samples(job.batch, job.workers);
}

Run read_run(const fs::path& directory, const ReadOptions& options) {
  Run run;
  run.path = directory;
  refuse_what_is_no_run(run);
  read_job(run);
  read_parts(run);
  understand_job(run);
  read_metrics(run);
  read_curve(run);
  read_steps(run);
  keep_steps_of_last_team(run);
  note_missing_steps(run);
  read_live(run);
  read_hosts(run);
  read_operators(run);
  read_exchange(run);
  read_progress(run);
  if (options.trace) read_trace_file(run);
  note_missing_ranks(run);
  find_servers(run);
  check_same_job(run);
  return run;
}

}  // namespace syrtos::report
