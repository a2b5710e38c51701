#include "syrtos/api/ensemble.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "syrtos/base/clock.h"
#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/nn/side_by_side.h"
#include "syrtos/nn/zoo/zoo.h"
#include "syrtos/run/directory.h"
#include "syrtos/run/text_file.h"
#include "syrtos/train/checkpoint/members.h"
#include "syrtos/train/checkpoint/snapshot.h"
#include "syrtos/train/network/score_sums.h"

namespace syrtos::api {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr const char* kFile = "ensemble.json";

size_t best_of(std::span<const float> row) {
  return static_cast<size_t>(std::max_element(row.begin(), row.end()) - row.begin());
}

std::span<const float> row_of(const std::vector<float>& rows, size_t sample, size_t classes) {
  return std::span<const float>(rows).subspan(sample * classes, classes);
}

EnsembleEvaluation::Result result_of(const std::vector<float>& rows, const data::Dataset& data,
                                     const nn::Task& task) {
  const auto samples = static_cast<size_t>(data.size());
  const size_t width = rows.size() / samples;
  train::ScoreSums sums(task, static_cast<int64_t>(width));
  for (size_t n = 0; n < samples; ++n) {
    sums.add(train::outputs_of(task, row_of(rows, n, width)), data.target(static_cast<int64_t>(n)));
  }
  return {.member = {}, .loss = sums.loss(), .scores = sums.scores()};
}

/// Votes and learnt weights are about classes.
void check_combine(Combine how, const nn::Task& task) {
  if (how == Combine::mean || task.has_classes()) return;
  fail_request("--combine {}: it is for classes, found --loss {}: use mean", to_string(how),
               nn::loss_name(task));
}

double disagreement_of(const std::vector<std::vector<float>>& members, size_t classes) {
  double sum = 0;
  double pairs = 0;
  for (size_t a = 0; a < members.size(); ++a) {
    for (size_t b = a + 1; b < members.size(); ++b, ++pairs) {
      const size_t samples = members[a].size() / classes;
      size_t different = 0;
      for (size_t n = 0; n < samples; ++n) {
        different +=
            best_of(row_of(members[a], n, classes)) != best_of(row_of(members[b], n, classes));
      }
      sum += static_cast<double>(different) / static_cast<double>(samples);
    }
  }
  return pairs > 0 ? sum / pairs : 0;
}

}  // namespace

const char* to_string(Combine combine) {
  return combine == Combine::mean ? "mean" : combine == Combine::vote ? "vote" : "weights";
}

Combine parse_combine(std::string_view name) {
  for (const Combine one : {Combine::mean, Combine::vote, Combine::weights}) {
    if (name == to_string(one)) return one;
  }
  fail_request("--combine: expected mean, vote or weights, found '{}'{}", name,
               suggestion(name, {"mean", "vote", "weights"}));
}

bool is_ensemble(const fs::path& directory) {
  std::error_code error;
  return fs::is_regular_file(directory / kFile, error);
}

