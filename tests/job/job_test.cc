#include "syrtos/job/job.h"

#include <gmock/gmock.h>

#include "syrtos/job/file.h"
#include "syrtos/job/image_size.h"
#include "syrtos/job/precision.h"
#include "syrtos/job/resolve.h"
#include "syrtos/job/synonyms.h"
#include "tests/support/temporary.h"

namespace syrtos::job {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class JobFiles : public TemporaryDirectory {
 protected:
  JobRequest parse(const std::string& text) {
    JobRequest job;
    read_job_file(job, write("job.toml", text));
    return job;
  }
  static CpuInfo cpu(bool bf16) {
    CpuInfo info;
    info.model = "test";
    info.cores = 2;
    info.has_avx512_bf16 = bf16;
    return info;
  }
  static Job resolved(JobRequest job) {
    if (job.data == "mnist") job.data = "random";
    return resolve(job, cpu(false), "nowhere");
  }
};

TEST_F(JobFiles, AndOptionsGiveTheSameJob) {
  const JobRequest from_file = parse(
      "network = \"resnet18\"\nbatch = 7\n[optimizer]\nname = \"adamw\"\nlr = 0.5\n"
      "[schedule]\nname = \"cosine\"\nwarmup = 3\n[early_stop]\npatience = 2\n");
  JobRequest from_options;
  const std::vector<std::pair<std::string, std::string>> options = {
      {"network", "resnet18"},     {"batch", "7"},
      {"optimizer.name", "adamw"}, {"optimizer.lr", "0.5"},
      {"schedule.name", "cosine"}, {"schedule.warmup", "3"},
      {"early_stop.patience", "2"}};
  for (const auto& [key, text] : options) {
    set_field(from_options, *find_field(key), text, "--" + key);
  }
  EXPECT_EQ(to_toml(from_file), to_toml(from_options));
  EXPECT_EQ(to_toml(to_request(resolved(from_file))), to_toml(to_request(resolved(from_options))));
}

TEST_F(JobFiles, AreReadBackAsTheyWereWritten) {
  JobRequest job =
      parse("network = \"mlp\"\ndata = \"random\"\nclip = 0.1\n[optimizer]\nlr = 1e-5\n");
  job = to_request(resolved(job));
  const std::string text = to_toml(job);
  EXPECT_EQ(to_toml(parse(text)), text);
  EXPECT_EQ(to_toml(to_request(resolved(parse(text)))), text);
}

TEST_F(JobFiles, WithOddTextsAreReadBackToo) {
  JobRequest job;
  job.data = "a \"quoted\"\\ path\twith\nlines \x7f";
  job.learning_rate = 0.1;
  EXPECT_EQ(parse(to_toml(job)).data, job.data);
}

TEST_F(JobFiles, MayNameTheOptimizerInShort) {
  EXPECT_EQ(parse("optimizer = \"adam\"\ninput = 32\n").optimizer, "adam");
  EXPECT_EQ(parse("optimizer = \"adam\"\ninput = 32\n").input, "32");
}

TEST_F(JobFiles, UnknownKeyNamesLineAndClosest) {
  const std::string text =
      refusal([&] { parse("network = \"mlp\"\n\n[optimizer]\nmomentun = 1\n"); });
  EXPECT_THAT(text, HasSubstr("job.toml:4: unknown key 'optimizer.momentun'"));
  EXPECT_THAT(text, HasSubstr("did you mean 'momentum'?"));
  EXPECT_THAT(refusal([&] { parse("epoch = 3\n"); }), HasSubstr("did you mean 'epochs'?"));
  EXPECT_THAT(refusal([&] { parse("[optimiser]\nlr = 3\n"); }),
              HasSubstr("unknown section '[optimiser]'; did you mean '[optimizer]'?"));
}

TEST_F(JobFiles, WrongTypesNameLineExpectedAndFound) {
  const std::string text = refusal([&] { parse("network = \"mlp\"\nbatch = \"many\"\n"); });
  EXPECT_THAT(text, HasSubstr("job.toml:2: batch: expected a whole number, found"));
  EXPECT_THAT(text, HasSubstr("many"));
  EXPECT_THAT(refusal([&] { parse("network = 3\n"); }), HasSubstr("expected a text in quotes"));
  EXPECT_THAT(refusal([&] { parse("batch = 1.5\n"); }), HasSubstr("expected a whole number"));
  EXPECT_THAT(refusal([&] { parse("clip = [1]\n"); }), HasSubstr("expected a number"));
  EXPECT_THAT(refusal([&] { parse("clip = nan\n"); }), HasSubstr("expected a number"));
}

TEST_F(JobFiles, ThatAreNotTomlNameTheLine) {
  EXPECT_THAT(refusal([&] { parse("batch = 1\nbatch is 2\n"); }), HasSubstr("job.toml:2:"));
  JobRequest job;
  EXPECT_THAT(refusal([&] { read_job_file(job, directory_ / "none.toml"); }),
              HasSubstr("no such file"));
}

TEST_F(JobFiles, OptionsThatAreNoNumbersAreRefused) {
  JobRequest job;
  for (const char* text : {"abc", "", "1x", "1.5", " 2", "99999999999999999999"}) {
    EXPECT_THAT(refusal([&] { set_field(job, *find_field("batch"), text, "--batch"); }),
                HasSubstr("--batch: expected a whole number"))
        << text;
  }
  for (const char* text : {"nan", "inf", "ten", "1e999"}) {
    EXPECT_THAT(refusal([&] { set_field(job, *find_field("clip"), text, "--clip"); }),
                HasSubstr("--clip: expected a number"))
        << text;
  }
}

TEST_F(JobFiles, ValuesOutsideOfTheirRangeAreRefused) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"classes", "0"},
      {"classes", "-1"},
      {"batch", "0"},
      {"epochs", "0"},
      {"steps", "-1"},
      {"threads", "-1"},
      {"seed", "-1"},
      {"optimizer.lr", "0"},
      {"optimizer.lr", "-1"},
      {"label_smoothing", "1"},
      {"clip", "-1"},
      {"input", "0"},
      {"input", "12x"},
      {"input", "axb"},
      {"precision", "f16"},
      {"batch", "2000"},
      {"optimizer.momentum", "1"},
      {"optimizer.name", "none"},
      {"schedule.name", "none"},
      {"early_stop.metric", "none"},
      {"network", "none"},
      {"data.name", "no-such-directory"},
      {"data.augment", "flop"},
      {"data.remainder", "lose"},
      {"distribute.links", "60us"},
      {"data.shard", "sorted"},
      {"data.shard", "unequal:1,2"},
      {"data.prefetch", "-1"},
      {"evaluate.views", "many"},
      {"evaluate.every", "-1"},
      {"classes", "1"},
      {"optimizer.lr", "1e30"},
      {"data.augment", "crop:28"},
      {"data.augment", "cutout:100"},
      {"input", "1000000"},
      {"input", "9999999999x9999999999"},
      {"checkpoint_every", "-1"},
      {"optimizer.lookahead", "-1"},
      {"schedule.peak", "2"},
      {"schedule.warmup", "-1"},
      {"precision", "bf16"}};
  for (const auto& field : wrong) {
    const auto& key = field.first;
    const auto& text = field.second;
    JobRequest job;
    job.data = "random";
    ASSERT_NE(find_field(key), nullptr) << key;
    EXPECT_NE(refusal([&] {
                set_field(job, *find_field(key), text, key);
                resolve(job, cpu(false), "nowhere");
              }),
              "was accepted")
        << key << " = " << text;
  }
}

