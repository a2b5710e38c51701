#pragma once

#include <optional>
#include <string>
#include <vector>

#include "arrays.h"
#include "request.h"
#include "syrtos/api/explain.h"
#include "syrtos/api/plan.h"
#include "syrtos/api/plan_wishes.h"
#include "syrtos/api/predict.h"
#include "syrtos/train/network/predict.h"

// Plans, explanations and trained networks, as texts and JSON for Python.

namespace syrtos::python {

/// JSON of any library value, as text.
std::string network_json(const nn::Network& network, const std::vector<int64_t>& input,
                         int64_t classes);
std::string network_table(const nn::Network& network, const std::vector<int64_t>& input,
                          int64_t classes);
/// Of every network of the zoo.
std::string networks_json();
/// Of every option that a training has.
std::string options_json();

/// Where the time of a run went.
class PyExplained {
 public:
  explicit PyExplained(const std::string& run);
  std::string text(int columns, bool unicode, const std::string& by, int64_t top) const;
  std::string json() const;
  std::string html() const;

 private:
  api::Explained explained_;
};

/// A plan, and the words with which it is followed.
class PyPlan {
 public:
  PyPlan(const Keywords& keywords, const api::PlanWishes& wishes, const nn::Network* network,
         const Data* train, const Data* test);
  std::string text(int64_t top) const;
  std::string json() const;
  std::string svg() const;
  /// Keywords of syrtos.train() with their values as texts.
  Keywords best() const;

 private:
  Keywords way_of(const planner::Prediction& way) const;

  job::JobRequest job_;
  api::Planned planned_;
};

/// Milliseconds of a training step of a network, as JSON.

/// Metrics of each epoch, from the run's directory, as a JSON array.
std::string metrics_json(const std::string& run);
/// What was asked for, and what the directory is, as JSON.
std::string about_json(const std::string& run);

/// Writes a trained network to a file for programs of others, and says what, as JSON.
std::string export_json(const std::string& checkpoint, const nn::Network* network,
                        const std::string& to);

/// How a trained network is loaded.
struct LoadCall {
  std::string checkpoint = {};
  const nn::Network* network = nullptr;
  std::string data = {};
  std::string precision = "auto";
  int64_t threads = 0;
  int64_t batch = 64;
  std::string views = "none";
};

/// A trained network.
class PyPredictor {
 public:
  explicit PyPredictor(const LoadCall& call);
  nanobind::ndarray<nanobind::numpy, float> predict(const Data& samples);
  nanobind::ndarray<nanobind::numpy, float> predict_input(const std::string& input);
  /// As JSON; without data over what it was trained with.
  std::string evaluate(const Data* data);
  /// Classes, image, network: as JSON.
  std::string about() const;

 private:
  std::unique_ptr<train::Predictor> predictor_;
};

}  // namespace syrtos::python