Ensemble read_ensemble(const fs::path& directory) {
  std::ifstream in(directory / kFile, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  try {
    const json object = json::parse(text);
    Ensemble ensemble;
    for (const json& member : object.at("members")) {
      ensemble.members.push_back(directory / member.get<std::string>());
    }
    ensemble.combine = parse_combine(object.at("combine").get<std::string>());
    if (object.contains("weights"))
      ensemble.weights = object.at("weights").get<std::vector<double>>();
    if (ensemble.members.empty()) fail_request("{}: it has no members", directory.string());
    return ensemble;
  } catch (const json::exception& error) {
    fail_request("{}: expected the members of an ensemble, found: {}", (directory / kFile).string(),
                 error.what());
  }
}

void write_ensemble(const fs::path& directory, const Ensemble& ensemble) {
  json object = {{"members", json::array()}, {"combine", to_string(ensemble.combine)}};
  for (const fs::path& member : ensemble.members) {
    object["members"].push_back(
        (member.is_absolute() ? fs::relative(member, fs::absolute(directory)) : member).string());
  }
  if (!ensemble.weights.empty()) object["weights"] = ensemble.weights;
  run::write_text(directory / kFile, object.dump(2) + "\n");
}

void set_combine(const fs::path& directory, Combine how, const job::JobRequest& request,
                 const job::Own& own, const Surroundings& surroundings) {
  Ensemble ensemble = read_ensemble(directory);
  if (ensemble.combine == how && (how != Combine::weights || !ensemble.weights.empty())) return;
  for (fs::path& member : ensemble.members) member = fs::absolute(member);
  ensemble.combine = how;
  ensemble.weights.clear();
  if (how == Combine::weights) {
    const job::Job job = job::resolve(request, surroundings.cpu, surroundings.cache_home, own);
    EnsemblePredictor predictor({.checkpoint = directory}, surroundings);
    predictor.learn(*job.data.train);
    ensemble.weights = predictor.ensemble().weights;
  }
  write_ensemble(directory, ensemble);
}

void make_ensemble(const fs::path& run) {
  const run::Directory directory = run::Directory::at(run);
  if (directory.has(run::File::last_checkpoint)) {
    const fs::path file = run::find_checkpoint(run);
    const nn::NetworkReference all = train::describe(train::CheckpointReader(file)).network;
    if (nn::members_of(all) > 1) {
      std::error_code ignored;
      fs::create_directories(run / "members", ignored);
      train::split_members(file, nn::find_network(nn::member_reference(all)),
                           [&](int64_t number) { return directory.member(number); });
    }
  }
  const std::vector<fs::path> members = directory.members();
  if (members.size() < 2) return;
  Ensemble ensemble;
  if (is_ensemble(run)) ensemble = read_ensemble(run);  // how they are combined stays
  ensemble.members.clear();
  for (const fs::path& member : members) ensemble.members.push_back(fs::absolute(member));
  if (ensemble.weights.size() != members.size()) ensemble.weights.clear();
  write_ensemble(run, ensemble);
}

std::vector<float> combine(const std::vector<std::vector<float>>& members, size_t classes,
                           Combine how, const std::vector<double>& weights) {
  const auto count = static_cast<double>(members.size());
  std::vector<float> all(members.front().size(), 0);
  for (size_t m = 0; m < members.size(); ++m) {
    const double weight = how == Combine::weights && !weights.empty() ? weights.at(m) : 1 / count;
    if (how != Combine::vote) {
      for (size_t i = 0; i < all.size(); ++i) all[i] += static_cast<float>(weight) * members[m][i];
      continue;
    }
    constexpr double kMean = 1e-3;  // what the mean counts beside votes: it decides between equals
    for (size_t n = 0; n < all.size() / classes; ++n) {
      const std::span<const float> row = row_of(members[m], n, classes);
      all[n * classes + best_of(row)] += static_cast<float>((1 - kMean) * weight);
      for (size_t k = 0; k < classes; ++k) {
        all[n * classes + k] += static_cast<float>(kMean * weight) * row[k];
      }
    }
  }
  return all;
}

// Expectation maximisation of a mixture's weights: each becomes the mean, over samples, of the
// share that its member has in the probability of the label. The likelihood never falls, and has
// one top.
std::vector<double> learn_weights(const std::vector<std::vector<double>>& of_labels) {
  const size_t members = of_labels.size();
  const size_t samples = of_labels.front().size();
  std::vector<double> weights(members, 1 / static_cast<double>(members));
  constexpr int kRounds = 200;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<double> next(members, 0);
    for (size_t n = 0; n < samples; ++n) {
      double all = 1e-300;
      for (size_t m = 0; m < members; ++m) all += weights[m] * of_labels[m][n];
      for (size_t m = 0; m < members; ++m) next[m] += weights[m] * of_labels[m][n] / all;
    }
    double sum = 0;
    for (const double one : next) sum += one;
    for (size_t m = 0; m < members; ++m) weights[m] = next[m] / sum;
  }
  return weights;
}

