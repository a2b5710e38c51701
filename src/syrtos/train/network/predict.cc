#include "syrtos/train/network/predict.h"

#include <algorithm>
#include <charconv>

#include "syrtos/base/error.h"
#include "syrtos/base/parallel.h"
#include "syrtos/data/files/file_bytes.h"
#include "syrtos/data/open.h"
#include "syrtos/data/pictures/picture.h"
#include "syrtos/data/sets/fit.h"
#include "syrtos/data/sets/resized.h"
#include "syrtos/job/resolve.h"
#include "syrtos/train/network/outputs.h"

namespace syrtos::train {

namespace {
constexpr std::string_view kTestPrefix = "test:";
}  // namespace

Predictor::Predictor(const nn::Network& network, CheckpointReader& checkpoint,
                     const PredictorOptions& options, std::filesystem::path cache_home)
    : checkpoint_(checkpoint.file()),
      cache_home_(std::move(cache_home)),
      description_(describe(checkpoint)),
      precision_(options.precision),
      threads_(options.threads),
      views_(job::views_of(options.views)) {
  if (!options.data.empty()) description_.data = options.data;
  const ThreadScope threads(threads_);
  description_.options.batch = options.batch;
  description_.options.dtype = precision_.dtype;
  network_ = std::make_unique<CompiledNetwork>(network, description_.options,
                                               CompiledNetwork::Use::evaluation);
  require_memory(network_->bytes(),
                 fmt::format("{} with a batch of {}", network.name(), options.batch));
  load_parameters(checkpoint, network_->parameters());
}

const data::Dataset& Predictor::test_data() {
  if (test_) return *test_;
  const nn::ModelOptions& options = description_.options;
  const Shape image = {options.channels, options.height, options.width};
  if (description_.data == "random") {
    test_ = job::random_splits(description_.random_samples, image, options.classes, options.task,
                               static_cast<uint64_t>(description_.seed))
                .test;
    return *test_;
  }
  test_ =
      data::fit(data::open(description_.data, cache_home_, description_.open).test,
                {.height = options.height, .width = options.width, .cache = data::CacheMode::none});
  require_fit(*test_);
  return *test_;
}

void Predictor::require_fit(const data::Dataset& data) const {
  const nn::ModelOptions& options = description_.options;
  const Shape image = {options.channels, options.height, options.width};
  const data::DatasetInfo& info = data.info();
  const bool of_classes = options.task.has_classes();
  const auto classes = static_cast<int64_t>(info.classes.size());
  const bool unknown = classes == 0 && info.targets.values == 0;  // to be predicted only
  const bool fits = of_classes ? classes <= options.classes && info.targets.values == 0
                               : info.targets.values == options.classes;
  if (info.shape() == image && (unknown || fits)) return;
  const char* word = of_classes ? "classes" : options.task.has_labels() ? "labels" : "values";
  fail_request("{} was trained on images of {} with {} {}, {} has {} with {} {}",
               checkpoint_.string(), to_string(image), options.classes, word, info.name,
               to_string(info.shape()), classes > 0 ? classes : info.targets.values,
               classes > 0 ? "classes" : "values");
}

Evaluation Predictor::evaluate_test(const std::function<bool()>& should_stop, bool report) {
  return evaluate(test_data(), should_stop, report);
}

Evaluation Predictor::evaluate(const data::Dataset& data, const std::function<bool()>& should_stop,
                               bool report) {
  require_fit(data);
  const ThreadScope threads(threads_);
  const data::Transform transform(data.info(), data.info().shape(), description_.normalization, {},
                                  precision_.dtype);
  const TestData test{.data = data, .transform = transform, .views = views_, .report = report};
  return train::evaluate(network_->evaluation(), test, should_stop);
}

std::vector<float> Predictor::predict(const data::Dataset& data,
                                      const std::function<bool()>& should_stop) {
  require_fit(data);
  const ThreadScope threads(threads_);
  const data::Transform transform(data.info(), data.info().shape(), description_.normalization, {},
                                  precision_.dtype);
  NetworkProgram& program = network_->evaluation();
  std::vector<float> values =
      logits_of(program, {.data = data, .transform = transform, .views = views_}, should_stop);
  const auto outputs = static_cast<size_t>(program.outputs());
  for (size_t at = 0; at < values.size(); at += outputs) {
    const std::span<float> row(values.data() + at, outputs);
    const std::vector<double> of_row = answers(program.task(), row);
    std::copy(of_row.begin(), of_row.end(), row.begin());
  }
  return values;
}

data::Sample Predictor::test_sample(const std::string& image, std::string_view text) {
  int64_t index = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (error != std::errc() || end != text.data() + text.size() || index < 0) {
    fail_request("{}: expected test:INDEX with an index from 0 on, found '{}'", image, text);
  }
  const data::Dataset& data = test_data();
  if (index >= data.size()) {
    fail_request("{}: expected test:INDEX with an index from 0 to {}, found '{}'", image,
                 data.size() - 1, text);
  }
  return data.read(index, scratch_);
}

void Predictor::put(const data::Sample& sample) {
  const nn::ModelOptions& options = description_.options;
  const Shape image = {options.channels, options.height, options.width};
  const data::DatasetInfo like{
      .channels = sample.channels, .height = sample.height, .width = sample.width};
  const data::Transform transform(like, image, description_.normalization, {}, precision_.dtype);
  transform.apply(sample, data::Placement{}, network_->evaluation().use_own_images(), scratch_);
}

// A picture of any size and colour, brought to the network's as the training data was.
data::Sample Predictor::picture_sample(const std::string& file) {
  const nn::ModelOptions& options = description_.options;
  if (options.channels != 1 && options.channels != 3) {
    fail_request("{}: {} takes {} channels, pictures have 1 or 3", file,
                 to_string(description_.network), options.channels);
  }
  data::Sample sample{.channels = options.channels};
  data::read_bytes(file, scratch_.file);
  data::decode_into(scratch_.file, file, static_cast<int>(options.channels), scratch_.values,
                    sample.height, sample.width);
  sample.values = scratch_.values.data();
  if (sample.height == options.height && sample.width == options.width) return sample;
  scratch_.scaled.resize(static_cast<size_t>(options.channels * options.height * options.width));
  data::resize(sample.bytes(), sample.height, sample.width, sample.channels,
               data::fit_window(description_.fit, sample.height, sample.width, options.height,
                                options.width),
               scratch_.scaled.data(), options.height, options.width, scratch_.resize);
  sample.values = scratch_.scaled.data();
  sample.height = options.height;
  sample.width = options.width;
  return sample;
}

std::vector<double> Predictor::predict(const std::string& image) {
  const ThreadScope threads(threads_);
  if (image.starts_with(kTestPrefix)) {
    put(test_sample(image, std::string_view(image).substr(kTestPrefix.size())));
  } else {
    put(picture_sample(image));
  }
  NetworkProgram& program = network_->evaluation();
  program.program().run({});
  return answers(program.task(), program.logits().first(static_cast<size_t>(program.outputs())));
}

}  // namespace syrtos::train
