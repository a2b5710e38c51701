#include "syrtos/report/explain_job.h"

#include <fmt/format.h>

#include <algorithm>

#include "syrtos/base/cpu.h"
#include "syrtos/base/error.h"
#include "syrtos/job/file.h"
#include "syrtos/job/networks.h"
#include "syrtos/nn/zoo/zoo.h"

namespace syrtos::report {

AskedAgain::AskedAgain(const Run& run) {
  if (!run.job.request) return;
  request_ = *run.job.request;
  samples_ = run.epochs.empty() ? 0 : run.epochs.back().samples;
  if (request_.data == "random") samples_ = request_.samples;
  const int64_t least = request_.batch * request_.workers;
  if (samples_ < least) samples_ = 100 * least;
  before_ = resolved(request_);
  known_ = !before_.empty();
}

job::Job AskedAgain::with_random_data(job::JobRequest request, job::Own own) const {
  request.data = "random";
  request.samples = samples_;
  request.run.clear();
  request.replay.clear();
  return job::resolve(request, cpu_info(), {}, std::move(own));
}

std::optional<job::Job> AskedAgain::job() const {
  if (!known_) return std::nullopt;
  try {
    return with_random_data(request_, {});
  } catch (const RequestError&) {
    return std::nullopt;
  }
}

/// As a job file, in which nothing is open; empty when it is refused.
std::string AskedAgain::resolved(job::JobRequest request) const {
  try {
    job::Own own;
    try {
      job::find_network(request.network);
    } catch (const RequestError&) {
      own.network = nn::find_network("lenet5");  // it was the caller's own: nothing is built here
    }
    return job::to_toml(job::to_request(with_random_data(std::move(request), std::move(own))));
  } catch (const RequestError&) {
    return {};
  }
}

std::string AskedAgain::options(const std::vector<JobChange>& changes) const {
  if (!known_) return {};
  job::JobRequest request = request_;
  std::string text;
  for (const auto& [key, value] : changes) {
    const job::JobField* field = job::find_field(key);
    SYRTOS_CHECK(field != nullptr, "{}", key);
    if (job::field_text(request, *field) == value) continue;
    job::set_field(request, *field, value, key);
    text += fmt::format("{}{} {}", text.empty() ? "" : " ", field->option, value);
  }
  const std::string after = resolved(std::move(request));
  return after.empty() || after == before_ ? std::string() : text;
}

}  // namespace syrtos::report
