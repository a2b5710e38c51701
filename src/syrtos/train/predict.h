#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "syrtos/data/dataset.h"
#include "syrtos/train/evaluate.h"
#include "syrtos/train/precision.h"
#include "syrtos/train/snapshot.h"

namespace syrtos::train {

/// What evaluation and prediction have in common: a network from a checkpoint.
struct LoadOptions {
  std::filesystem::path checkpoint = {};  ///< a file or a run directory
  std::string data = {};                  ///< empty: what the network was trained on
  std::string precision = "auto";
  int64_t threads = 0;
  int64_t batch = 64;
};

/// A trained network, ready to run forward.
class Predictor {
 public:
  Predictor(const LoadOptions& options, const CpuInfo& cpu, std::filesystem::path data_home);

  /// Over the test data.
  Evaluation evaluate_test(const std::function<bool()>& should_stop = {});
  /// Of one image: a PGM or PPM file, or "mnist:INDEX" for an image of MNIST's test set.
  std::vector<double> predict(const std::string& image);

  const std::filesystem::path& checkpoint() const { return checkpoint_; }
  const NetworkDescription& description() const { return description_; }
  const Precision& precision() const { return precision_; }

 private:
  const data::Dataset& test_data();
  void fill_from_file(const std::string& file);

  std::filesystem::path checkpoint_;
  std::filesystem::path data_home_;
  NetworkDescription description_;
  Precision precision_;
  std::unique_ptr<Network> network_;
  std::unique_ptr<data::Dataset> test_;
};

}  // namespace syrtos::train