TEST_F(JobFiles, WhatIsLeftOpenIsDecided) {
  JobRequest job;
  job.data = "random";
  job.optimizer = "adadelta";
  const Job done = resolve(job, cpu(true), "nowhere");
  EXPECT_EQ(done.precision.dtype, DType::f32) << "LeNet-5 gains nothing";
  job.network = "cifar10-fast";
  EXPECT_EQ(resolve(job, cpu(true), "nowhere").precision.dtype, DType::bf16);
  EXPECT_EQ(done.threads, 2);
  EXPECT_EQ(done.classes, 10);
  EXPECT_EQ(done.image, (Shape{1, 28, 28}));
  EXPECT_EQ(done.schedule.rate, 1.0);
  EXPECT_EQ(done.optimizer.epsilon, 1e-6);
  EXPECT_EQ(done.schedule.every, 16 / 3);  // a third of the 16 steps of the run
}

TEST_F(JobFiles, StepsTakeAsManyEpochsAsTheyNeed) {
  JobRequest job;
  job.data = "random";  // 1024 samples, 16 steps an epoch
  job.steps = 60;
  EXPECT_EQ(resolved(job).epochs, 4);
  EXPECT_EQ(resolved(job).total_steps(), 60);
  EXPECT_THAT(resolved(job).notes, testing::IsEmpty());
  job.epochs = 1;
  EXPECT_EQ(resolved(job).total_steps(), 16);
  EXPECT_THAT(resolved(job).notes,
              ElementsAre(HasSubstr("--steps 60: the run ends after 16 steps, with --epochs 1")));
  EXPECT_EQ(resolved({.data = "random"}).epochs, 1);
}

