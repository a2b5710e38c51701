#include "syrtos/train/checkpoint/resume_point.h"

#include <fmt/format.h>

#include "syrtos/base/error.h"
#include "syrtos/job/file.h"
#include "syrtos/job/record.h"
#include "syrtos/run/metrics.h"

namespace syrtos::train {

using job::JobRequest;
using run::File;

namespace {

constexpr const char* kOtherJob = "it is of another job";

/// What a checkpoint says that it was trained as. Throws RequestError.
JobRequest job_of(const CheckpointReader& checkpoint) {
  const auto found = checkpoint.meta().find("job");
  if (found == checkpoint.meta().end() || !found->is_string()) {
    fail_request("{}: expected its job in the header, found none", checkpoint.file().string());
  }
  JobRequest request;
  job::read_job_text(request, found->get<std::string>(), checkpoint.file().string());
  request.given.clear();  // it has every field
  return request;
}

/// Empty: the checkpoint is one of this job.
std::string foreign(const JobRequest& held, const job::Record& record) {
  if (!record.request) return {};
  const job::JobField* field = job::differing_field(held, *record.request);
  if (field == nullptr) return {};
  return fmt::format("{}: expected {} = {}, found {}", kOtherJob, field->key,
                     job::field_text(*record.request, *field), job::field_text(held, *field));
}

/// Nothing: this one cannot be used, which is noted.
std::optional<ResumePoint> try_file(const run::Directory& directory, File file, CheckpointPart part,
                                    const job::Record& record, run::Notes& notes) {
  const std::string name = run::name_of(file);
  if (!directory.has(file)) {
    if (file == File::last_checkpoint) notes.push_back(name + " is missing");
    return std::nullopt;
  }
  std::string problem;
  try {
    const CheckpointReader checkpoint(directory.file(file), part);
    ResumePoint point{.job = job_of(checkpoint), .checkpoint = directory.file(file)};
    problem = foreign(point.job, record);
    if (problem.empty()) return point;
  } catch (const OtherRelease&) {
    throw;
  } catch (const RequestError& error) {
    problem = error.what();
  }
  notes.push_back(fmt::format("{} cannot be used: {}", name, problem));
  return std::nullopt;
}

std::string all_of(const run::Notes& notes) {
  std::string text;
  for (const std::string& note : notes) text += (text.empty() ? "" : "; ") + note;
  return text;
}

/// No checkpoint can be used. That is all right only where there was none yet.
ResumePoint at_the_beginning(const run::Directory& directory, const job::Record& record,
                             const run::Notes& notes) {
  run::Notes unused;
  const size_t epochs = run::read_metrics(directory, unused).size();
  const bool never_saved = !directory.has(File::last_checkpoint) &&
                           !directory.has(File::previous_checkpoint) &&
                           !directory.has(File::best_checkpoint);
  if (epochs > 0 || !never_saved) {
    const bool of_others = all_of(notes).find(kOtherJob) != std::string::npos;
    fail_request(
        "{}: expected a checkpoint to go on from, found none that is whole ({}); what it has "
        "stays as it is. {}: syrtos train {}",
        directory.path().string(), all_of(notes),
        of_others ? "If job.toml is the one that is wrong, remove it, and a checkpoint tells the "
                    "job; to train what it says start a new run"
                  : "To train the job from its beginning start a new run",
        directory.file(File::job).string());
  }
  if (!record.request) {
    fail_request("{} {}, and no checkpoint was written yet that knows the job: start a new run",
                 directory.file(File::job).string(), record.problem);
  }
  return {.job = *record.request};
}

}  // namespace

ResumePoint find_resume_point(const run::Directory& directory, CheckpointPart part) {
  const job::Record record = job::read_record(directory.file(File::job));
  run::Notes notes;
  for (const File file :
       {File::last_checkpoint, File::previous_checkpoint, File::best_checkpoint}) {
    std::optional<ResumePoint> point = try_file(directory, file, part, record, notes);
    if (!point) continue;
    if (!notes.empty()) notes.push_back("the run goes on from " + run::name_of(file));
    if (!notes.empty()) point->notes.push_back(all_of(notes));
    if (!record.request) {
      point->notes.push_back(fmt::format("{} {}: the run goes on with the job that {} holds",
                                         run::name_of(File::job), record.problem,
                                         run::name_of(file)));
    }
    return *point;
  }
  return at_the_beginning(directory, record, notes);
}

}  // namespace syrtos::train
