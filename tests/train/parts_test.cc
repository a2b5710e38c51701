// A network in parts, each on a worker of its own.

#include <gmock/gmock.h>

#include "syrtos/train/checkpoint/checkpoint.h"
#include "syrtos/train/checkpoint/snapshot.h"
#include "syrtos/train/team/evaluate_parts.h"
#include "tests/train/team.h"

namespace syrtos::train {
namespace {

using testing::HasSubstr;

class Parts : public Distributed {
 protected:
  JobRequest job_of(const std::string& run, int64_t workers = 1, const std::string& split = "none",
                    int64_t micro_batches = 0) const {
    JobRequest job = small_job(run);
    job.workers = workers;
    job.sync = "split";
    job.split = split;
    job.accumulate = micro_batches;
    return job;
  }

  /// All weights and what the optimiser keeps, as the run's last checkpoint has them.
  static std::map<std::string, std::vector<float>> saved(const std::string& run) {
    CheckpointReader checkpoint(std::filesystem::path(run) / "last.ckpt");
    std::map<std::string, std::vector<float>> tensors;
    for (const CheckpointTensor& tensor : checkpoint.tensors()) {
      tensors[tensor.name] = checkpoint.read(tensor).to_vector();
    }
    return tensors;
  }

  static void expect_same(const JobRequest& a, const JobRequest& b, double most = 2e-6) {
    const auto expected = saved(a.run);
    const auto found = saved(b.run);
    ASSERT_EQ(expected.size(), found.size());
    for (const auto& [name, values] : expected) {
      ASSERT_TRUE(found.contains(name)) << name;
      EXPECT_LE(difference(values, found.at(name)), most) << name;
    }
  }

