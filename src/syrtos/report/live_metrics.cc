#include <fmt/format.h>

#include "syrtos/report/live_data.h"
#include "syrtos/trace/division.h"

namespace syrtos::report {

using nlohmann::json;

namespace {

/// As Prometheus wants the value of a label.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '\n') {
      result += "\\n";
    } else {
      if (c == '"' || c == '\\') result += '\\';
      result += c;
    }
  }
  return result + "\"";
}

class Writer {
 public:
  /// Begins a metric; values follow.
  void metric(const std::string& name, const std::string& help) {
    name_ = "syrtos_" + name;
    text_ += fmt::format("# HELP {} {}\n# TYPE {} gauge\n", name_, help, name_);
  }
  void value(double number, const std::string& labels = "") {
    text_ += labels.empty() ? fmt::format("{} {}\n", name_, number)
                            : fmt::format("{}{{{}}} {}\n", name_, labels, number);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string name_, text_;
};

void write_curve(Writer& writer, const json& curve, const char* name, const char* help,
                 double unit) {
  writer.metric(name, help);
  for (const json& host : curve.value("series", json::array())) {
    const json& values = host.at("values");
    for (auto last = values.rbegin(); last != values.rend(); ++last) {
      if (!last->is_number()) continue;
      writer.value(last->get<double>() * unit, "host=" + quoted(host.value("name", "")));
      break;
    }
  }
}

}  // namespace

std::string prometheus_text(const json& data) {
  Writer writer;
  writer.metric("running", "1 while the run trains");
  writer.value(data.value("running", false) ? 1 : 0);
  writer.metric("images_per_second", "samples that all workers train on in a second");
  writer.value(data.value("images_per_s", 0.0));
  if (const auto progress = data.find("progress"); progress != data.end()) {
    writer.metric("last_news_seconds", "when the run said something last, in seconds since 1970");
    writer.value(progress->value("time", 0.0));
    writer.metric("step", "steps done");
    writer.value(progress->value("step", 0.0));
    writer.metric("steps", "steps to do");
    writer.value(progress->value("steps", 0.0));
    writer.metric("epoch_loss", "mean loss of the current epoch so far");
    writer.value(progress->value("loss", 0.0));
  }
  if (const json epochs = data.value("epochs", json::array()); !epochs.empty()) {
    const json& last = epochs.back();
    writer.metric("epoch", "epochs done");
    writer.value(last.value("epoch", 0.0));
    writer.metric("loss", "mean loss of the last epoch");
    writer.value(last.value("train_loss", 0.0), "set=\"train\"");
    if (last.contains("test_loss")) writer.value(last.value("test_loss", 0.0), "set=\"test\"");
    for (const json& metric : data.value("metrics", json::array())) {
      const std::string name = metric.at("name");
      writer.metric(name, metric.value("title", name) + " of the last epoch");
      for (const std::string set : {"train", "test"}) {
        const std::string key = set + "_" + name;
        if (last.contains(key)) writer.value(last.value(key, 0.0), "set=\"" + set + "\"");
      }
    }
  }
  writer.metric("workers_lost", "workers that the run went on without");
  writer.value(static_cast<double>(data.value("lost", json::array()).size()));
  writer.metric("step_seconds", "mean seconds of a step, by what they went into");
  for (const char* list : {"ranks", "servers"}) {
    for (const json& rank : data.value(list, json::array())) {
      for (const std::string_view part : trace::kPartNames) {
        writer.value(rank.at("step").value(std::string(part), 0.0),
                     fmt::format("rank=\"{}\",host={},part=\"{}\"", rank.value("rank", 0),
                                 quoted(rank.value("host", "")), part));
      }
    }
  }
  if (const auto hosts = data.find("hosts"); hosts != data.end()) {
    write_curve(writer, hosts->at("busy"), "host_cpu_busy", "share of CPUs in use", 1);
    write_curve(writer, hosts->at("network"), "host_network_bytes_per_second", "in and out", 1e6);
    write_curve(writer, hosts->at("memory"), "host_memory_used_bytes", "memory in use", 1e9);
  }
  return writer.take();
}

}  // namespace syrtos::report
