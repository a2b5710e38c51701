#include "syrtos/train/trainer.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "syrtos/base/clock.h"
#include "syrtos/base/counted.h"
#include "syrtos/base/error.h"
#include "syrtos/base/files.h"
#include "syrtos/base/log.h"
#include "syrtos/job/record.h"
#include "syrtos/run/metrics.h"
#include "syrtos/train/checkpoint/resume_point.h"
#include "syrtos/train/progress/progress_writer.h"
#include "syrtos/train/team/fingerprint.h"
#include "syrtos/train/team/start_together.h"
#include "syrtos/train/worker_run.h"
#include "syrtos/world/local/local.h"

namespace syrtos::train {

namespace {

run::State state_of(Outcome::End end) {
  switch (end) {
    case Outcome::End::complete:
      return run::State::complete;
    case Outcome::End::stopped_early:
      return run::State::stopped_early;
    case Outcome::End::interrupted:
      return run::State::interrupted;
  }
  return run::State::unknown;
}

}  // namespace

Trainer::Trainer(Job job, int worker, TrainerOptions options, const Trainer* sharing)
    : Trainer(std::move(job), worker, std::move(options), sharing, ThreadScope(job.threads)) {}

Trainer::Trainer(Job&& job, int worker, TrainerOptions&& options, const Trainer* sharing,
                 const ThreadScope&)
    : state_(std::move(job), worker, std::move(options),
             sharing != nullptr ? &sharing->state_ : nullptr) {}

void Trainer::begin(run::Claim claim) {
  const Job& job = state_.job;
  state_.source = state_.learner.initialize(job);  // may refuse: then there is no run
  state_.directory = run::Directory::create(job.run, job.network.info().name,
                                            job::to_record(to_request(job)), std::move(claim));
  if (job.network.file() == nullptr) return;
  const nn::NetworkFile& file = *job.network.file();
  AtomicFile copy(
      state_.directory->to_write(file.is_onnx() ? run::File::network : run::File::layers));
  copy.write(file.bytes);
  copy.commit();
}

void Trainer::resume(const std::filesystem::path& run, run::Claim claim) {
  state_.directory = run::Directory::open_to_resume(run);
  state_.directory->own(std::move(claim));
  const run::Directory& directory = *state_.directory;
  const ResumePoint point = find_resume_point(directory, CheckpointPart::all);
  if (point.checkpoint.empty()) {
    state_.source = state_.learner.initialize(state_.job);
    run::rewind_metrics(directory, 0);
    directory.forget_measures();
  } else {
    go_on_from(point.checkpoint);
    if (state_.job.strategy.split.parts > 1) {
      state_.source = std::make_unique<CheckpointTensors>(point.checkpoint);
    }
  }
  directory.record_job(job::to_record(to_request(state_.job)));
  state_.notes = point.notes;
}

/// Nothing is changed before all that can be refused was refused.
void Trainer::go_on_from(const std::filesystem::path& file) {
  const run::Directory& directory = *state_.directory;
  CheckpointReader checkpoint(file);
  RunTensors own = state_.learner.tensors();
  const Position saved = load_snapshot(checkpoint, own);
  if (saved.used > state_.job.data.train->size()) {
    fail_request("{}: {} samples of epoch {} are used, the data has {}: was it changed?",
                 file.string(), saved.used, saved.epoch + 1, state_.job.data.train->size());
  }
  state_.go_to(saved);
  require_samples_for_all();
  if (state_.course.is_over() && !state_.course.position().unmeasured) {
    if (state_.job.steps > 0 && state_.job.steps < saved.step) {
      fail_request(
          "{} has taken {}, expected fewer than the {} that are asked for; give more --steps or "
          "--epochs, or neither to train as long as was asked for at first",
          directory.path().string(), counted(saved.step, "step"), state_.job.steps);
    }
    fail_request("{} is complete ({}); to train longer give more --epochs or --steps",
                 directory.path().string(), counted(saved.step, "step"));
  }
  if (state_.watch.should_stop()) {
    fail_request("{} has stopped early, after {} epoch{}; to train on start a new run",
                 directory.path().string(), saved.epoch, saved.epoch == 1 ? "" : "s");
  }
  if (file != directory.last()) directory.restore_last(file);
  if (run::rewind_metrics(directory, saved.step)) directory.keep_as_best();
  state_.earlier = read_earlier(directory, saved.step);
}

/// As resolve() does for epochs that begin anew.
void Trainer::require_samples_for_all() const {
  const Job& job = state_.job;
  const std::string_view within = job.exchanges_within_pass();
  if (within.empty() || job.remainder != data::Remainder::short_batch) return;
  const int64_t used = state_.course.position().used;
  const int64_t left = (job.data.train->size() - used) % job.step_samples();
  if (left == 0 || (left >= job.replicas() && job.accumulate == 1)) return;
  fail_request(
      "{}: from where this run goes on, the last step of the epoch has {} "
      "for {} workers{}: use another number of --workers",
      within, counted(left, "sample"), job.replicas(),
      job.accumulate > 1 ? " and their micro-batches" : "");
}

std::optional<Carried> Trainer::leave_team() {
  if (!left_at_) return std::nullopt;
  return Carried{.snapshot = copy_snapshot(state_.learner.tensors(), *left_at_),
                 .history = state_.history,
                 .directory = state_.directory,
                 .trained = state_.trained};
}

void Trainer::enter_team(const Carried& carried, const std::filesystem::path& run,
                         run::Claim claim) {
  RunTensors own = state_.learner.tensors();
  restore_snapshot(carried.snapshot, own);
  state_.history = carried.history;
  state_.go_to(carried.snapshot.position);
  require_samples_for_all();
  if (!state_.is_first()) return;
  state_.directory = carried.directory;
  if (!state_.directory) take_over(run, std::move(claim));
  const Position& position = carried.snapshot.position;
  const int64_t step = position.step;
  // An epoch that is at its end here is ended once more, whatever others have written of it.
  const int64_t kept = state_.course.position().unmeasured ? step - 1 : step;
  state_.to_mend = {.kept = kept, .step = step, .epochs = state_.history};
  mend_metrics_if_possible();
  state_.earlier = read_earlier(*state_.directory, step);
  // One that has written nothing down itself knows at least what its team was.
  std::vector<run::TrainedPart>& parts = state_.earlier.parts;
  if (carried.trained &&
      (parts.empty() || parts.back().first_step != carried.trained->first_step)) {
    parts.push_back(*carried.trained);
  }
  if (parts.empty()) return;
  parts.back().last_step = step;
  parts.back().lost = carried.lost;
}

/// Otherwise the next checkpoint has to do it.
void Trainer::mend_metrics_if_possible() {
  try {
    state_.mend_metrics();
  } catch (const run::TakenOver&) {
    throw;
  } catch (const RunError& error) {
    state_.notes.push_back(
        fmt::format("{}; training goes on, and the next checkpoint tries again", error.what()));
  }
}

/// Where the directory of the run cannot be seen from here, one is made.
void Trainer::take_over(const std::filesystem::path& run, run::Claim claim) {
  std::error_code error;
  if (std::filesystem::exists(run, error)) {
    state_.directory = run::Directory::open(run);
    state_.directory->own(std::move(claim));
    return;
  }
  state_.notes.push_back(
      fmt::format("the files of this run so far are on the host that was lost: this one goes on in "
                  "a directory of its own, {}",
                  run.string()));
  state_.directory =
      run::Directory::create(run, state_.job.network.info().name,
                             job::to_record(to_request(state_.job)), std::move(claim));
}

Task<Outcome> Trainer::run(World& world, TrainObserver& observer, std::function<bool()> should_stop,
                           std::function<bool()> pauses) {
  ProgressWriter progress(observer);
  Outcome outcome;
  std::exception_ptr failure;
  try {
    outcome = co_await train(world, progress, std::move(should_stop), std::move(pauses));
    progress.end(state_of(outcome.end));
  } catch (const std::exception& error) {
    failure = std::current_exception();
    const bool lost = dynamic_cast<const world::PeerLost*>(&error) != nullptr ||
                      dynamic_cast<const world::DeadlinePassed*>(&error) != nullptr;
    if (lost && state_.job.strategy.survives) {
      progress.leave();  // others may go on
    } else {
      progress.end(run::State::failed, error.what());
    }
  }
  // A disk that blocks keeps us, but not our signs of life to the others.
  co_await world.compute(0, [&] { progress.finish(); });
  if (failure) std::rethrow_exception(failure);
  co_return outcome;
}

Task<Outcome> Trainer::train(World& world, TrainObserver& observer,
                             std::function<bool()> should_stop, std::function<bool()> pauses) {
  const auto begun = Clock::now();
  const Job& job = state_.job;
  SYRTOS_CHECK(!state_.is_first() || state_.directory, "begin() or resume() comes first");
  // Each thread that starts parallel regions has a number of its own. That of the messages, where
  // it is another one than computes, takes no cores from the pool.
  const ThreadScope messages(1);
  // The world may compute on a thread of its own.
  co_await world.compute(0, [&job] { set_thread_count(job.threads); });
  world.tell_of_silence([&observer](const std::string& text) { observer.note(text); });
  // What is made here ends in the opposite order: the trace sees the last message.
  std::optional<RunTrace> trace;
  if (job.trace.any()) trace.emplace(world, job.trace);
  strategy::Meetings meetings(world, team_of(job), job.strategy.tolerates_losses());
  co_await start_together(world, meetings);
  const strategy::Options options = co_await measure_links(world, job);
  co_await note_links(world, options);
  TeamWork team(world, job, options, state_.learner, meetings);
  co_await begin_parts(world, team);
  co_await team.begin();
  WorkerRun run(state_, team, meetings, trace ? &*trace : nullptr, observer, std::move(should_stop),
                std::move(pauses));
  Outcome outcome;
  std::exception_ptr lost;
  try {
    outcome = co_await run.train();
    left_at_ = state_.course.position();
  } catch (const world::PeerLost&) {
    lost = std::current_exception();
  } catch (const world::DeadlinePassed&) {
    if (!job.strategy.survives) throw;
    lost = std::current_exception();  // that rank is there, but it does not come
  }
  if (lost) {
    left_at_ = co_await run.go_back();
    std::rethrow_exception(lost);
  }
  outcome.seconds = seconds_since(begun);
  co_return outcome;
}

/// So that a run that goes on, or is made again from its job, has the same buckets and sums.
Task<> Trainer::note_links(World& world, const strategy::Options& options) {
  strategy::Options& known = state_.job.strategy;
  if (!options.link_is_known) co_return;
  known.link = options.link;
  known.link_is_known = true;
  if (!state_.is_first()) co_return;
  co_await world.compute(0, [this] {
    try {
      state_.directory->record_job(job::to_record(to_request(state_.job)));
    } catch (const RunError& error) {
      log_info("job.toml does not say what was measured: {}", error.what());
    }
  });
}

/// All go on from worker 0's position.
Task<> Trainer::start_together(World& world, strategy::Meetings& meetings) {
  if (state_.job.workers == 1) co_return;
  const nlohmann::json mine = fingerprint(state_.job, state_.worker, network());
  const Position first =
      co_await compare_and_start(world, meetings, mine, state_.course.position());
  state_.go_to(first);
  // Where each worker has sums of its own, worker 0 has those of before.
  if (!state_.job.strategy.sync.in_step() && !state_.is_first()) state_.course.set_sums({});
}

/// Workers that have other parts of the network draw their weights, and get what worker 0 has read.
Task<> Trainer::begin_parts(World& world, TeamWork& team) {
  if (state_.job.strategy.split.parts == 1) co_return;
  if (!state_.is_first()) {
    co_await world.compute(0, [this] { state_.learner.draw(state_.job); });
  }
  co_await team.part_tensors().hand_out(state_.source.get());
  state_.source.reset();
  if (state_.course.position().step == 0) state_.learner.begin_lookahead();
}

Outcome Trainer::run_alone(TrainObserver& observer, const std::function<bool()>& should_stop) {
  const ThreadScope threads(state_.job.threads);
  world::LocalCluster cluster(1);
  Outcome outcome;
  world::run_all(cluster, [&](World& world) -> Task<> {
    return keep_result(run(world, observer, should_stop), outcome);
  });
  return outcome;
}

Task<> keep_result(Task<Outcome> task, Outcome& outcome) { outcome = co_await task; }

}  // namespace syrtos::train
