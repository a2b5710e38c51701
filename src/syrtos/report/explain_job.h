#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "syrtos/job/resolve.h"
#include "syrtos/report/run.h"

namespace syrtos::report {

/// A key of a job file and its new value.
using JobChange = std::pair<std::string, std::string>;

/// What a run was asked for, to be asked for again with changes.
class AskedAgain {
 public:
  explicit AskedAgain(const Run& run);

  /// The options of 'syrtos train' for these changes, once the changed job has been resolved as any
  /// other is (with random data in place of its own). Empty when it would be refused, would be the
  /// same job, or the run's job is not known.
  std::string options(const std::vector<JobChange>& changes) const;
  /// The job as it is; nothing where it would be refused now, or its network is the caller's own.
  std::optional<job::Job> job() const;
  const job::JobRequest* request() const { return known_ ? &request_ : nullptr; }

 private:
  job::Job with_random_data(job::JobRequest request, job::Own own) const;
  std::string resolved(job::JobRequest request) const;

  job::JobRequest request_;
  int64_t samples_ = 0;
  bool known_ = false;
  std::string before_;  // how it resolves as it is
};

}  // namespace syrtos::report
