#include "syrtos/train/network/predict.h"

#include <algorithm>
#include <charconv>

#include "syrtos/base/error.h"
#include "syrtos/base/parallel.h"
#include "syrtos/data/open.h"
#include "syrtos/data/sets/fit.h"
#include "syrtos/data/sets/split.h"
#include "syrtos/job/resolve.h"
#include "syrtos/train/network/outputs.h"

namespace syrtos::train {

namespace {
constexpr std::string_view kTest = "test";

/// Of "test:7".
int64_t index_of(const std::string& input, int64_t size) {
  const std::string_view text = std::string_view(input).substr(kTest.size());
  int64_t index = -1;
  const char* const end = text.data() + text.size();
  const auto [last, error] =
      std::from_chars(text.data() + std::min<size_t>(1, text.size()), end, index);
  if (text.starts_with(':') && error == std::errc() && last == end && index >= 0 && index < size) {
    return index;
  }
  fail_request("{}: expected a file or folder, test, or test:INDEX with an index from 0 to {}",
               input, size - 1);
}

}  // namespace

Predictor::Predictor(const nn::Network& network, CheckpointReader& checkpoint,
                     const PredictorOptions& options, std::filesystem::path cache_home)
    : checkpoint_(checkpoint.file()),
      cache_home_(std::move(cache_home)),
      description_(describe(checkpoint)),
      precision_(options.precision),
      threads_(options.threads),
      views_(job::views_of(options.views)),
      other_data_(!options.data.empty()) {
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
    test_ =
        job::random_splits(network_->network(), description_.random_samples, image, options.classes,
                           options.task, static_cast<uint64_t>(description_.seed))
            .test;
    return *test_;
  }
  data::Splits splits = data::open(description_.data, cache_home_, description_.open);
  // With test data of its own, what is kept for validation is a third part.
  if (description_.open.validation > 0 && !splits.validation) measured_word_ = "validation";
  test_ =
      data::fit(std::move(splits.test),
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

std::vector<std::string> Predictor::notes() const {
  std::vector<std::string> notes;
  if (test_ && other_data_) notes = test_->info().notes;
  if (views_.size() > 1 && description_.options.height == 1) {
    notes.emplace_back(
        "--views flip turns signals around, the last value first; of a table that mixes columns");
  }
  return notes;
}

Evaluation Predictor::evaluate_test(const std::function<bool()>& should_stop, bool report) {
  const data::Dataset& data = test_data();
  Evaluation result = evaluate(data, should_stop, report);
  result.details.set = measured_word_;
  return result;
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

data::NamedSamples Predictor::open(const std::string& input) {
  const nn::ModelOptions& options = description_.options;
  if (!input.starts_with(kTest) || std::filesystem::exists(input)) {
    return data::open_samples(input, {.image = {options.channels, options.height, options.width},
                                      .fit = description_.fit,
                                      .label_column = description_.open.label_column,
                                      .columns = description_.open.trained.columns});
  }
  const data::Dataset& all = test_data();
  data::NamedSamples samples;
  std::vector<int64_t> indices;
  if (input == kTest) {
    for (int64_t i = 0; i < all.size(); ++i) indices.push_back(i);
  } else {
    indices.push_back(index_of(input, all.size()));
  }
  for (const int64_t index : indices) samples.names.push_back(fmt::format("test:{}", index));
  samples.data = std::make_shared<data::Subset>(test_, std::move(indices));
  return samples;
}

}  // namespace syrtos::train
