#pragma once

#include "syrtos/job/resolve.h"
#include "tests/support/temporary.h"

namespace syrtos::train {

using job::Job;
using job::JobRequest;

class SmallJobs : public TemporaryDirectory {
 protected:
  /// A network and samples that need little time.
  JobRequest small_job(const std::string& run) const {
    JobRequest job;
    job.network = "lenet5";
    job.data = "random";
    job.samples = 70;
    job.batch = 16;
    job.epochs = 2;
    job.precision = "f32";
    job.threads = 1;
    job.learning_rate = 0.01;
    job.run = (directory_ / run).string();
    return job;
  }
};

}  // namespace syrtos::train
