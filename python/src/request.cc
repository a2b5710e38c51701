#include "request.h"

#include <algorithm>

#include "syrtos/api/resume.h"
#include "syrtos/base/config.h"
#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/job/file.h"
#include "syrtos/job/synonyms.h"

namespace syrtos::python {

namespace {

std::string keyword_of(const job::JobField& field) {
  std::string word(field.option.substr(2));
  std::replace(word.begin(), word.end(), '-', '_');
  return word;
}

std::string option_of(const std::string& keyword) {
  std::string word = keyword;
  std::replace(word.begin(), word.end(), '_', '-');
  return "--" + word;
}

}  // namespace

const job::JobField& field_of(const std::string& keyword) {
  const std::string option = option_of(keyword);
  std::vector<std::string> known;
  for (const job::JobField& field : job::job_fields()) {
    if (field.option == option) return field;
    known.push_back(keyword_of(field));
  }
  if (const job::JobField* meant = job::field_called(option)) {
    fail_request("unknown option '{}': expected '{}'", keyword, keyword_of(*meant));
  }
  fail_request("unknown option '{}'{}", keyword, did_you_mean(keyword, known));
}

job::JobRequest job_request(const std::string& job_file, const std::string& resume,
                            const Keywords& keywords) {
  std::vector<api::Change> changes;
  for (const auto& [keyword, text] : keywords) changes.emplace_back(&field_of(keyword), text);
  if (!resume.empty()) return api::request_to_resume(resume, changes);
  job::JobRequest request;
  if (!job_file.empty()) job::read_job_file(request, job_file);
  api::apply(changes, request);
  return request;
}

api::Surroundings surroundings(std::function<bool()> should_stop) {
  return {.cache_home = read_environment().cache_home, .should_stop = std::move(should_stop)};
}

}  // namespace syrtos::python
