// Trains a network of its own on data of its own with two workers, through the library, and asks
// where the time went. Built as build/release/own_network; its argument is where the run goes.

#include <cstdio>
#include <exception>
#include <memory>

#include "syrtos/api/explain.h"
#include "syrtos/api/train.h"

using namespace syrtos;

/// Pictures of stripes, 12x12, upright or lying, that begin at different places.
class Stripes : public data::Dataset {
 public:
  explicit Stripes(int64_t size) {
    info_ = {.name = "stripes",
             .size = size,
             .dtype = DType::u8,
             .channels = 1,
             .height = 12,
             .width = 12,
             .classes = {"upright", "lying"}};
  }
  data::Target target(int64_t index) const override {
    return {.label = static_cast<int32_t>(index % 2)};
  }
  data::Sample read(int64_t index, data::Scratch& scratch) const override {
    scratch.values.resize(144);
    for (int64_t i = 0; i < 144; ++i) {
      const int64_t across = label(index) == 0 ? i % 12 : i / 12;
      scratch.values[static_cast<size_t>(i)] = (across + index / 2) % 4 < 2 ? 200 : 50;
    }
    return {scratch.values.data(), DType::u8, 1, 12, 12, target(index)};
  }
};

nn::Heads layers(nn::Builder& b, graph::ValueId x, const nn::ModelOptions& options) {
  x = b.relu(b.conv("conv", x, {.out = 8, .kernel = 3, .padding = 1}));
  x = b.flatten(b.max_pool(x));
  return {.logits = b.classifier("classes", b.relu(b.dense("hidden", x, 16)), options.classes)};
}

int main(int argc, char** argv) try {
  api::TrainRequest request;
  request.job = {
      .data = "stripes", .batch = 16, .epochs = 3, .run = argc > 1 ? argv[1] : "stripes"};
  request.job.workers = 2;
  request.own.network = nn::Network(
      {.name = "stripes-net", .channels = 1, .height = 12, .width = 12, .classes = 2}, layers);
  request.own.data = {std::make_shared<Stripes>(512), std::make_shared<Stripes>(128)};
  const api::Trained trained = api::train(request);
  const api::Explained why = api::explain(trained.run);
  std::printf("test accuracy %.3f after %lld steps; %s\n",
              trained.outcome.epochs.back().test_value("accuracy"),
              static_cast<long long>(trained.outcome.position.step), why.explanation.path.c_str());
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}
