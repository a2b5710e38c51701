#include "syrtos/strategy/compute_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "syrtos/base/error.h"
#include "syrtos/base/files.h"
#include "syrtos/base/memory.h"

namespace syrtos::strategy {

using nlohmann::json;
using Pass = ComputeTimes::Pass;

namespace {

constexpr double kForwardShare = 1.0 / 3;

/// On the line through two passes.
double between(double a, double b, double share) { return std::max(0.0, a + (b - a) * share); }

std::vector<double> between(const std::vector<double>& a, const std::vector<double>& b,
                            double share) {
  std::vector<double> result(std::min(a.size(), b.size()));
  for (size_t i = 0; i < result.size(); ++i) result[i] = between(a[i], b[i], share);
  return result;
}

Pass on_line(const Pass& a, const Pass& b, int64_t batch) {
  const double share =
      static_cast<double>(batch - a.batch) / static_cast<double>(b.batch - a.batch);
  Pass pass;
  pass.batch = batch;
  // Below the smallest measured batch a pass takes no less than its part of it.
  const double least = a.seconds * std::min(1.0, static_cast<double>(batch) / a.batch);
  pass.seconds = std::max(between(a.seconds, b.seconds, share), least);
  pass.needed = between(a.needed, b.needed, share);
  pass.ready = between(a.ready, b.ready, share);
  pass.items = between(a.items, b.items, share);
  pass.forward = between(a.forward, b.forward, share);
  pass.backward = between(a.backward, b.backward, share);
  pass.load_s = between(a.load_s, b.load_s, share);
  pass.memory = between(a.memory, b.memory, share);
  const double end =
      pass.ready.empty() ? 0 : *std::max_element(pass.ready.begin(), pass.ready.end());
  if (end > 0 && end < pass.seconds * 0.5) {  // the lines of moments ran below 0
    for (double& at : pass.needed) at *= pass.seconds / end;
    for (double& at : pass.ready) at *= pass.seconds / end;
  }
  return pass;
}

/// With one measured batch size computing is taken for proportional to it.
Pass scaled(const Pass& known, int64_t batch) {
  const double factor = static_cast<double>(batch) / static_cast<double>(known.batch);
  Pass pass = known;
  pass.batch = batch;
  for (std::vector<double>* times :
       {&pass.needed, &pass.ready, &pass.items, &pass.forward, &pass.backward}) {
    for (double& seconds : *times) seconds *= factor;
  }
  pass.seconds *= factor;
  pass.load_s *= factor;
  return pass;
}

/// Layers of equal times: what is assumed of a network that was not measured.
void assume_moments(Pass& pass, size_t tensors) {
  const double forward = kForwardShare * pass.seconds;
  const double count = static_cast<double>(tensors);
  for (size_t i = 0; i < tensors; ++i) {
    const double from_end = static_cast<double>(i);
    pass.needed.push_back(forward * (count - 1 - from_end) / count);
    pass.ready.push_back(forward + (pass.seconds - forward) * (from_end + 1) / count);
  }
}

class Reader {
 public:
  explicit Reader(std::string file) : file_(std::move(file)) {}

