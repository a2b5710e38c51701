#include "syrtos/api/task.h"

#include <nlohmann/json.hpp>

#include "syrtos/base/error.h"
#include "syrtos/job/file.h"

namespace syrtos::api {

using nlohmann::json;

std::string to_task(const TrainRequest& request) {
  return json{{"job", job::to_toml(request.job)},
              {"given", request.job.given},
              {"run", request.job.run},
              {"resume", request.resume.string()},
              {"planned_step_s", request.planned_step_s},
              {"asked", request.asked},
              {"data_s", request.data_s}}
      .dump(-1, ' ', false, json::error_handler_t::replace);
}

TrainRequest parse_task(const std::string& line) {
  TrainRequest request;
  try {
    const json task = json::parse(line);
    job::read_job_text(request.job, task.at("job").get<std::string>(), "the launcher's job");
    request.job.given.clear();
    for (const json& key : task.at("given")) {
      const job::JobField* field = job::find_field(key.get<std::string>());
      if (field != nullptr) request.job.given.push_back(field->key);
    }
    request.job.run = task.at("run").get<std::string>();
    request.resume = task.at("resume").get<std::string>();
    request.planned_step_s = task.at("planned_step_s").get<double>();
    request.asked = task.at("asked").get<double>();
    request.data_s = task.at("data_s").get<double>();
  } catch (const json::exception& error) {
    fail_request("expected what to train on standard input, from the launcher, found: {}",
                 error.what());
  }
  return request;
}

}  // namespace syrtos::api
