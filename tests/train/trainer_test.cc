#include "syrtos/train/trainer.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <optional>

#include "syrtos/data/patches.h"
#include "syrtos/job/file.h"
#include "syrtos/nn/zoo/zoo.h"
#include "syrtos/train/network/predict.h"
#include "tests/train/small_job.h"

namespace syrtos::train {
namespace {

using testing::HasSubstr;

class Quiet : public TrainObserver {
 public:
  void started(const StartInfo& info) override { first_step = info.first_step; }
  void step(const StepProgress& info) override { last_step = info.step; }
  void epoch(const EpochMetrics& metrics) override { epochs.push_back(metrics); }

  int64_t first_step = -1;
  int64_t last_step = 0;
  std::vector<EpochMetrics> epochs;
};

class Training : public SmallJobs {
 protected:
  JobRequest small_job(const std::string& run) const {
    JobRequest job = SmallJobs::small_job(run);
    job.epochs = 3;
    job.threads = 2;
    job.optimizer = "adam";
    job.learning_rate = 0.003;
    job.schedule = "cosine";
    return job;
  }

  static Outcome train(const JobRequest& job, Quiet& quiet, const std::function<bool()>& stop) {
    Trainer trainer(resolve(job, cpu_info(), "nowhere"));
    trainer.begin();
    return trainer.run_alone(quiet, stop);
  }
  static Outcome train(const JobRequest& job) {
    Quiet quiet;
    return train(job, quiet, [] { return false; });
  }
  Outcome go_on(const std::string& run, Quiet& quiet) const {
    JobRequest job;
    read_job_file(job, directory_ / run / "job.toml");
    Trainer trainer(resolve(job, cpu_info(), "nowhere"));
    trainer.resume(directory_ / run);
    return trainer.run_alone(quiet, [] { return false; });
  }
  std::string file(const std::string& name) const { return read(directory_ / name); }
  /// One kernel of the last checkpoint.
  std::vector<float> learnt(const std::string& run) const {
    CheckpointReader reader(directory_ / run / "last.ckpt");
    const CheckpointTensor* kernel = reader.find("parameters/conv1.weight");
    const Tensor weights = reader.read(*kernel);
    return {weights.as<float>(), weights.as<float>() + kernel->shape.elements()};
  }
};

TEST_F(Training, LearnsRandomSamplesByHeart) {
  JobRequest job = small_job("a");
  job.epochs = 30;
  const Outcome outcome = train(job);
  ASSERT_EQ(outcome.epochs.size(), 30U);
  EXPECT_EQ(outcome.position.step, 150);
  EXPECT_LT(outcome.epochs.back().train_loss, 0.5 * outcome.epochs.front().train_loss);
  EXPECT_EQ(outcome.epochs.back().samples, 70);
}

TEST_F(Training, TwiceGivesTheSameBits) {
  train(small_job("a"));
  train(small_job("b"));
  EXPECT_FALSE(file("a/last.ckpt").empty());
  EXPECT_EQ(file("a/last.ckpt"), file("b/last.ckpt"));
  EXPECT_EQ(file("a/best.ckpt"), file("b/best.ckpt"));
  EXPECT_EQ(file("a/job.toml"), file("b/job.toml"));
  JobRequest other = small_job("c");
  other.seed = 2;
  train(other);
  EXPECT_NE(file("a/last.ckpt"), file("c/last.ckpt"));
}

TEST_F(Training, InterruptedAnywhereAndResumedGivesTheSameBits) {
  train(small_job("whole"));
  for (const int stop_after : {0, 2, 4, 7}) {
    const std::string run = "part" + std::to_string(stop_after);
    Quiet quiet;
    const Outcome first =
        train(small_job(run), quiet, [&] { return quiet.last_step >= stop_after; });
    EXPECT_EQ(first.end, Outcome::End::interrupted);
    EXPECT_EQ(first.position.step, stop_after);
    Quiet again;
    const Outcome second = go_on(run, again);
    EXPECT_EQ(again.first_step, stop_after);
    EXPECT_EQ(second.end, Outcome::End::complete);
    EXPECT_EQ(file("whole/last.ckpt"), file(run + "/last.ckpt")) << stop_after;
    EXPECT_EQ(file("whole/best.ckpt"), file(run + "/best.ckpt")) << stop_after;
    const std::string metrics = file(run + "/metrics.jsonl");
    EXPECT_EQ(std::count(metrics.begin(), metrics.end(), '\n'), 3) << metrics;
  }
}

/// Wants another rate after the first epoch, and one after the 8th step.
class Wanting final : public Quiet {
 public:
  std::optional<double> take_rate() override {
    if (last_step == 8) return 0.0004;
    return last_step == 5 && epochs.size() == 1 ? std::optional<double>(0.001) : std::nullopt;
  }
};

TEST_F(Training, AnObserversRateTakesThePlaceOfTheJobsAndStaysWithTheRun) {
  const auto job_of = [&](const std::string& run) {
    JobRequest job = small_job(run);
    job.schedule = "constant";
    return job;
  };
  Wanting wanting;
  train(job_of("whole"), wanting, [] { return false; });
  std::vector<double> rates;
  for (const EpochMetrics& epoch : wanting.epochs) rates.push_back(epoch.learning_rate);
  EXPECT_THAT(rates, testing::ElementsAre(0.003, 0.0004, 0.0004));
  train(job_of("plain"));
  EXPECT_NE(learnt("whole"), learnt("plain"));
  for (const int stop_after : {5, 7, 8, 11}) {
    const std::string run = "part" + std::to_string(stop_after);
    Wanting first;
    train(job_of(run), first, [&] { return first.last_step >= stop_after; });
    Wanting again;  // at the end of the first epoch it was asked already
    go_on(run, again);
    EXPECT_EQ(file("whole/last.ckpt"), file(run + "/last.ckpt")) << stop_after;
  }
}

TEST_F(Training, WithAugmentationAndLookaheadIsResumedWithTheSameBits) {
  const auto job_of = [&](const std::string& run) {
    JobRequest job = small_job(run);
    job.augment = "crop:2:reflect,flip:alternate,cutout:4,noise:0.1";
    job.lookahead = 3;
    job.optimizer = "nesterov";
    job.learning_rate = 0.01;
    job.evaluate_every = 2;
    return job;
  };
  train(job_of("whole"));
  for (const int stop_after : {1, 8}) {
    const std::string run = "part" + std::to_string(stop_after);
    Quiet quiet;
    train(job_of(run), quiet, [&] { return quiet.last_step >= stop_after; });
    Quiet again;
    go_on(run, again);
    EXPECT_EQ(file("whole/last.ckpt"), file(run + "/last.ckpt")) << stop_after;
  }
}

TEST_F(Training, GivesTheSameBitsHoweverManyBatchesArePreparedAhead) {
  for (const int64_t prefetch : {0, 1, 6}) {
    JobRequest job = small_job("p" + std::to_string(prefetch));
    job.augment = "crop:2,flip";
    job.prefetch = prefetch;
    train(job);
  }
  EXPECT_EQ(learnt("p0"), learnt("p1"));
  EXPECT_EQ(learnt("p0"), learnt("p6"));
}

TEST_F(Training, UsesEverySampleOnceAnEpochUnlessAskedOtherwise) {
  const auto samples = [&](const std::string& remainder) {
    JobRequest job = small_job(remainder);
    job.remainder = remainder;
    const Outcome outcome = train(job);
    return std::pair(outcome.epochs.back().samples, outcome.position.step);
  };
  EXPECT_EQ(samples("short"), (std::pair<int64_t, int64_t>(70, 15)));
  EXPECT_EQ(samples("drop"), (std::pair<int64_t, int64_t>(64, 12)));
  EXPECT_EQ(samples("pad"), (std::pair<int64_t, int64_t>(80, 15)));
}

TEST_F(Training, EvaluatesEverySoManyEpochsAndAtTheEnd) {
  JobRequest job = small_job("a");
  job.epochs = 5;
  job.evaluate_every = 2;
  const Outcome outcome = train(job);
  std::vector<bool> evaluated;
  for (const EpochMetrics& epoch : outcome.epochs) evaluated.push_back(epoch.evaluated);
  EXPECT_EQ(evaluated, (std::vector<bool>{false, true, false, true, true}));
}

TEST_F(Training, KilledBetweenCheckpointsGoesOnFromTheLastOne) {
  train(small_job("whole"));
  JobRequest job = small_job("part");
  job.checkpoint_every = 2;
  // A stop without the chance to save: the last checkpoint is put back afterwards.
  std::string saved;
  Quiet quiet;
  train(job, quiet, [&] {
    if (quiet.last_step == 7) saved = file("part/last.ckpt");
    return quiet.last_step >= 9;
  });
  ASSERT_FALSE(saved.empty());
  write("part/last.ckpt", saved);
  Quiet again;
  go_on("part", again);
  EXPECT_EQ(again.first_step, 6);
  EXPECT_EQ(learnt("whole"), learnt("part"));
}

TEST_F(Training, StoppedBeforeItsFirstCheckpointBeginsAgain) {
  train(small_job("whole"));
  Quiet quiet;
  train(small_job("part"), quiet, [&] { return quiet.last_step >= 2; });
  std::filesystem::remove(directory_ / "part/last.ckpt");
  Quiet again;
  go_on("part", again);
  EXPECT_EQ(again.first_step, 0);
  EXPECT_EQ(file("whole/last.ckpt"), file("part/last.ckpt"));
}

TEST_F(Training, StartsFromKernelsThatWhitenThePatchesOfItsData) {
  // MNIST's format, with pictures whose neighbours are alike.
  const auto word = [](uint32_t value) {
    return std::string{static_cast<char>(value >> 24), static_cast<char>(value >> 16),
                       static_cast<char>(value >> 8), static_cast<char>(value)};
  };
  std::string images = word(0x803) + word(20) + word(28) + word(28);
  std::string labels = word(0x801) + word(20);
  uint32_t random = 1;
  for (int n = 0; n < 20; ++n) {
    labels += static_cast<char>(n % 10);
    int value = 128;
    for (int i = 0; i < 28 * 28; ++i) {
      random = random * 1664525 + 1013904223;
      value = std::clamp(value + static_cast<int>(random >> 27) - 16, 0, 255);
      images += static_cast<char>(value);
    }
  }
  for (const char* half : {"train", "t10k"}) {
    write(std::string(half) + "-images-idx3-ubyte", images);
    write(std::string(half) + "-labels-idx1-ubyte", labels);
  }
  JobRequest job = small_job("a");
  job.network = "cifar10-fast";
  job.data = directory_.string();
  job.batch = 10;
  job.steps = 1;
  train(job);
  const Job resolved = resolve(job, cpu_info(), "nowhere");
  const std::vector<double> covariance =
      data::patch_covariance(*resolved.data.train, resolved.normalization, 2, 2);
  CheckpointReader reader(directory_ / "a/last.ckpt");
  const CheckpointTensor* found = reader.find("states/whiten.weight");
  ASSERT_NE(found, nullptr);
  const std::vector<float> kernel = reader.read(*found).to_vector();
  // The first four outputs are uncorrelated and of variance v / (v + 5e-4), which is close to 1.
  for (size_t a = 0; a < 4; ++a) {
    for (size_t b = 0; b < 4; ++b) {
      double product = 0;
      for (size_t i = 0; i < 4; ++i) {
        for (size_t j = 0; j < 4; ++j) {
          product += static_cast<double>(kernel[a * 4 + i]) * covariance[i * 4 + j] *
                     static_cast<double>(kernel[b * 4 + j]);
        }
      }
      EXPECT_NEAR(product, a == b ? 1 : 0, 0.1) << a << " " << b;
    }
  }
}

TEST_F(Training, TellsTensorboardCurvesAndGraph) {
  train(small_job("a"));
  std::string events;
  for (const auto& entry : std::filesystem::directory_iterator(directory_ / "a")) {
    if (entry.path().filename().string().starts_with("events.out.tfevents.")) {
      events += read(entry.path());
    }
  }
  for (const char* text : {"step/loss", "loss/train", "accuracy/test", "conv1/weight"}) {
    EXPECT_THAT(events, HasSubstr(text));
  }
}

TEST_F(Training, CompleteRunsAreNotResumed) {
  train(small_job("a"));
  EXPECT_THAT(refusal([&] {
                Quiet quiet;
                go_on("a", quiet);
              }),
              HasSubstr("complete"));
}

TEST_F(Training, StopsAfterSoManySteps) {
  JobRequest job = small_job("a");
  job.steps = 6;
  const Outcome outcome = train(job);
  EXPECT_EQ(outcome.position.step, 6);
  EXPECT_EQ(outcome.epochs.size(), 2U);
  EXPECT_EQ(outcome.epochs.back().samples, 16);
}

TEST_F(Training, StopsEarlyWhenTheMetricGetsNoBetter) {
  JobRequest job = small_job("a");
  job.epochs = 50;
  job.patience = 2;
  job.metric = "loss";
  job.learning_rate = 0.01;
  const Outcome outcome = train(job);
  EXPECT_EQ(outcome.end, Outcome::End::stopped_early);
  EXPECT_LT(outcome.epochs.size(), 50U);
}

TEST_F(Training, SaysAtWhichStepAndLayerTheLossIsLost) {
  JobRequest job = small_job("a");
  job.optimizer = "momentum";
  job.learning_rate = 1000;
  job.weight_decay = 100;
  job.network = "mlp";
  const std::string text = refusal<RunError>([&] { train(job); });
  EXPECT_THAT(text, HasSubstr("at step 3 (epoch 1)"));
  EXPECT_THAT(text, HasSubstr("after layer"));
  EXPECT_THAT(text, HasSubstr("--lr"));
}

TEST_F(Training, ClippingKeepsItFinite) {
  JobRequest job = small_job("a");
  job.clip = 1e-3;
  job.optimizer = "sgd";
  job.learning_rate = 1;
  const Outcome outcome = train(job);
  EXPECT_NEAR(outcome.epochs.back().train_loss, outcome.epochs.front().train_loss, 0.1);
}

TEST_F(Training, NeverOverwritesARun) {
  train(small_job("a"));
  const std::string before = file("a/last.ckpt");
  EXPECT_THAT(refusal([&] { train(small_job("a")); }), HasSubstr("--resume"));
  EXPECT_EQ(file("a/last.ckpt"), before);
}

TEST_F(Training, EvaluationCountsTheLastShortBatchOnce) {
  train(small_job("a"));
  std::vector<Evaluation> results;
  for (const int64_t batch : {1, 3, 8, 20}) {  // of 8 samples
    CheckpointReader checkpoint(run::find_checkpoint(directory_ / "a"));
    const nn::Network network = nn::find_network(describe(checkpoint).network);
    PredictorOptions options;
    options.batch = batch;
    Predictor predictor(network, checkpoint, options, "nowhere");
    results.push_back(predictor.evaluate_test());
  }
  for (const Evaluation& result : results) {
    EXPECT_EQ(result.samples, 8);
    EXPECT_NEAR(result.loss, results[0].loss, 1e-4);
    EXPECT_NEAR(result.value("accuracy"), results[0].value("accuracy"), 0.02);
  }
}

TEST_F(Training, CheckpointsOfAnotherNetworkAreRefused) {
  train(small_job("a"));
  JobRequest job = small_job("b");
  job.network = "mlp";
  train(job);
  std::filesystem::copy_file(directory_ / "a/last.ckpt", directory_ / "b/last.ckpt",
                             std::filesystem::copy_options::overwrite_existing);
  std::filesystem::remove(directory_ / "b/previous.ckpt");
  std::filesystem::remove(directory_ / "b/best.ckpt");
  EXPECT_THAT(refusal([&] {
                Quiet quiet;
                go_on("b", quiet);
              }),
              HasSubstr("another job: expected network = mlp, found lenet5"));
}

TEST_F(Training, RefusesABatchThatDoesNotFitInMemory) {
  JobRequest job = small_job("a");
  job.network = "resnet50";
  job.input = "224";
  job.samples = job.batch = 200000;
  EXPECT_THAT(refusal([&] { train(job); }), HasSubstr("memory"));
  EXPECT_FALSE(std::filesystem::exists(directory_ / "a"));
}

}  // namespace
}  // namespace syrtos::train