TEST_F(JobFiles, WorkersAreNeededWhereFewerCouldNotTakeTheSteps) {
  const auto may_lose = [&](const std::vector<std::pair<std::string, std::string>>& settings) {
    JobRequest job;
    job.data = "random";
    job.workers = 4;
    job.exchange = "allreduce";
    for (const auto& [key, text] : settings) set_field(job, *find_field(key), text, key);
    const Job found = resolved(job);
    EXPECT_EQ(found.may_lose_workers(), found.needs_all_workers().empty());
    const auto says = HasSubstr("the run ends when a worker is lost: " + found.needs_all_workers());
    EXPECT_EQ(testing::Value(found.notes, testing::Contains(says)), !found.may_lose_workers());
    return found.may_lose_workers();
  };
  using Settings = std::vector<std::pair<std::string, std::string>>;
  const Settings parts = {{"batch", "64"}, {"accumulate", "16"}};
  const auto with = [](Settings settings, const Settings& more) {
    settings.insert(settings.end(), more.begin(), more.end());
    return settings;
  };
  EXPECT_TRUE(may_lose(with(parts, {{"distribute.sync", "join"}})));
  EXPECT_FALSE(may_lose(with(parts, {{"distribute.sync", "split"}}))) << "3 workers";
  EXPECT_TRUE(may_lose({{"batch", "48"}, {"accumulate", "4"}, {"distribute.sync", "split"}}));
  const Settings together = {
      {"distribute.sync", "join"}, {"distribute.batch_norm", "synchronised"}, {"batch", "64"}};
  EXPECT_TRUE(may_lose(together));
  EXPECT_FALSE(may_lose(with(together, {{"accumulate", "2"}})));
  EXPECT_TRUE(may_lose(with(together, {{"accumulate", "2"}, {"data.remainder", "drop"}})));
  EXPECT_FALSE(may_lose(with(together, {{"batch", "2"}}))) << "batches of 2 for 3 workers";
}

