#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "syrtos/data/dataset.h"
#include "syrtos/data/samples.h"
#include "syrtos/job/precision.h"
#include "syrtos/train/checkpoint/snapshot.h"
#include "syrtos/train/network/evaluate.h"

namespace syrtos::train {

/// How a trained network is run.
struct PredictorOptions {
  std::string data = {};  ///< As --data takes it; empty: what the network was trained on.
  job::Precision precision = {};
  int threads = 1;
  int64_t batch = 64;
  job::Views views = job::Views::none;  ///< Of each test sample.
};

/// A trained network, ready to run forward.
class Predictor {
 public:
  /// `network` is the one that the checkpoint refers to (describe()); its weights are read now.
  /// Throws RequestError when it is another one or does not fit in memory.
  Predictor(const nn::Network& network, CheckpointReader& checkpoint,
            const PredictorOptions& options, std::filesystem::path cache_home);

  /// Over the test data; `report`: with all details, see TestData.
  Evaluation evaluate_test(const std::function<bool()>& should_stop = {}, bool report = false);
  const data::Dataset& test_data();  ///< Opened now, if it was not yet.
  /// Over these samples, which have the network's size. Throws RequestError otherwise.
  Evaluation evaluate(const data::Dataset& data, const std::function<bool()>& should_stop = {},
                      bool report = false);
  /// What the network says of each of these samples (see answers()), row by row; empty when it was
  /// stopped. Throws as evaluate().
  std::vector<float> predict(const data::Dataset& data,
                             const std::function<bool()>& should_stop = {});
  /// Samples for predict(): a path as data::open_samples() takes it, "test" for the test data, or
  /// "test:INDEX" for one of its samples. Throws RequestError.
  data::NamedSamples open(const std::string& input);

  /// "test", or "validation" where test data is a share that was kept of the training data.
  const std::string& measured_word() const { return measured_word_; }
  /// What people should know about how samples are read, after the data was opened.
  std::vector<std::string> notes() const;

  const std::filesystem::path& checkpoint() const { return checkpoint_; }
  const NetworkDescription& description() const { return description_; }
  const job::Precision& precision() const { return precision_; }

 private:
  void require_fit(const data::Dataset& data) const;

  std::filesystem::path checkpoint_;
  std::filesystem::path cache_home_;
  NetworkDescription description_;
  job::Precision precision_;
  int threads_;
  std::unique_ptr<CompiledNetwork> network_;
  std::shared_ptr<const data::Dataset> test_;
  std::vector<job::View> views_;
  bool other_data_;  // than what it was trained on
  std::string measured_word_ = "test";
};

}  // namespace syrtos::train
