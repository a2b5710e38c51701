#pragma once

// What a scenario must come to when all its workers take each step together, computed by one.

#include <cmath>
#include <deque>

#include "syrtos/optim/clip.h"
#include "tests/strategy/scenario.h"

namespace syrtos::strategy {

inline optim::Hyper hyper_of(const Scenario& scenario, int64_t step) {
  return {.learning_rate = scenario.learning_rate / (1 + static_cast<double>(step % 1000) / 50),
          .weight_decay = 1e-3,
          .step = step};
}

/// A resumed run has something in its optimiser already.
inline void fill_kept(ToyReplica& replica) {
  for (const Floats& arena : replica.kept()) {
    for (size_t i = 0; i < arena.count; ++i) arena.data[i] = 0.25F * static_cast<float>(i % 3);
  }
}

struct Alone {
  std::vector<float> weights;
  std::vector<std::vector<float>> kept;
};

inline Alone result_of(ToyReplica& replica) {
  Alone result{replica.values(), {}};
  for (const Floats& arena : replica.kept()) {
    result.kept.emplace_back(arena.data, arena.data + arena.count);
  }
  return result;
}

/// Of what a worker has to send, the part that crosses a sparse wire; the rest stays.
inline double sparse_part(double& left, double value, double threshold) {
  left += value;
  const double sent = left > threshold ? threshold : left < -threshold ? -threshold : 0;
  left -= sent;
  return sent;
}

/// join and split: each step sees the mean of all gradients.
inline Alone train_alone(const Scenario& scenario) {
  ToyReplica replica(scenario.layout, scenario.optimizer, 0);
  fill_kept(replica);
  const size_t elements = scenario.layout.elements();
  const auto workers = static_cast<size_t>(scenario.team.workers);
  std::vector<std::vector<double>> left(workers, std::vector<double>(elements));
  // A single worker of an all-reduce sends nothing, so nothing is left behind.
  const bool sparse =
      scenario.options.wire.sparse() && (workers > 1 || scenario.options.exchange.uses_servers());
  const Floats gradients = replica.gradients();
  for (int64_t step = scenario.first_step; step < scenario.last_step(); ++step) {
    for (const Bucket& bucket : scenario.layout.buckets) {
      for (size_t i = bucket.first; i < bucket.first + bucket.count; ++i) {
        double sum = 0;
        for (size_t worker = 0; worker < workers; ++worker) {
          const double gradient =
              (replica.values()[i] - ToyReplica::goal(static_cast<int>(worker), i)) *
              scenario.weights[worker];
          sum += sparse ? sparse_part(left[worker][i], gradient, scenario.options.wire.threshold)
                        : gradient;
        }
        gradients.data[i] = static_cast<float>(sum / static_cast<double>(workers));
      }
    }
    optim::Hyper hyper = hyper_of(scenario, step);
    if (scenario.clip > 0) {
      hyper.gradient_scale = optim::clip_scale(replica.gradient_norm(), scenario.clip);
    }
    replica.update(0, elements, hyper);
  }
  return result_of(replica);
}

/// local:H: each takes its own steps, and all average every H of them and at the end.
inline Alone train_apart(const Scenario& scenario) {
  std::deque<ToyReplica> replicas;
  for (int worker = 0; worker < scenario.team.workers; ++worker) {
    replicas.emplace_back(scenario.layout, scenario.optimizer, worker);
    fill_kept(replicas.back());
  }
  const size_t elements = scenario.layout.elements();
  for (int taken = 0; taken < scenario.steps;) {
    for (ToyReplica& replica : replicas) {
      for (size_t stage = 0; stage < replica.stages().size(); ++stage) replica.run(stage);
      optim::Hyper hyper = hyper_of(scenario, scenario.first_step + taken);
      if (scenario.clip > 0) {
        hyper.gradient_scale = optim::clip_scale(replica.gradient_norm(), scenario.clip);
      }
      replica.update(0, elements, hyper);
    }
    if (++taken % scenario.options.sync.number != 0 && taken < scenario.steps) continue;
    for (size_t i = 0; i < elements; ++i) {
      double sum = 0;
      for (ToyReplica& replica : replicas) sum += replica.values()[i];
      for (ToyReplica& replica : replicas) {
        replica.values()[i] = static_cast<float>(sum / scenario.team.workers);
      }
    }
  }
  return result_of(replicas[0]);
}

inline Alone expected_of(const Scenario& scenario) {
  return scenario.is(Sync::Kind::local) ? train_apart(scenario) : train_alone(scenario);
}

}  // namespace syrtos::strategy