  ComputeTimes read(const json& text) const {
    ComputeTimes times;
    times.network = text.at("network");
    times.precision = text.value("precision", "");
    times.threads = text.value("threads", 0);
    times.update_s = seconds(text.value("update", 0.0), "update");
    times.jitter = text.value("jitter", 0.0);
    expect(times.jitter >= 0 && times.jitter < 1, "jitter", "0 to below 1", times.jitter);
    if (text.contains("tensors")) {
      times.tensors = text.at("tensors").get<std::vector<size_t>>();
    } else {
      times.tensors.push_back(text.at("parameters").get<size_t>());
    }
    expect(times.elements() >= 1 && times.elements() < (size_t{1} << 40), "tensors",
           "1 parameter or more", static_cast<double>(times.elements()));
    times.names = text.value("names", std::vector<std::string>());
    times.layers = text.value("layers", std::vector<std::string>());
    expect(times.names.empty() || times.names.size() == times.tensors.size(), "names",
           "one for each tensor", static_cast<double>(times.names.size()));
    read_dense(text, times);
    for (const json& pass : text.at("passes")) times.passes.push_back(read_pass(pass, times));
    expect(!times.passes.empty(), "passes", "one or more", 0);
    std::sort(times.passes.begin(), times.passes.end(),
              [](const Pass& a, const Pass& b) { return a.batch < b.batch; });
    for (size_t i = 1; i < times.passes.size(); ++i) {
      expect(times.passes[i].batch != times.passes[i - 1].batch, "passes", "each batch size once",
             static_cast<double>(times.passes[i].batch));
    }
    return times;
  }

 private:
  void read_dense(const json& text, ComputeTimes& times) const {
    for (const json& layer : text.value("dense", json::array())) {
      ComputeTimes::Dense& dense = times.dense.emplace_back();
      dense.tensor = layer.at("tensor");
      dense.shape = {layer.at("inputs"), layer.at("outputs"), layer.value("element_bytes", 4U)};
      expect(dense.tensor < times.tensors.size(), "dense", "one of the tensors",
             static_cast<double>(dense.tensor));
      if (layer.contains("bias")) {
        dense.bias = layer.at("bias").get<size_t>();
        expect(*dense.bias < times.tensors.size(), "dense", "one of the tensors as bias",
               static_cast<double>(*dense.bias));
      }
      const size_t elements = times.tensors[dense.tensor];
      const DenseShape& shape = dense.shape;
      expect(shape.outputs >= 1 && shape.inputs >= 1 && elements / shape.outputs == shape.inputs &&
                 elements % shape.outputs == 0,
             "dense", "inputs times outputs as many as its tensor has elements",
             static_cast<double>(elements));
      expect(shape.element_bytes == 2 || shape.element_bytes == 4, "dense", "element_bytes 2 or 4",
             static_cast<double>(shape.element_bytes));
    }
  }

  Pass read_pass(const json& text, const ComputeTimes& times) const {
    Pass pass;
    pass.batch = text.at("batch");
    expect(pass.batch >= 1, "batch", "1 or more", static_cast<double>(pass.batch));
    pass.seconds = seconds(text.at("seconds"), "seconds");
    expect(pass.seconds > 0, "seconds", "more than 0", pass.seconds);
    pass.load_s = seconds(text.value("load", 0.0), "load");
    pass.memory = text.value("memory", 0.0);
    pass.items = list(text, "items");
    pass.needed = list(text, "needed");
    pass.ready = list(text, "ready");
    pass.forward = list(text, "forward");
    pass.backward = list(text, "backward");
    for (const auto* layers : {&pass.forward, &pass.backward}) {
      expect(layers->empty() || layers->size() == times.layers.size(), "forward and backward",
             "seconds of each layer", static_cast<double>(layers->size()));
    }
    if (pass.ready.empty() && pass.needed.empty()) assume_moments(pass, times.tensors.size());
    for (const auto* moments : {&pass.needed, &pass.ready}) {
      expect(moments->size() == times.tensors.size(), "needed and ready",
             "a moment for each tensor", static_cast<double>(moments->size()));
    }
    return pass;
  }

  std::vector<double> list(const json& text, const char* key) const {
    if (!text.contains(key)) return {};
    auto values = text.at(key).get<std::vector<double>>();
    for (const double value : values) seconds(value, key);
    return values;
  }

  double seconds(double value, const char* key) const {
    expect(std::isfinite(value) && value >= 0 && value <= 36000, key, "seconds", value);
    return value;
  }

  void expect(bool good, const char* key, const char* expected, double found) const {
    if (!good) fail_request("{}: {}: expected {}, found {}", file_, key, expected, found);
  }