EnsemblePredictor::EnsemblePredictor(const LoadRequest& request, const Surroundings& surroundings)
    : ensemble_(read_ensemble(request.checkpoint)) {
  for (const fs::path& member : ensemble_.members) {
    LoadRequest one = request;
    one.checkpoint = member;
    members_.push_back(load(one, surroundings));
    const int64_t classes = members_.back().description().options.classes;
    check_combine(ensemble_.combine, members_.back().description().options.task);
    if (classes != members_.front().description().options.classes) {
      fail_request("{}: expected {} classes as its first member has, found {}", member.string(),
                   members_.front().description().options.classes, classes);
    }
    if (members_.back().description().class_names != members_.front().description().class_names) {
      fail_request("{}: expected classes in the order of its first member ({}), found {}",
                   member.string(), fmt::join(members_.front().description().class_names, ", "),
                   fmt::join(members_.back().description().class_names, ", "));
    }
  }
}

EnsembleEvaluation EnsemblePredictor::evaluate_test(const std::function<bool()>& should_stop) {
  const auto start = Clock::now();
  EnsembleEvaluation result;
  std::vector<std::vector<float>> rows;
  const data::Dataset& data = members_.front().test_data();
  const nn::Task& task = members_.front().description().options.task;
  for (size_t m = 0; m < members_.size(); ++m) {
    rows.push_back(members_[m].predict(data, should_stop));
    if (rows.back().empty()) return result;  // it was stopped
    result.members.push_back(result_of(rows.back(), data, task));
    result.members.back().member = ensemble_.members[m];
  }
  const auto classes = static_cast<size_t>(members_.front().description().options.classes);
  result.all = result_of(combine(rows, classes, ensemble_.combine, ensemble_.weights), data, task);
  result.disagreement = task.has_classes() ? disagreement_of(rows, classes) : NAN;
  result.samples = data.size();
  result.seconds = seconds_since(start);
  return result;
}

std::vector<float> EnsemblePredictor::predict(const data::Dataset& data,
                                              const std::function<bool()>& should_stop) {
  std::vector<std::vector<float>> rows;
  for (train::Predictor& member : members_) {
    rows.push_back(member.predict(data, should_stop));
    if (rows.back().empty()) return {};
  }
  const auto classes = static_cast<size_t>(members_.front().description().options.classes);
  return combine(rows, classes, ensemble_.combine, ensemble_.weights);
}

void EnsemblePredictor::learn(const data::Dataset& data) {
  const auto classes = static_cast<size_t>(members_.front().description().options.classes);
  std::vector<std::vector<double>> of_labels;
  for (train::Predictor& member : members_) {
    const std::vector<float> rows = member.predict(data);
    std::vector<double>& own = of_labels.emplace_back();
    for (int64_t n = 0; n < data.size(); ++n) {
      if (data.label(n) < 0) continue;
      own.push_back(rows[static_cast<size_t>(n) * classes + static_cast<size_t>(data.label(n))]);
    }
  }
  ensemble_.weights = learn_weights(of_labels);
}

Searched train_ensemble(SearchRequest request, int64_t members, Combine how,
                        const std::optional<SlotPrograms>& programs,
                        const Surroundings& surroundings, search::Observer& observer,
                        const OnSearch& on_search) {
  const bool is_new = request.resume.empty();
  if (is_new) {
    if (members < 2) fail_request("--ensemble: expected 2 members or more, found {}", members);
    if (how != Combine::mean) {
      check_combine(how, job::resolve(request.plan.job, surroundings.cpu, surroundings.cache_home,
                                      request.own)
                             .task);
    }
    search::Parameter seeds;
    seeds.field = job::find_field("seed");
    for (int64_t i = 0; i < members; ++i) {
      seeds.choices.push_back(std::to_string(request.plan.job.seed + i));
    }
    request.plan.space.parameters = {seeds};
    request.plan.settings = {.sampler = "grid"};
  }
  const auto begun = [&](const search::Directory& directory, const std::string& slots) {
    if (is_new) {
      Ensemble ensemble{.members = {}, .combine = how};
      for (int64_t i = 1; i <= members; ++i) {
        ensemble.members.push_back(directory.trial(static_cast<int>(i)));
      }
      write_ensemble(directory.path(), ensemble);
    }
    if (on_search) on_search(directory, slots);
  };
  Searched searched = run_search(request, programs, surroundings, observer, begun);
  if (searched.outcome.end == search::Outcome::End::complete) {
    const fs::path& directory = searched.directory;
    set_combine(directory, read_ensemble(directory).combine,
                search::Directory::open(directory).plan().job, request.own, surroundings);
  }
  return searched;
}

}  // namespace syrtos::api
