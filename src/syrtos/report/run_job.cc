#include "syrtos/report/run_job.h"

#include <fmt/format.h>

#include <algorithm>

#include "syrtos/base/error.h"
#include "syrtos/base/files.h"
#include "syrtos/job/file.h"
#include "syrtos/job/record.h"
#include "syrtos/job/resolve.h"

namespace syrtos::report {

namespace {

using run::File;

/// Nothing, and a note: it is not there or cannot be understood.
std::optional<job::JobRequest> request_of(const run::Directory& directory, run::Notes& notes) {
  const std::string name = run::name_of(File::job);
  if (!directory.has(File::job)) {
    notes.push_back(fmt::format("{} is missing: what was asked for is not known", name));
    return std::nullopt;
  }
  if (auto record = job::read_record(directory.file(File::job)); record.request) {
    return record.request;
  }
  // By hand: what it leaves out is as usual.
  try {
    job::JobRequest request;
    job::read_job_text(request, read_text(directory.file(File::job)).text, name);
    return request;
  } catch (const RequestError& error) {
    notes.push_back(fmt::format("{}; what was asked for is not known", error.what()));
    return std::nullopt;
  }
}

/// Who trains may change when a run goes on.
void distribute_as(const run::TrainedPart& part, job::JobRequest& request) {
  request.workers = part.workers;
  request.exchange = part.exchange;
  request.sync = part.sync;
  request.wire = part.wire;
  if (!part.update.empty()) request.update = part.update;
  if (!part.split.empty()) request.split = part.split;
}

/// What the words of the job mean, once and for all.
void understand(const job::JobRequest& request, const std::vector<run::TrainedPart>& parts,
                RunJob& job, run::Notes& notes) {
  job.workers = std::clamp<int64_t>(request.workers, 1, 1'000'000);
  try {
    job.strategy = job::way_of(request);
    if (!parts.empty()) {
      job.strategy.split.parts = static_cast<int>(parts.back().network_parts);
    }
  } catch (const RequestError& error) {
    job.strategy_known = false;
    notes.push_back(fmt::format("{}: {}", run::name_of(File::job), error.what()));
  }
}

}  // namespace

void read_job(Run& run, const run::Directory& directory) {
  RunJob& job = run.job;
  job.request = request_of(directory, run.notes);
  job::JobRequest request = job.request.value_or(job::JobRequest());
  if (!run.parts.empty()) distribute_as(run.parts.back(), request);
  understand(request, run.parts, job, run.notes);
  if (!job.request) return;
  job.network = request.network;
  job.data = request.data;
  job.precision = request.precision;
  job.batch = std::clamp<int64_t>(request.batch, 0, 1'000'000'000);
  job.epochs = request.epochs == job::kUnset ? 0 : request.epochs;
  job.steps = request.steps;
  job.replayed = !request.replay.empty();
  job.request = std::move(request);
}

}  // namespace syrtos::report