TEST_F(JobFiles, WhatHasNoEffectIsNoted) {
  const auto notes = [&](const std::vector<std::pair<std::string, std::string>>& settings) {
    JobRequest job;
    job.data = "random";
    for (const auto& [key, text] : settings) set_field(job, *find_field(key), text, key);
    return resolved(job).notes;
  };
  using testing::IsEmpty;
  EXPECT_THAT(notes({{"optimizer.momentum", "0.9"}}), IsEmpty());
  EXPECT_THAT(notes({{"optimizer.momentum", "0.9"}, {"optimizer.name", "adam"}}),
              ElementsAre("--momentum has no effect with --optimizer adam"));
  EXPECT_THAT(notes({{"schedule.floor", "0.1"}}),
              ElementsAre("--schedule-floor has no effect with --schedule constant"));
  EXPECT_THAT(notes({{"schedule.floor", "0.1"}, {"schedule.name", "cosine"}}), IsEmpty());
  EXPECT_THAT(notes({{"schedule.warmup", "1000"}}),
              ElementsAre(HasSubstr("--warmup 1000: the run has 16 steps, so the learning rate "
                                    "only gets to 0.00016 of 0.01")));
  EXPECT_THAT(notes({{"schedule.warmup", "15"}}), IsEmpty());
  EXPECT_THAT(notes({{"threads", "16"}}), ElementsAre(HasSubstr("--threads 16 on 2 cores")));
  EXPECT_THAT(notes({{"distribute.wire", "bf16"}}),
              ElementsAre("--wire has no effect with one worker"));
  EXPECT_THAT(notes({{"distribute.wire", "bf16"}, {"distribute.workers", "2"}}), IsEmpty());
  EXPECT_THAT(notes({{"early_stop.patience", "3"}}),
              ElementsAre("--early-stop 3: 1 epoch cannot be stopped early"));
  EXPECT_THAT(notes({{"checkpoint_every", "16"}}),
              ElementsAre(HasSubstr("--checkpoint-every 16 has no effect")));
  EXPECT_THAT(notes({{"measure.trace", "steps=17"}}),
              ElementsAre(HasSubstr("--trace steps=17 has no effect: the run has 16 steps")));
}

TEST_F(JobFiles, ClassesWithoutSamplesAreNoted) {
  std::string text;
  for (int i = 0; i < 20; ++i) text += "0," + std::to_string(i) + "\n";
  for (int i = 0; i < 5; ++i) text += "2," + std::to_string(i) + "\n";
  JobRequest job;
  job.network = "mlp";
  job.data = write("a.csv", text).string();
  job.batch = 4;
  EXPECT_THAT(resolved(job).notes,
              ElementsAre(HasSubstr("1 of 3 classes has no training samples: 1"),
                          HasSubstr("1 of 3 classes has no test samples"),
                          HasSubstr("1 of 3 classes has fewer than 10 training samples")));
  EXPECT_THAT(resolved(job).notes[1], HasSubstr("2 (5 to train)"));
}

TEST_F(JobFiles, DataOfOneClassIsRefused) {
  std::string text;
  for (int i = 0; i < 20; ++i) text += "0," + std::to_string(i % 2) + ".5\n";
  JobRequest job;
  job.network = "mlp";
  job.data = write("a.csv", text).string();
  EXPECT_THAT(refusal([&] { resolved(job); }), HasSubstr("at least two classes, found one only"));
}

TEST_F(JobFiles, DataIsRecordedSoThatItIsFoundFromElsewhere) {
  write("a.csv",
        "0,1\n1,2\n0,1\n1,2\n0,1\n1,2\n0,1\n1,2\n0,1\n1,2\n0,1\n1,2\n0,1\n0,1\n0,1\n0,1\n");
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(directory_);
  JobRequest job;
  job.network = "mlp";
  job.data = "a.csv";
  job.batch = 4;
  const std::string recorded = to_request(resolved(job)).data;
  std::filesystem::current_path(before);
  EXPECT_EQ(recorded, (std::filesystem::canonical(directory_) / "a.csv").string());
}

TEST_F(JobFiles, UntrainedWeightsAreNotEvaluatedUnlessAsked) {
  JobRequest job;
  job.data = "random";
  job.replay = "times.json";
  EXPECT_EQ(resolved(job).evaluate_every, 0);
  set_field(job, *find_field("evaluate.every"), "1", "--evaluate-every");
  EXPECT_EQ(resolved(job).evaluate_every, 1);
}

