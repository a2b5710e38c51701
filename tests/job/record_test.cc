// A run's job.toml holds everything: reading it back gives the same job.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <map>

#include "syrtos/job/file.h"
#include "syrtos/job/resolve.h"
#include "tests/support/temporary.h"

namespace syrtos::job {
namespace {

using testing::HasSubstr;

/// A value of each field that is not its default and that all others go with, as it is recorded.
const std::map<std::string, std::string>& other_values() {
  static const std::map<std::string, std::string> values = {
      {"network", "resnet18:shortcut=padded"},
      {"weights", "/somewhere/weights.safetensors"},
      {"freeze", "layer1.*"},
      {"classes", "7"},
      {"input", "3x40x48"},
      {"batch", "8"},
      {"accumulate", "2"},
      {"epochs", "3"},
      {"steps", "11"},
      {"precision", "f32"},
      {"threads", "3"},
      {"seed", "5"},
      {"run", "somewhere"},
      {"clip", "0.5"},
      {"loss", "cross-entropy"},
      {"class_weights", "1,2,0.5,1,1,1,3"},
      {"label_smoothing", "0.1"},
      {"checkpoint_every", "4"},
      {"data.name", "random"},
      {"data.samples", "90"},
      {"data.label_column", "last"},
      {"data.target_scale", "none"},
      {"data.validation", "0.25"},
      {"data.unlabelled", "more"},
      {"data.synthetic", "40"},
      {"data.augment", "crop:2,flip"},
      {"data.remainder", "drop"},
      {"data.shard", "unequal:3,1"},
      {"data.prefetch", "2"},
      {"data.cache", "memory"},
      {"evaluate.every", "2"},
      {"evaluate.views", "flip+shift"},
      {"teacher.name", "/nowhere/teacher"},
      {"teacher.temperature", "2.5"},
      {"teacher.share", "0.6"},
      {"teacher.answers", "steps"},
      {"optimizer.name", "adamw"},
      {"optimizer.lr", "0.003"},
      {"optimizer.momentum", "0.8"},
      {"optimizer.beta1", "0.7"},
      {"optimizer.beta2", "0.99"},
      {"optimizer.rho", "0.6"},
      {"optimizer.epsilon", "0.001"},
      {"optimizer.weight_decay", "0.02"},
      {"optimizer.lookahead", "6"},
      {"schedule.name", "triangular"},
      {"schedule.cycles", "2"},
      {"schedule.warmup", "2"},
      {"schedule.every", "5"},
      {"schedule.factor", "0.2"},
      {"schedule.floor", "0.3"},
      {"schedule.peak", "0.4"},
      {"schedule.start", "0.5"},
      {"schedule.end", "0.05"},
      {"distribute.workers", "2"},
      {"distribute.exchange", "ps-sharded:2"},
      {"distribute.sync", "split"},
      {"distribute.wire", "bf16"},
      {"distribute.update", "worker"},
      {"distribute.split", "columns"},
      {"distribute.pipeline", "fill-drain"},
      {"distribute.permits", "3"},
      {"distribute.bucket_mb", "1.5"},
      {"distribute.links", "60us,117MB/s"},
      {"distribute.min_workers", "2"},
      {"distribute.patience", "20"},
      {"distribute.encryption", "none"},
      {"distribute.batch_norm", "synchronised"},
      {"distribute.replay", "/nowhere/times.json"},
      {"measure.sample_seconds", "0.25"},
      {"measure.trace", "steps=3..5"},
      {"early_stop.patience", "8"},
      {"early_stop.metric", "loss"},
      {"early_stop.min_delta", "0.01"},
  };
  return values;
}

const std::string& other_value(const JobField& field) {
  return other_values().at(std::string(field.key));
}

class Recorded : public TemporaryDirectory {
 protected:
  static Job resolved(const JobRequest& request) {
    CpuInfo cpu;
    cpu.cores = 2;
    return resolve(request, cpu, "nowhere");
  }
  static JobRequest with_other_values() {
    JobRequest request;
    for (const JobField& field : job_fields()) {
      if (!excluded(field)) set_field(request, field, other_value(field), field.key);
    }
    return request;
  }
  /// Servers, steps and labels that are smoothed, which others of these values are or need, exclude
  /// them.
  static bool excluded(const JobField& field) {
    constexpr std::array kExcluded = {"distribute.split", "schedule.cycles", "data.unlabelled",
                                      "data.synthetic"};
    return std::find(kExcluded.begin(), kExcluded.end(), field.key) != kExcluded.end();
  }
};

TEST_F(Recorded, EveryFieldHasAnotherValueHere) {
  for (const JobField& field : job_fields()) {
    ASSERT_TRUE(other_values().contains(std::string(field.key))) << field.key;
    EXPECT_NE(other_value(field), field_text(JobRequest{}, field)) << field.key;
  }
  EXPECT_EQ(other_values().size(), job_fields().size());
}

TEST_F(Recorded, EveryFieldOfAJobIsThatOfItsRequest) {
  const JobRequest request = to_request(resolved(with_other_values()));
  for (const JobField& field : job_fields()) {
    if (excluded(field)) continue;
    EXPECT_EQ(field_text(request, field), other_value(field)) << field.key;
  }
}

TEST_F(Recorded, AJobFileGivesTheSameJobAgain) {
  const std::string text = to_toml(to_request(resolved(with_other_values())));
  JobRequest read;
  read_job_file(read, write("job.toml", text));
  for (const JobField& field : job_fields()) {
    if (!field.recorded || excluded(field)) continue;
    EXPECT_EQ(field_text(read, field), other_value(field)) << field.key;
  }
  EXPECT_EQ(to_toml(to_request(resolved(read))), text);
  EXPECT_THAT(text, HasSubstr("update = "));
}

TEST_F(Recorded, WhatWasLeftOpenIsDecidedOnce) {
  JobRequest open;
  open.data = "random";
  const Job first = resolved(open);
  const JobRequest recorded = to_request(first);
  for (const JobField& field : job_fields()) {
    const bool decided = !field_text(recorded, field).empty();
    const bool none = field.key == "run" || field.key == "distribute.replay" ||
                      field.key == "teacher.name" || field.key == "data.unlabelled" ||
                      field.key == "data.label_column";  // random data has no columns
    EXPECT_TRUE(decided || none) << field.key;
  }
  EXPECT_EQ(to_toml(to_request(resolved(recorded))), to_toml(recorded));
}

TEST_F(Recorded, APlannedWayIsAppliedCompletely) {
  strategy::Options way;
  way.exchange = strategy::parse_exchange("ps-sharded:3");
  way.sync = strategy::parse_sync("ssp:2");
  way.wire = strategy::parse_wire("bf16");
  way.update = strategy::UpdateAt::server;
  way.permits = 4;
  way.bucket_mb = 2.5;
  JobRequest request;
  request.data = "random";
  apply(way, 5, request);
  const Job job = resolved(request);
  EXPECT_EQ(job.workers, 5);
  EXPECT_EQ(to_string(job.strategy.exchange), "ps-sharded:3");
  EXPECT_EQ(to_string(job.strategy.sync), "ssp:2");
  EXPECT_EQ(to_string(job.strategy.wire), "bf16");
  EXPECT_EQ(job.strategy.update, strategy::UpdateAt::server);
  EXPECT_EQ(job.strategy.permits, 4);
  EXPECT_EQ(job.strategy.bucket_mb, 2.5);
}

TEST_F(Recorded, ASplitIsPartOfTheWay) {
  strategy::Options way;
  way.split = strategy::Split::columns();
  JobRequest request;
  request.data = "random";
  apply(way, 3, request);
  const Job job = resolved(request);
  EXPECT_EQ(job.strategy.split, strategy::Split::columns());
  EXPECT_EQ(to_request(job).split, "columns");
}

TEST_F(Recorded, NetworksAndDataMayBeBroughtAlong) {
  const nn::Network network(
      {.name = "own", .channels = 1, .height = 4, .width = 4},
      [](nn::Builder& b, nn::ValueId images, const nn::ModelOptions& options) -> nn::Heads {
        return {b.classifier("out", b.flatten(images), options.classes)};
      });
  data::Splits splits = random_splits(network, 40, {1, 6, 5}, 3, {}, 1);
  JobRequest request;
  request.network = "not in the zoo";
  request.data = "mine";
  request.batch = 10;
  CpuInfo cpu;
  cpu.cores = 1;
  const Job job = resolve(
      request, cpu, "nowhere",
      {.network = network, .data = JobData{std::move(splits.train), std::move(splits.test)}});
  EXPECT_EQ(job.network.name(), "own");
  EXPECT_EQ(job.image, (Shape{1, 6, 5}));
  EXPECT_EQ(job.classes, 3);
  EXPECT_EQ(job.steps_per_epoch(), 4);
  EXPECT_EQ(to_request(job).data, "mine");
}

}  // namespace
}  // namespace syrtos::job
