#include "reports.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "aside.h"
#include "syrtos/api/export.h"
#include "syrtos/base/error.h"
#include "syrtos/job/image_size.h"
#include "syrtos/nn/summary.h"
#include "syrtos/nn/zoo/zoo.h"
#include "syrtos/report/html_page.h"
#include "syrtos/report/plan_report.h"
#include "syrtos/report/run_reader.h"
#include "syrtos/report/test_report.h"
#include "syrtos/run/metrics.h"
#include "telling.h"

namespace syrtos::python {

using nlohmann::json;

namespace {

json to_json(const Shape& shape) { return std::vector<int64_t>(shape.begin(), shape.end()); }

json to_json(const nn::ModelSummary& summary) {
  json layers = json::array();
  for (const nn::LayerSummary& layer : summary.layers) {
    layers.push_back({{"name", layer.name},
                      {"operation", layer.operation},
                      {"output", to_json(layer.output)},
                      {"parameters", layer.parameters},
                      {"multiply_adds", layer.multiply_adds}});
  }
  return {{"name", summary.name},
          {"input", to_json(summary.input)},
          {"classes", summary.classes},
          {"parameters", summary.parameters},
          {"multiply_adds", summary.multiply_adds},
          {"layers", layers}};
}

/// The network's own where nothing is said.
nn::ModelOptions model_options(const nn::Network& network, const std::vector<int64_t>& input,
                               int64_t classes) {
  nn::ModelOptions options = network.default_options();
  if (input.size() == 3) {
    options.channels = input[0];
    options.height = input[1];
    options.width = input[2];
  }
  if (classes > 0) options.classes = classes;
  options.batch = 2;  // batch norm has no training of a single value
  return options;
}

}  // namespace

std::string network_json(const nn::Network& network, const std::vector<int64_t>& input,
                         int64_t classes) {
  const nn::Model model = network.build(model_options(network, input, classes));
  json about = to_json(nn::summarize(model));
  json weights = json::array();
  for (const graph::ValueId id : model.graph.values_of(graph::ValueKind::parameter)) {
    weights.push_back(
        {{"name", model.graph.value(id).name}, {"shape", to_json(model.graph.type(id).shape)}});
  }
  about["weights"] = weights;
  return dumped(about);
}

std::string network_table(const nn::Network& network, const std::vector<int64_t>& input,
                          int64_t classes) {
  return nn::model_table(network, model_options(network, input, classes));
}

std::string networks_json() {
  json list = json::array();
  for (const nn::Network& network : nn::zoo::networks()) {
    json entry = to_json(nn::summarize(network.build(model_options(network, {}, 0))));
    entry.erase("layers");
    entry["description"] = network.info().description;
    entry["source"] = network.info().source;
    list.push_back(std::move(entry));
  }
  return dumped(list);
}

std::string options_json() {
  json list = json::array();
  for (const job::JobField& field : job::job_fields()) {
    std::string word(field.option.substr(2));
    std::replace(word.begin(), word.end(), '-', '_');
    list.push_back({{"name", word},
                    {"option", field.option},
                    {"key", field.key},
                    {"type", field.type},
                    {"help", field.help},
                    {"default", field.default_text()},
                    {"plans", field.plans}});
  }
  return dumped(list);
}

PyExplained::PyExplained(const std::string& run) {
  Aside aside;
  aside.run([&] { explained_ = api::explain(run); });
}

std::string PyExplained::text(int columns, bool unicode, const std::string& by, int64_t top) const {
  return report::explain_text(explained_.run, explained_.explanation,
                              {.columns = columns,
                               .unicode = unicode,
                               .by = report::parse_group_by(by),
                               .top = static_cast<size_t>(std::max<int64_t>(0, top))});
}

std::string PyExplained::json() const {
  return dumped(report::explain_json(explained_.run, explained_.explanation));
}

std::string PyExplained::html() const {
  return report::html_page(report::page_json(explained_.run, explained_.explanation));
}

PyPlan::PyPlan(const Keywords& keywords, const api::PlanWishes& wishes, const nn::Network* network,
               const Data* train, const Data* test)
    : job_(job_request("", "", keywords)) {
  Aside aside;
  const api::Surroundings around = surroundings(aside.should_stop());
  api::PlanRequest request = api::plan_request(wishes, job_, around.cpu);
  if (network != nullptr) request.own.network = *network;
  if (train != nullptr) request.own.data = job_data(*train, test);
  aside.run([&] { planned_ = api::plan(request, around); });
}

Keywords PyPlan::way_of(const planner::Prediction& way) const {
  const api::TrainRequest planned = api::with_way({.job = job_}, way);
  Keywords keywords;
  for (const job::JobField& field : job::job_fields()) {
    const std::string text = field_text(planned.job, field);
    if (text == field_text(job_, field)) continue;
    std::string word(field.option.substr(2));
    std::replace(word.begin(), word.end(), '-', '_');
    keywords.emplace_back(word, text);
  }
  return keywords;
}

Keywords PyPlan::best() const { return way_of(planned_.plan.best()); }

namespace {

report::PlanCommands commands_of(std::function<Keywords(const planner::Prediction&)> way_of) {
  return {[way_of = std::move(way_of)](const planner::Prediction& way) {
    std::string text = "syrtos.train(network, data";
    for (const auto& [word, value] : way_of(way)) {
      const bool number = value.find_first_not_of("0123456789.") == std::string::npos;
      const char* quote = number ? "" : "\"";
      text += fmt::format(", {}={}{}{}", word, quote, value, quote);
    }
    return text + ")";
  }};
}

}  // namespace

std::string PyPlan::text(int64_t top) const {
  const report::PlanCommands commands =
      commands_of([this](const planner::Prediction& way) { return way_of(way); });
  return report::plan_text(planned_.plan, planned_.workload, planned_.cluster, commands,
                           static_cast<size_t>(std::max<int64_t>(0, top)));
}

std::string PyPlan::json() const {
  const report::PlanCommands commands =
      commands_of([this](const planner::Prediction& way) { return way_of(way); });
  return dumped(report::plan_json(planned_.plan, planned_.workload, planned_.cluster, commands));
}

std::string PyPlan::svg() const {
  return report::to_svg(report::plan_chart(planned_.plan, planned_.workload, planned_.cluster));
}

std::string metrics_json(const std::string& run) {
  run::Notes notes;
  json list = json::array();
  for (const run::EpochMetrics& epoch : run::read_metrics(run::Directory::open(run), notes)) {
    list.push_back(run::to_json(epoch));
  }
  return dumped(list);
}

std::string about_json(const std::string& path) {
  const report::Run run = report::read_run(path, {.trace = false});
  json options = json::object();
  if (run.job.request) {
    for (const job::JobField& field : job::job_fields()) {
      std::string word(field.option.substr(2));
      std::replace(word.begin(), word.end(), '-', '_');
      options[word] = field_text(*run.job.request, field);
    }
  }
  return dumped(json{{"network", run.job.network},
                     {"data", run.job.data},
                     {"workers", run.job.workers},
                     {"complete", run.complete()},
                     {"options", options},
                     {"notes", run.notes}});
}

std::string export_json(const std::string& checkpoint, const nn::Network* network,
                        const std::string& to) {
  api::ExportRequest request{.checkpoint = checkpoint, .to = to};
  if (network != nullptr) request.network = *network;
  Aside aside;
  api::ExportedFile file;
  aside.run([&] { file = api::export_network(request); });
  return json({{"checkpoint", file.checkpoint.string()},
               {"network", file.network},
               {"tensors", file.tensors},
               {"values", file.values},
               {"bytes", file.bytes}})
      .dump();
}

PyPredictor::PyPredictor(const LoadCall& call) {
  Aside aside;
  api::LoadRequest request{.checkpoint = call.checkpoint,
                           .data = call.data,
                           .precision = call.precision,
                           .threads = call.threads,
                           .batch = call.batch,
                           .views = call.views};
  if (call.network != nullptr) request.network = *call.network;
  aside.run([&] {
    predictor_ =
        std::make_unique<train::Predictor>(api::load(request, surroundings(aside.should_stop())));
  });
}

nanobind::ndarray<nanobind::numpy, float> PyPredictor::predict(const Data& samples) {
  Aside aside;
  std::vector<float> values;
  aside.run([&] { values = predictor_->predict(*samples.set, aside.should_stop()); });
  const auto classes = static_cast<size_t>(predictor_->description().options.classes);
  const size_t rows = values.size() / classes;
  return to_array(std::move(values), {rows, classes});
}

nanobind::ndarray<nanobind::numpy, float> PyPredictor::predict_input(const std::string& input) {
  Aside aside;
  std::vector<float> values;
  aside.run(
      [&] { values = predictor_->predict(*predictor_->open(input).data, aside.should_stop()); });
  const auto outputs = static_cast<size_t>(predictor_->description().options.classes);
  const size_t rows = values.size() / outputs;
  return to_array(std::move(values), {rows, outputs});
}

std::string PyPredictor::evaluate(const Data* data) {
  Aside aside;
  train::Evaluation result;
  aside.run([&] {
    result = data != nullptr ? predictor_->evaluate(*data->set, aside.should_stop(), true)
                             : predictor_->evaluate_test(aside.should_stop(), true);
  });
  json scores = json::object();
  for (const run::Score& score : result.scores) {
    scores[std::string(score.metric->name)] = score.value;
  }
  return dumped(json{{"loss", result.loss},
                     {"scores", scores},
                     {"samples", result.samples},
                     {"seconds", result.seconds},
                     {"report", report::report_json(result.details)},
                     {"text", report::report_text(result.details)},
                     {"svg", report::report_svg(result.details)}});
}

namespace {

/// Of one sample's predictions: one for each class, or the shape of its values.
std::vector<int64_t> answer_shape(const train::NetworkDescription& about) {
  const bool single = about.targets.values == 1 || !about.targets.shape.empty();
  if (about.options.task.has_classes() || !single) return {about.options.classes};
  return about.targets.shape;
}

}  // namespace

std::string PyPredictor::about() const {
  const train::NetworkDescription& about = predictor_->description();
  return dumped(json{{"network", to_string(about.network)},
                     {"input", {about.options.channels, about.options.height, about.options.width}},
                     {"classes", about.options.classes},
                     {"class_names", about.class_names},
                     {"loss", nn::loss_text(about.options.task)},
                     {"has_classes", about.options.task.has_classes()},
                     {"answer_shape", answer_shape(about)},
                     {"validation", about.open.validation},
                     {"seed", about.seed},
                     {"data", about.data},
                     {"checkpoint", predictor_->checkpoint().string()},
                     {"precision", to_string(predictor_->precision().dtype)}});
}

}  // namespace syrtos::python