TEST_F(JobFiles, WordsOfOtherProgramsAreUnderstood) {
  const auto said = [&](const std::string& text) { return refusal([&] { parse(text); }); };
  EXPECT_THAT(said("[optimizer]\nlearning_rate = 0.1\n"),
              HasSubstr("unknown key 'optimizer.learning_rate'; did you mean 'optimizer.lr'?"));
  EXPECT_THAT(said("batch_size = 3\n"), HasSubstr("did you mean 'batch'?"));
  EXPECT_THAT(said("model = \"mlp\"\n"), HasSubstr("did you mean 'network'?"));
  EXPECT_THAT(said("momentum = 0.5\n"), HasSubstr("did you mean 'optimizer.momentum'?"));
  EXPECT_THAT(said("[optimizer]\nfrobnicate = 1\n"), HasSubstr("[optimizer] has: name, lr, "));
  for (const JobField& field : job_fields()) {
    EXPECT_EQ(field_called(field.key), &field) << field.key;
  }
}

TEST_F(JobFiles, EveryNetworkOfTheZooIsResolvedAtItsSmallestUsualSize) {
  for (const char* network : {"resnet18", "resnet50", "squeezenet", "resnet18-cifar"}) {
    JobRequest job;
    job.data = "random";
    job.network = network;
    job.input = "32";
    EXPECT_EQ(resolve(job, cpu(true), "nowhere").precision.dtype, DType::bf16) << network;
  }
}

TEST_F(JobFiles, FewSamplesMakeSmallBatchesUnlessOneWasAskedFor) {
  JobRequest job;
  job.data = "random";
  job.samples = 40;
  const Job done = resolve(job, cpu(false), "nowhere");
  EXPECT_EQ(done.batch, 40);
  EXPECT_THAT(done.notes, testing::Contains(HasSubstr("too few for the usual 64")));
  job.workers = 3;
  EXPECT_EQ(resolve(job, cpu(false), "nowhere").batch, 13);
  job.given.emplace_back("batch");
  EXPECT_THAT(refusal([&] { resolve(job, cpu(false), "nowhere"); }), HasSubstr("--batch"));
}

TEST_F(JobFiles, ADirectoryIsNoJobFile) {
  JobRequest job;
  EXPECT_THAT(refusal([&] { read_job_file(job, directory_); }),
              HasSubstr("use --data " + directory_.string()));
  write("job.toml", "batch = 1\n");
  EXPECT_THAT(refusal([&] { read_job_file(job, directory_); }),
              HasSubstr("--resume " + directory_.string()));
  EXPECT_THAT(refusal([&] { read_job_file(job, directory_ / "jop.toml"); }),
              HasSubstr("did you mean '" + (directory_ / "job.toml").string() + "'?"));
}

TEST_F(JobFiles, PrecisionDependsOnTheCpu) {
  EXPECT_EQ(choose_precision("auto", cpu(true)).dtype, DType::bf16);
  EXPECT_EQ(choose_precision("auto", cpu(false)).dtype, DType::f32);
  CpuInfo hidden = cpu(true);
  hidden.has_hidden_amx = true;
  EXPECT_EQ(choose_precision("auto", hidden).dtype, DType::f32) << "bf16 is slower without AMX";
  hidden.has_amx_bf16 = true;
  EXPECT_EQ(choose_precision("auto", hidden).dtype, DType::bf16) << "our kernels use it";
  EXPECT_EQ(choose_precision("bf16", hidden).dtype, DType::bf16);
  EXPECT_EQ(choose_precision("f32", cpu(true)).dtype, DType::f32);
  EXPECT_THAT(refusal([] { choose_precision("bf16", cpu(false)); }), HasSubstr("--precision f32"));
}

}  // namespace
}  // namespace syrtos::job