  static void expect_same(const Result& a, const Result& b) {
    ASSERT_EQ(a.epochs.size(), b.epochs.size());
    for (size_t i = 0; i < a.epochs.size(); ++i) {
      EXPECT_NEAR(a.epochs[i].train_loss, b.epochs[i].train_loss, 1e-5);
      EXPECT_EQ(a.epochs[i].train, b.epochs[i].train);
      EXPECT_NEAR(a.epochs[i].test_loss, b.epochs[i].test_loss, 1e-5);
      EXPECT_EQ(a.epochs[i].test, b.epochs[i].test);
      EXPECT_EQ(a.epochs[i].samples, b.epochs[i].samples);
    }
  }
};

struct Way {
  int64_t workers;
  const char* split;
  int64_t micro_batches;
  const char* pipeline = "1f1b";
};

void PrintTo(const Way& way, std::ostream* out) {
  *out << way.workers << " workers, " << way.split << ", " << way.micro_batches
       << " micro-batches, " << way.pipeline;
}

class PartsOfWorkers : public Parts, public testing::WithParamInterface<Way> {};

// 70 samples in batches of 16: the last step of an epoch has 6.
TEST_P(PartsOfWorkers, AreTheSameAsTrainingAlone) {
  const Way& way = GetParam();
  const JobRequest alone = job_of("alone");
  JobRequest parts = job_of("parts", way.workers, way.split, way.micro_batches);
  parts.pipeline = way.pipeline;
  const Result expected = train(alone);
  const Result found = train(parts);
  expect_same(expected, found);
  expect_same(alone, parts);
}

INSTANTIATE_TEST_SUITE_P(Ways, PartsOfWorkers,
                         testing::Values(Way{2, "layers:2", 1}, Way{2, "layers:2", 4},
                                         Way{3, "layers:3", 8}, Way{4, "layers:4", 0},
                                         Way{4, "layers:2", 2}, Way{2, "fc1", 2},
                                         Way{3, "fc1,conv2", 4}, Way{2, "conv2=2,fc2=1", 2},
                                         Way{3, "layers:3", 4, "fill-drain"},
                                         Way{2, "layers:2", 4, "interleaved:2"},
                                         Way{4, "layers:2", 4, "interleaved:2"}));

TEST_F(Parts, JoinIsTheSameAsOneBatchOfAllReplicas) {
  JobRequest whole = job_of("whole");
  whole.batch = 24;
  JobRequest parts = job_of("parts", 6, "layers:3", 4);
  parts.sync = "join";
  parts.batch = 12;
  whole.samples = parts.samples = 96;
  expect_same(train(whole), train(parts));
  expect_same(whole, parts);
}

/// Dropout, weight decay, clipping by the norm of all parts, slow weights, other optimisers.
TEST_F(Parts, WithAllThatTrainingHasAreTheSame) {
  for (const char* optimizer : {"momentum", "adam"}) {
    JobRequest whole = job_of(std::string("whole-") + optimizer);
    JobRequest parts = job_of(std::string("parts-") + optimizer, 4, "layers:2", 5);
    for (JobRequest* job : {&whole, &parts}) {
      job->network = "mnist-cnn";
      job->samples = 40;
      job->batch = 20;
      job->optimizer = optimizer;
      job->learning_rate = 1e-3;
      job->weight_decay = 1e-3;
      job->clip = 0.5;
      job->lookahead = 2;
      job->views = "flip";
    }
    expect_same(train(whole), train(parts));
    expect_same(whole, parts, 2e-5);
  }
}

/// Statistics of each micro-batch, as on one worker with as many of them.
TEST_F(Parts, OfANetworkWithBatchNormAreThoseOfTheSameMicroBatches) {
  JobRequest whole = job_of("whole", 1, "none", 2);
  JobRequest parts = job_of("parts", 3, "layers:3", 2);
  JobRequest together = job_of("together", 4, "layers:2", 1);
  together.batch_norm = "synchronised";
  JobRequest apart = job_of("apart");
  for (JobRequest* job : {&whole, &parts, &together, &apart}) {
    job->network = "resnet18-cifar";
    job->input = "3x16x16";
    job->classes = 4;
    job->samples = 48;
    job->batch = 24;
    job->epochs = 1;
    job->learning_rate = 1e-4;  // larger ones let rounding grow fast in so small batches
  }
  const Result wholly = train(whole);
  EXPECT_NEAR(wholly.epochs[0].train_loss, train(parts).epochs[0].train_loss, 1e-4);
  EXPECT_NEAR(train(apart).epochs[0].train_loss, train(together).epochs[0].train_loss, 1e-4);
  const auto expected = saved(whole.run);
  const auto alone = saved(apart.run);
  const auto in_parts = saved(parts.run);
  const auto in_both = saved(together.run);
  for (const auto& [name, values] : expected) {
    if (name.starts_with("optimizer/")) continue;
    EXPECT_LT(difference(values, in_parts.at(name)), 2e-5) << name;
    EXPECT_LT(difference(alone.at(name), in_both.at(name)), 2e-5) << name;
  }
  // Other statistics are another result, by far.
  EXPECT_GT(difference(expected.at("states/bn1.running_var"), alone.at("states/bn1.running_var")),
            1e-3);
}

TEST_F(Parts, EachWorkerHasItsOwnWeightsAlone) {
  const Job job = resolve(job_of("job", 2, "fc1"), cpu_info(), "nowhere");
  Trainer first(job, 0);
  Trainer second(job, 1);
  const auto names = [](Trainer& trainer) {
    std::vector<std::string> names;
    for (const auto& slot : trainer.network().parameters().slots()) names.push_back(slot.name);
    return names;
  };
  EXPECT_THAT(names(first), testing::UnorderedElementsAre("conv1.weight", "conv1.bias",
                                                          "conv2.weight", "conv2.bias"));
  EXPECT_THAT(names(second), testing::UnorderedElementsAre("fc1.weight", "fc1.bias", "fc2.weight",
                                                           "fc2.bias", "fc3.weight", "fc3.bias"));
}

TEST_F(Parts, ARunGoesOnWholeAndInOtherParts) {
  JobRequest undisturbed = job_of("undisturbed");
  JobRequest job = job_of("run", 3, "layers:3", 4);
  undisturbed.epochs = job.epochs = 4;
  train(undisturbed);
  EXPECT_EQ(train(job, "", 9).outcome.end, Outcome::End::interrupted);
  job.workers = 1;
  job.split = "none";
  EXPECT_EQ(train(job, job.run, 2).outcome.end, Outcome::End::interrupted);
  job.workers = 4;
  job.split = "columns";
  job.accumulate = 1;
  EXPECT_EQ(train(job, job.run, 5).outcome.end, Outcome::End::interrupted);
  job.split = "layers:2";
  EXPECT_EQ(train(job, job.run).outcome.end, Outcome::End::complete);
  expect_same(undisturbed, job);
}

/// What a checkpoint holds is what the parts had, to the last bit.
TEST_F(Parts, ACheckpointIsTheSameWhoeverReadsIt) {
  JobRequest job = job_of("run", 3, "layers:3", 2);
  job.epochs = 1;
  train(job);
  const auto before = saved(job.run);
  const Job whole = resolve(job_of("other"), cpu_info(), "nowhere");
  CompiledNetwork network(whole.network, whole.model_options(16), CompiledNetwork::Use::training);
  CheckpointReader checkpoint(directory_ / "run" / "last.ckpt");
  load_parameters(checkpoint, network.parameters());
  for (const auto& slot : network.parameters().slots()) {
    EXPECT_EQ(network.parameters().get(slot.name).to_vector(),
              before.at("parameters/" + slot.name));
  }
}

TEST_F(Parts, BeginWithTheWeightsOfAFile) {
  JobRequest first = job_of("first");
  train(first);
  JobRequest whole = job_of("whole");
  JobRequest parts = job_of("parts", 4, "layers:2");
  whole.weights = parts.weights = first.run;
  whole.freeze = parts.freeze = "conv1.*";
  expect_same(train(whole), train(parts));
  expect_same(whole, parts);
}

TEST_F(Parts, OverTcpAreTheSameAsAlone) {
  const JobRequest alone = job_of("alone");
  train(alone);
  for (const int workers : {2, 3, 4}) {
    const JobRequest parts = job_of("tcp" + std::to_string(workers), workers,
                                    "layers:" + std::to_string(workers == 4 ? 2 : workers));
    const Job job = resolve(parts, cpu_info(), "nowhere");
    train_over_tcp(std::vector<Job>(static_cast<size_t>(workers), job));
    expect_same(alone, parts);
  }
}

TEST_F(Parts, WhatTheyCannotBeIsRefused) {
  const auto error_of = [&](const std::function<void(JobRequest&)>& change) -> std::string {
    JobRequest job = job_of("never", 2, "layers:2");
    change(job);
    try {
      const Job resolved = resolve(job, cpu_info(), "nowhere");
      Trainer trainer(resolved, 0);
    } catch (const RequestError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(error_of([](JobRequest&) {}), "");
  EXPECT_THAT(error_of([](JobRequest& job) {
                job.split = "layers:9";
                job.workers = 9;
              }),
              HasSubstr("9 parts of a network that can be cut into 5 at most"));
  EXPECT_THAT(error_of([](JobRequest& job) { job.split = "layers:0"; }),
              HasSubstr("layers:4 with a number of at least 1"));
  EXPECT_THAT(error_of([](JobRequest& job) { job.split = "layers:3"; }),
              HasSubstr("3 parts are for 3 workers, or a multiple; found 2: use --workers 3"));
  EXPECT_THAT(error_of([](JobRequest& job) { job.split = "fc7"; }), HasSubstr("no layer 'fc7'"));
  EXPECT_THAT(error_of([](JobRequest& job) { job.split = "fc1,fc1"; }),
              HasSubstr("layer fc1 begins two parts"));
  EXPECT_THAT(error_of([](JobRequest& job) { job.split = "fc1,,fc2"; }),
              HasSubstr("such as conv3"));
  EXPECT_THAT(error_of([](JobRequest& job) { job.split = "branches"; }),
              HasSubstr("none worth a part"));
  EXPECT_THAT(error_of([](JobRequest& job) { job.accumulate = 5; }),
              HasSubstr("expected a batch that 5 micro-batches divide, found 16 samples"));
  EXPECT_THAT(error_of([](JobRequest& job) { job.exchange = "ps"; }),
              HasSubstr("use --exchange allreduce with --sync join or split, found ps with split"));
  EXPECT_THAT(error_of([](JobRequest& job) { job.sync = "local:2"; }), HasSubstr("local:2"));
  EXPECT_THAT(error_of([](JobRequest& job) {
                job.exchange = "ps";
                job.sync = "async";
              }),
              HasSubstr("found ps with async"));
  EXPECT_THAT(error_of([](JobRequest& job) {
                job.exchange = "allreduce:mpi";
                job.workers = 4;
              }),
              HasSubstr("for all ranks at once"));
  EXPECT_THAT(error_of([](JobRequest& job) {
                job.pipeline = "interleaved:2";
                job.accumulate = 1;
              }),
              HasSubstr("expected a multiple of 2 micro-batches"));
  EXPECT_THAT(error_of([](JobRequest& job) {
                job.split = "conv2=2,fc1=1";
                job.pipeline = "interleaved:2";
                job.workers = 1;
              }),
              HasSubstr("need each other in turn"));
  EXPECT_THAT(error_of([](JobRequest& job) { job.pipeline = "2f2b"; }), HasSubstr("--pipeline"));
}

TEST_F(Parts, ThatComputeWithAnotherPrecisionAreNamed) {
  const JobRequest request = job_of("differ", 2, "layers:2");
  JobRequest other = request;
  other.precision = "bf16";
  Trainer first(resolve(request, cpu_info(), "nowhere"), 0);
  Trainer second(resolve(other, cpu_info(), "nowhere"), 1);
  first.begin();
  Silent silent;
  Outcome outcome;
  world::LocalCluster cluster(2);
  try {
    world::run_all(cluster, [&](World& world) -> Task<> {
      Trainer& mine = world.rank() == 0 ? first : second;
      return keep_result(mine.run(world, silent, [] { return false; }), outcome);
    });
    ADD_FAILURE() << "they trained";
  } catch (const RequestError& error) {
    EXPECT_THAT(error.what(), HasSubstr("job precision: expected \"f32\""));
    EXPECT_THAT(error.what(), HasSubstr("found \"bf16\""));
  }
}

/// The original form of AlexNet: what each column needs of the other crosses in turn.
TEST_F(Parts, TheColumnsOfAlexNetAreTheSameAsOnOneWorker) {
  JobRequest whole = job_of("whole", 1, "none", 2);
  JobRequest columns = job_of("columns", 2, "branches", 2);
  for (JobRequest* job : {&whole, &columns}) {
    job->network = "alexnet-2col";
    job->input = "3x63x63";
    job->classes = 3;
    job->samples = 8;
    job->batch = 4;
    job->epochs = 1;
  }
  EXPECT_EQ(resolve(columns, cpu_info(), "nowhere").placement.pieces, 2);
  expect_same(train(whole), train(columns));
  expect_same(whole, columns);
}

/// A branch for each instrument, and the layers that join them.
TEST_F(Parts, TheBranchesOfLandCoverAreTheSameAsOnOneWorker) {
  JobRequest whole = job_of("whole", 1, "none", 2);
  JobRequest branches = job_of("branches", 4, "branches", 2);
  for (JobRequest* job : {&whole, &branches}) {
    job->network = "land-cover";
    job->input = "1x396x32";  // of 32x32 pixels
    job->samples = 8;
    job->batch = 4;
    job->epochs = 1;
  }
  EXPECT_EQ(resolve(branches, cpu_info(), "nowhere").parts_text,
            "optical.conv1 to optical.fc, radar.conv1 to radar.fc, elevation.conv1 to "
            "elevation.fc, spectrum.conv1 to head.fc3");
  expect_same(train(whole), train(branches));
  expect_same(whole, branches);
}

TEST_F(Parts, AreNamedByAFileToo) {
  const auto file = write("cuts.txt", "# where parts begin\nconv2\n  fc1  # and here\n");
  JobRequest request = job_of("run", 3, file.string());
  const Job job = resolve(request, cpu_info(), "nowhere");
  EXPECT_EQ(to_request(job).split, "conv2,fc1");
  EXPECT_EQ(job.parts_text, "conv1, conv2, fc1 to fc3");
  EXPECT_EQ(job.placement.pieces, 3);
}

/// Bytes that come to this worker with each batch.
size_t bytes_a_batch(CompiledNetwork& network) {
  size_t bytes = 0;
  const graph::Program& program = network.evaluation(0).program();
  for (const graph::PassPart& part : graph::parts_of_pass(program, {})) {
    for (const graph::Program::Message* one : part.arrives) bytes += program.bytes_of(*one);
  }
  return bytes;
}

// What a faster part sends lies in the memory of the slower one until that has time for it.
TEST_F(Parts, InAnEvaluationNoneRunsAwayFromTheNext) {
  JobRequest request = job_of("parts", 2, "layers:2");
  request.samples = 600;
  request.batch = 8;
  const Job job = resolve(request, cpu_info(), "nowhere");
  std::deque<Trainer> trainers;
  for (int worker = 0; worker < 2; ++worker) {
    trainers.emplace_back(resolve(request, cpu_info(), "nowhere"), worker);
  }
  size_t kept = 0;
  Evaluation evaluation;
  world::TcpCluster cluster(2, {}, true);
  world::run_all(cluster, [&](World& world) -> Task<> {
    const bool last = world.rank() == 1;
    CompiledNetwork& network = trainers[static_cast<size_t>(world.rank())].network();
    const data::Transform transform(job.data.test->info(), job.image, job.normalization, {},
                                    job.precision.dtype);
    const TestData test{.data = *job.data.test,
                        .transform = transform,
                        .views = job::views_of(job.views),
                        .images = network.has_images()};
    strategy::Meter meter(world);
    if (last) co_await world.sleep(0.5);
    for (int times = 0; times < 2; ++times) {
      Evaluation found =
          co_await evaluate_parts(world, {.workers = 2, .parts = 2}, meter, network, test);
      if (last) evaluation = std::move(found);
    }
    if (last) kept = dynamic_cast<world::TcpWorld&>(world).most_kept();
  });
  EXPECT_EQ(evaluation.samples, job.data.test->size());
  ASSERT_GT(evaluation.samples, 4 * request.batch);
  EXPECT_LE(kept, 2 * bytes_a_batch(trainers[1].network()) + 1024);
}

}  // namespace
}  // namespace syrtos::train
