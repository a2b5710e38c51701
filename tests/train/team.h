#pragma once

// Workers and servers of a small job, all in this process.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>

#include "syrtos/train/team/server_work.h"
#include "syrtos/train/team/team_work.h"
#include "syrtos/train/trainer.h"
#include "syrtos/world/local/local.h"
#include "syrtos/world/tcp/cluster.h"
#include "tests/train/small_job.h"

namespace syrtos::train {

class Silent : public TrainObserver {
 public:
  void started(const StartInfo&) override {}
  void step(const StepProgress&) override {}
  void epoch(const EpochMetrics&) override {}
};

/// What happens to a run, besides training.
struct Happenings {
  std::function<bool(int worker)> stop = [](int) { return false; };
  /// After each step of each worker.
  std::function<void(int worker, const StepProgress& info, world::LocalCluster& cluster)> stepped =
      [](int, const StepProgress&, world::LocalCluster&) {};
  int lost = -1;  ///< the rank that does not come to its end
};

class Distributed : public SmallJobs {
 protected:
  struct Result {
    std::vector<float> weights;  // of rank 0
    std::vector<EpochMetrics> epochs;
    Outcome outcome;
  };

  /// Stops when somebody asks for the next time after so many.
  static Result train(const JobRequest& job, const std::string& resume = "",
                      int64_t stop_after = 0) {
    int64_t asked = 0;
    Happenings happenings;
    happenings.stop = [&](int) { return stop_after > 0 && ++asked > stop_after; };
    return train(job, resume, happenings);
  }

  static Result train(const JobRequest& job, const std::string& resume,
                      const Happenings& happenings) {
    const Job resolved = resolve(job, cpu_info(), "nowhere");
    const strategy::Team team = team_of(resolved);
    world::LocalCluster cluster(team.workers + team.servers);
    std::deque<Trainer> trainers;
    std::deque<Watcher> watchers;
    for (int worker = 0; worker < team.workers; ++worker) {
      trainers.emplace_back(resolve(job, cpu_info(), "nowhere"), worker);
      watchers.emplace_back(worker, happenings, cluster);
    }
    if (resume.empty()) {
      trainers[0].begin();
    } else {
      trainers[0].resume(resume);
    }
    std::vector<Outcome> outcomes(trainers.size());
    const auto program = [&](World& world) -> Task<> {
      if (world.rank() >= team.workers) {
        return serve(world, server_job(resolved));
      }
      const int worker = world.rank();
      const auto rank = static_cast<size_t>(worker);
      const auto stop = [&happenings, worker] { return happenings.stop(worker); };
      return keep_result(trainers[rank].run(world, watchers[rank], stop), outcomes[rank]);
    };
    if (happenings.lost < 0) {
      world::run_all(cluster, program);
    } else {
      const std::vector<std::exception_ptr> errors = cluster.run(program);
      for (int rank = 0; rank < cluster.size(); ++rank) {
        EXPECT_EQ(errors[static_cast<size_t>(rank)] != nullptr, rank == happenings.lost) << rank;
      }
    }
    const std::span<float> weights = trainers[0].network().parameters().weights();
    for (int worker = 1; worker < team.workers; ++worker) {
      if (worker == happenings.lost || team.part_of(worker) != 0) continue;
      CompiledNetwork& network = trainers[static_cast<size_t>(worker)].network();
      const std::span<float> other = network.parameters().weights();
      EXPECT_TRUE(std::equal(weights.begin(), weights.end(), other.begin()))
          << "workers differ in the end";
    }
    return {{weights.begin(), weights.end()}, outcomes[0].epochs, outcomes[0]};
  }

  /// Each worker has threads and a job of its own.
  static void train_over_tcp(const std::vector<Job>& jobs,
                             std::vector<TrainerOptions> options = {}) {
    std::deque<Trainer> trainers;
    options.resize(jobs.size());
    for (size_t rank = 0; rank < jobs.size(); ++rank) {
      trainers.emplace_back(jobs[rank], static_cast<int>(rank), options[rank]);
    }
    trainers[0].begin();
    world::TcpCluster cluster(static_cast<int>(jobs.size()), {});
    Silent silent;
    std::vector<Outcome> outcomes(jobs.size());
    world::run_all(cluster, [&](World& world) -> Task<> {
      const auto rank = static_cast<size_t>(world.rank());
      return keep_result(trainers[rank].run(world, silent, [] { return false; }), outcomes[rank]);
    });
  }

  static double difference(const std::vector<float>& a, const std::vector<float>& b) {
    EXPECT_EQ(a.size(), b.size());
    double most = 0;
    for (size_t i = 0; i < a.size(); ++i) most = std::max(most, std::fabs(double{a[i]} - b[i]));
    return most;
  }

 private:
  class Watcher final : public Silent {
   public:
    Watcher(int worker, const Happenings& happenings, world::LocalCluster& cluster)
        : worker_(worker), happenings_(happenings), cluster_(cluster) {}
    void step(const StepProgress& info) override { happenings_.stepped(worker_, info, cluster_); }

   private:
    int worker_;
    const Happenings& happenings_;
    world::LocalCluster& cluster_;
  };
};

}  // namespace syrtos::train
