#include "syrtos/api/task.h"

#include <nlohmann/json.hpp>

#include "syrtos/base/base64.h"
#include "syrtos/base/compress.h"
#include "syrtos/base/error.h"
#include "syrtos/job/file.h"
#include "syrtos/job/networks.h"

namespace syrtos::api {

using nlohmann::json;

namespace {
constexpr size_t kMostNetwork = size_t{1} << 28;
constexpr const char* kOnnx = "onnx";
constexpr const char* kLayers = "layers";

/// Of fields that are known here.
std::vector<std::string_view> keys_of(const json& list) {
  std::vector<std::string_view> keys;
  for (const json& key : list) {
    const job::JobField* field = job::find_field(key.get<std::string>());
    if (field != nullptr) keys.push_back(field->key);
  }
  return keys;
}
}  // namespace

std::string to_task(const TrainRequest& request) {
  json task{{"job", job::to_toml(request.job)},
            {"given", request.job.given},
            {"kept", request.job.kept},
            {"run", request.job.run},
            {"resume", request.resume.string()},
            {"owner", request.claim.token},
            {"force", request.claim.force},
            {"planned_step_s", request.planned_step_s},
            {"asked", request.asked},
            {"data_s", request.data_s},
            {"precision_reason", request.precision_reason}};
  const nn::NetworkFile* file = request.own.network ? request.own.network->file() : nullptr;
  if (file != nullptr) {
    task["network"] = {{"kind", file->is_onnx() ? kOnnx : kLayers},
                       {"path", file->path},
                       {"file", to_base64(compressed(file->bytes))}};
  }
  return task.dump(-1, ' ', false, json::error_handler_t::replace);
}

TrainRequest parse_task(const std::string& line) {
  TrainRequest request;
  try {
    const json task = json::parse(line);
    job::read_job_text(request.job, task.at("job").get<std::string>(), "the launcher's job");
    request.job.given = keys_of(task.at("given"));
    request.job.kept = keys_of(task.at("kept"));
    request.job.run = task.at("run").get<std::string>();
    request.resume = task.at("resume").get<std::string>();
    request.claim = {task.at("owner").get<std::string>(), task.at("force").get<bool>()};
    request.planned_step_s = task.at("planned_step_s").get<double>();
    request.asked = task.at("asked").get<double>();
    request.data_s = task.at("data_s").get<double>();
    request.precision_reason = task.at("precision_reason").get<std::string>();
    if (task.contains("network")) {
      const json& network = task["network"];
      const std::string what = "the launcher's network";
      const std::string packed = from_base64(network.at("file").get<std::string>(), what);
      const bool is_onnx = network.at("kind").get<std::string>() == kOnnx;
      request.own.network = job::network_of(
          {.kind = is_onnx ? nn::NetworkFile::Kind::onnx : nn::NetworkFile::Kind::layers,
           .path = network.at("path").get<std::string>(),
           .bytes = decompressed(packed, kMostNetwork, what)});
    }
  } catch (const json::exception& error) {
    fail_request("expected what to train on standard input, from the launcher, found: {}",
                 error.what());
  }
  return request;
}

}  // namespace syrtos::api
