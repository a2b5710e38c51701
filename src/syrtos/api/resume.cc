#include "syrtos/api/resume.h"

#include <algorithm>

#include "syrtos/base/error.h"
#include "syrtos/run/directory.h"
#include "syrtos/train/checkpoint/resume_point.h"

namespace syrtos::api {

namespace {

/// Worker 0 looks at the whole of what it goes on from.
job::JobRequest job_of(const std::filesystem::path& run) {
  const auto directory = run::Directory::open_to_resume(run);
  return train::find_resume_point(directory, train::CheckpointPart::header).job;
}

}  // namespace

void apply(const std::vector<Change>& changes, job::JobRequest& request) {
  for (const auto& [field, text] : changes) job::set_field(request, *field, text, field->option);
}

job::JobRequest request_to_resume(const std::filesystem::path& run,
                                  const std::vector<Change>& changes) {
  const auto changed = [&](std::string_view key) {
    return std::any_of(changes.begin(), changes.end(),
                       [&](const Change& change) { return change.first->key == key; });
  };
  job::JobRequest request = job_of(run);
  // It was chosen for the exchange that there was then.
  if (changed("distribute.exchange") || changed("distribute.sync")) request.update = "auto";
  const int64_t workers = request.workers;
  for (const Change& change : changes) {
    if (change.first->may_change) continue;
    fail_request(
        "{} cannot change when a run goes on: only --epochs, --steps, --threads and how the work "
        "is distributed can",
        change.first->option);
  }
  apply(changes, request);
  // Another number of workers divides the cores anew.
  if (request.workers != workers && !changed("threads")) request.threads = 0;
  // Other hosts, perhaps.
  if (request.workers != workers && !changed("distribute.links")) request.links = "auto";
  // More steps take as many epochs as they need.
  if (changed("steps") && !changed("epochs") && request.workers == workers) {
    request.epochs = job::kUnset;
  }
  return request;
}

job::JobRequest going_on(const std::filesystem::path& run, job::JobRequest request) {
  if (run.empty()) return request;
  const job::JobRequest before = job_of(run);
  for (const job::JobField& field : job::job_fields()) {
    const std::string was = job::field_text(before, field);
    const std::string asked = job::field_text(request, field);
    if (asked == was) request.kept.push_back(field.key);
    if (asked == was || !field.recorded || field.may_change) continue;
    if (asked != job::field_text(job::JobRequest{}, field)) {
      fail_request("{} cannot change when a run goes on: expected {} as in {}, found {}",
                   field.option, was, run.string(), asked);
    }
    job::set_field(request, field, was, field.option);
  }
  return request;
}

}  // namespace syrtos::api
