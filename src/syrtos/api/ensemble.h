#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "syrtos/api/predict.h"
#include "syrtos/api/search.h"

namespace syrtos::api {

/// How members of an ensemble become one answer.
enum class Combine {
  mean,     ///< the mean of their probabilities
  vote,     ///< each has a vote for its class; the mean decides between equals
  weights,  ///< a weighted mean, whose weights were learnt
};
const char* to_string(Combine combine);
/// Throws RequestError.
Combine parse_combine(std::string_view name);

/// Several trained networks that answer together: ensemble.json of a directory.
struct Ensemble {
  std::vector<std::filesystem::path> members;  ///< Runs or checkpoints, below the directory.
  Combine combine = Combine::mean;
  std::vector<double> weights = {};  ///< Of the members, with a sum of 1; with `weights` alone.
};

bool is_ensemble(const std::filesystem::path& directory);
/// Members are whole paths then. Throws RequestError.
Ensemble read_ensemble(const std::filesystem::path& directory);
/// Throws RunError.
void write_ensemble(const std::filesystem::path& directory, const Ensemble& ensemble);

/// What a training that has ended has left: a run of several networks side by side, or one that
/// went through its schedule several times, becomes the ensemble of its members. Other runs stay
/// what they are. Throws RunError.
void make_ensemble(const std::filesystem::path& run);

/// Says how the members of an ensemble that is there become one answer; weights are learnt from the
/// job's training data now. Throws RequestError.
void set_combine(const std::filesystem::path& directory, Combine how, const job::JobRequest& job,
                 const job::Own& own, const Surroundings& surroundings);

/// Probabilities of several members, row by row, as one: [samples, classes].
std::vector<float> combine(const std::vector<std::vector<float>>& members, size_t classes,
                           Combine how, const std::vector<double>& weights);

/// Weights of a mean of probabilities under which these labels are most likely; of each member the
/// probability that it gave to each label.
std::vector<double> learn_weights(const std::vector<std::vector<double>>& of_labels);

/// What an ensemble comes to on the test data, and each of its members alone.
struct EnsembleEvaluation {
  struct Result {
    std::filesystem::path member = {};
    double loss = 0;
    run::Scores scores = {};
  };
  Result all;
  std::vector<Result> members;
  /// The share of samples that two members take for different classes, mean of all pairs; NaN where
  /// there are no classes.
  double disagreement = 0;
  int64_t samples = 0;
  double seconds = 0;
};

/// Trained networks, ready to answer together.
class EnsemblePredictor {
 public:
  /// As load(), of each member of the directory in `request.checkpoint`. Throws RequestError.
  EnsemblePredictor(const LoadRequest& request, const Surroundings& surroundings);

  EnsembleEvaluation evaluate_test(const std::function<bool()>& should_stop = {});
  /// As Predictor::predict().
  std::vector<float> predict(const data::Dataset& data,
                             const std::function<bool()>& should_stop = {});
  /// Learns the weights of its members from samples, and keeps them.
  void learn(const data::Dataset& data);

  const Ensemble& ensemble() const { return ensemble_; }
  train::Predictor& first() { return members_.front(); }

 private:
  Ensemble ensemble_;
  std::vector<train::Predictor> members_;
};

/// Trains the same job with so many seeds, as the trials of a search (api/search.h) that ends when
/// all of them have, and makes an ensemble of its directory. `request.plan.job` is the job.
Searched train_ensemble(SearchRequest request, int64_t members, Combine how,
                        const std::optional<SlotPrograms>& programs,
                        const Surroundings& surroundings, search::Observer& observer,
                        const OnSearch& on_search = {});

}  // namespace syrtos::api