  std::string file_;
};

}  // namespace

size_t ComputeTimes::elements() const {
  return std::accumulate(tensors.begin(), tensors.end(), size_t{0});
}

Pass ComputeTimes::pass_of(int64_t batch) const {
  SYRTOS_CHECK(!passes.empty());
  const auto exact = std::find_if(passes.begin(), passes.end(),
                                  [&](const Pass& pass) { return pass.batch == batch; });
  if (exact != passes.end()) return *exact;
  if (passes.size() == 1) return scaled(passes[0], batch);
  size_t upper = 1;
  while (upper + 1 < passes.size() && passes[upper].batch < batch) ++upper;
  return on_line(passes[upper - 1], passes[upper], batch);
}

Pass ComputeTimes::pass_of(int64_t batch, int64_t parts) const {
  if (parts <= 1) return pass_of(batch);
  Pass pass = pass_of((batch + parts - 1) / parts);
  const double before = pass.seconds * static_cast<double>(parts - 1);
  pass.batch = batch;
  pass.seconds += before;
  pass.load_s = pass_of(batch).load_s;
  for (double& ready : pass.ready) ready += before;
  for (std::vector<double>* times : {&pass.items, &pass.forward, &pass.backward}) times->clear();
  // The sums of gradients.
  if (pass.memory > 0) pass.memory += static_cast<double>(elements() * sizeof(float));
  return pass;
}

std::string doubt_of(const ComputeTimes& times) {
  constexpr double kSteady = 0.2;
  constexpr double kCheaper = 0.8;  // a sample of a smaller batch may be, by caches
  for (const Pass& large : times.passes) {
    for (const Pass& small : times.passes) {
      if (small.batch >= large.batch) continue;
      const double each = small.seconds / static_cast<double>(small.batch);
      const double each_of_large = large.seconds / static_cast<double>(large.batch);
      if (each >= kCheaper * each_of_large) continue;
      return fmt::format(
          "The measured computing times do not fit together: {:.3g} ms for a batch of {}, but "
          "{:.3g} ms "
          "for {}; other programs may have run meanwhile: measure again on an idle machine",
          large.seconds * 1e3, large.batch, small.seconds * 1e3, small.batch);
    }
  }
  if (times.jitter <= kSteady) return "";
  return fmt::format(
      "Computing was measured on a busy machine: steps varied by {:.0f} %; measure again on an "
      "idle "
      "one for narrower error bars",
      100 * times.jitter);
}

ComputeTimes read_compute_times(const std::filesystem::path& file) {
  std::ifstream stream(file);
  if (!stream) {
    fail_request("cannot read {}: make it with 'syrtos probe compute --network NAME --times {}'",
                 file.string(), file.string());
  }
  try {
    return Reader(file.string()).read(json::parse(stream));
  } catch (const json::exception& error) {
    fail_request("{} is not a file of computing times: {}", file.string(), error.what());
  }
}

void write_compute_times(const std::filesystem::path& file, const ComputeTimes& times) {
  json passes = json::array();
  for (const Pass& pass : times.passes) {
    passes.push_back({{"batch", pass.batch},
                      {"seconds", pass.seconds},
                      {"load", pass.load_s},
                      {"memory", pass.memory},
                      {"needed", pass.needed},
                      {"ready", pass.ready},
                      {"items", pass.items},
                      {"forward", pass.forward},
                      {"backward", pass.backward}});
  }
  json dense = json::array();
  for (const ComputeTimes::Dense& layer : times.dense) {
    dense.push_back({{"tensor", layer.tensor},
                     {"inputs", layer.shape.inputs},
                     {"outputs", layer.shape.outputs},
                     {"element_bytes", layer.shape.element_bytes}});
    if (layer.bias) dense.back()["bias"] = *layer.bias;
  }
  const json text = {{"network", times.network}, {"precision", times.precision},
                     {"threads", times.threads}, {"tensors", times.tensors},
                     {"names", times.names},     {"layers", times.layers},
                     {"dense", dense},           {"update", times.update_s},
                     {"jitter", times.jitter},   {"passes", passes}};
  AtomicFile out(file);
  out.write(text.dump() + "\n");
  out.commit();
}

std::vector<optim::Segment> segments_of(const ComputeTimes& times) {
  std::vector<optim::Segment> segments;
  size_t offset = 0;
  for (const size_t elements : times.tensors) {
    segments.push_back({offset, elements, 1, 1});
    offset += (elements + kParameterLine - 1) / kParameterLine * kParameterLine;
  }
  return segments;
}

/// Forward both exchanges are taken to be where the weights are first read, backward where their
/// gradient is final: what is computed in between waits for both all the same.
std::vector<MoveAt> column_moves(const ComputeTimes& times, const Pass& pass, const Layout& layout,
                                 const std::vector<size_t>& samples, int worker) {
  std::vector<MoveAt> moves;
  for (const ComputeTimes::Dense& dense : times.dense) {
    const bool is_divided = std::any_of(
        layout.divided.begin(), layout.divided.end(), [&](const DividedTensor& divided) {
          return static_cast<size_t>(divided.tensor) == dense.tensor;
        });
    if (!is_divided) continue;
    const ColumnRounds rounds = column_rounds(dense.shape, samples, worker);
    const double ready = std::min(pass.ready[dense.tensor], pass.seconds);
    for (const collective::Round& round : {rounds.gather_inputs, rounds.bring_outputs}) {
      moves.push_back({pass.needed[dense.tensor], {nullptr, round}});
    }
    for (const collective::Round& round : {rounds.bring_gradients, rounds.scatter_gradients}) {
      moves.push_back({ready, {nullptr, round}});
    }
  }
  return moves;
}

std::vector<Stage> stages_of(const Pass& pass, const Layout& layout,
                             std::span<const MoveAt> moves) {
  struct Moments {
    double needed = std::numeric_limits<double>::infinity();
    double ready = 0;
  };
  std::vector<Moments> buckets;
  std::vector<double> cuts{0, pass.seconds};
  for (const Bucket& bucket : layout.buckets) {
    Moments& moments = buckets.emplace_back();
    for (auto tensor = static_cast<size_t>(bucket.first_tensor);
         tensor < static_cast<size_t>(bucket.last_tensor); ++tensor) {
      moments.needed = std::min(moments.needed, pass.needed[tensor]);
      moments.ready = std::max(moments.ready, std::min(pass.ready[tensor], pass.seconds));
    }
    if (moments.ready <= 0) moments.ready = pass.seconds;
    if (moments.needed >= moments.ready) moments.needed = 0;
    cuts.push_back(moments.needed);
    cuts.push_back(moments.ready);
  }
  for (const MoveAt& at : moves) cuts.push_back(at.moment);
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  std::vector<Stage> stages;
  const auto add_moves = [&](double moment, Stage& stage) {
    for (const MoveAt& at : moves) {
      if (at.moment == moment) stage.blocks.push_back(at.move);
    }
  };
  Stage first;  // of no time, for what crosses before anything is computed
  add_moves(0, first);
  if (!first.blocks.empty()) stages.push_back(std::move(first));
  for (size_t i = 0; i + 1 < cuts.size(); ++i) {
    Stage& stage = stages.emplace_back();
    stage.seconds = cuts[i + 1] - cuts[i];
    for (size_t b = 0; b < buckets.size(); ++b) {
      if (buckets[b].needed == cuts[i]) stage.needs.push_back(static_cast<int>(b));
      if (buckets[b].ready == cuts[i + 1]) stage.finishes.push_back(static_cast<int>(b));
    }
    add_moves(cuts[i + 1], stage);
  }
  return stages;
}

}  // namespace syrtos::strategy
