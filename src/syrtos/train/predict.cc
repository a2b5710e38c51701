#include "syrtos/train/predict.h"

#include <charconv>

#include "syrtos/base/error.h"
#include "syrtos/base/parallel.h"
#include "syrtos/data/mnist.h"
#include "syrtos/data/pnm.h"
#include "syrtos/data/random_data.h"
#include "syrtos/train/resolve.h"
#include "syrtos/train/run_directory.h"

namespace syrtos::train {

namespace {
constexpr std::string_view kMnistPrefix = "mnist:";
}  // namespace

Predictor::Predictor(const LoadOptions& options, const CpuInfo& cpu,
                     std::filesystem::path data_home)
    : checkpoint_(find_checkpoint(options.checkpoint)), data_home_(std::move(data_home)) {
  if (options.batch < 1) fail_request("--batch: expected 1 or more, found {}", options.batch);
  if (options.threads < 0 || options.threads > 1024) {
    fail_request("--threads: expected 0 (all cores) to 1024, found {}", options.threads);
  }
  CheckpointReader reader(checkpoint_);
  description_ = describe(reader);
  if (!options.data.empty()) description_.data = options.data;
  precision_ = choose_precision(options.precision, cpu);
  set_thread_count(options.threads > 0 ? static_cast<int>(options.threads) : cpu.cores);
  description_.options.batch = options.batch;
  description_.options.dtype = precision_.dtype;
  network_ = std::make_unique<Network>(description_.network, description_.options,
                                       Network::Use::evaluation);
  require_memory(network_->bytes(),
                 fmt::format("{} with a batch of {}", description_.network, options.batch));
  load_parameters(reader, network_->parameters());
}

const data::Dataset& Predictor::test_data() {
  if (test_) return *test_;
  const nn::ModelOptions& options = description_.options;
  const Shape image = {options.channels, options.height, options.width};
  if (description_.data == "random") {
    test_ = std::make_unique<data::RandomDataset>(
        random_test_samples(description_.random_samples), image, options.classes,
        random_test_seed(static_cast<uint64_t>(description_.seed)));
    return *test_;
  }
  const bool given = description_.data != "mnist";
  test_ = data::open_mnist_test(
      given ? std::optional<std::filesystem::path>(description_.data) : std::nullopt, data_home_);
  if (!(test_->image_shape() == image) || test_->classes() > options.classes) {
    fail_request("{} was trained on images of {} in {} classes, {} has {} in {}",
                 checkpoint_.string(), to_string(image), options.classes, description_.data,
                 to_string(test_->image_shape()), test_->classes());
  }
  return *test_;
}

Evaluation Predictor::evaluate_test(const std::function<bool()>& should_stop) {
  return evaluate(network_->evaluation(), test_data(), should_stop);
}

void Predictor::fill_from_file(const std::string& file) {
  const data::Picture picture = data::read_pnm(file);
  const nn::ModelOptions& options = description_.options;
  if (picture.channels != options.channels || picture.height != options.height ||
      picture.width != options.width) {
    fail_request(
        "{}: {} takes images of {}x{} with {} channels, found {}x{} with {}: scale it first", file,
        description_.network, options.height, options.width, options.channels, picture.height,
        picture.width, picture.channels);
  }
  const data::BatchView inputs = network_->evaluation().inputs();
  for (size_t i = 0; i < picture.pixels.size(); ++i) {
    const float value = (static_cast<float>(picture.pixels[i]) / 255.0F - data::Mnist::kMean) /
                        data::Mnist::kDeviation;
    if (inputs.dtype == DType::bf16) {
      static_cast<BFloat16*>(inputs.images)[i] = BFloat16(value);
    } else {
      static_cast<float*>(inputs.images)[i] = value;
    }
  }
}

std::vector<double> Predictor::predict(const std::string& image) {
  NetworkProgram& program = network_->evaluation();
  const data::BatchView inputs = program.inputs();
  if (image.starts_with(kMnistPrefix)) {
    const std::string_view text = std::string_view(image).substr(kMnistPrefix.size());
    int64_t index = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
    if (error != std::errc() || end != text.data() + text.size() || index < 0) {
      fail_request("{}: expected mnist:INDEX with an index from 0 on, found '{}'", image, text);
    }
    if (description_.data == "random") description_.data = "mnist";
    const data::Dataset& data = test_data();
    if (index >= data.size()) {
      fail_request("{}: expected mnist:INDEX with an index from 0 to {}, found '{}'", image,
                   data.size() - 1, text);
    }
    const std::vector<int64_t> indices = {index};
    data.fill(indices, {inputs.images, inputs.dtype, inputs.labels.first(1)});
  } else {
    fill_from_file(image);
  }
  program.program().run({});
  return probabilities(program.logits().first(static_cast<size_t>(program.classes())));
}

}  // namespace syrtos::train
