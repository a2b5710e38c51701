#include "syrtos/job/job.h"

#include <gmock/gmock.h>

#include "syrtos/job/file.h"
#include "syrtos/job/image_size.h"
#include "syrtos/job/precision.h"
#include "syrtos/job/resolve.h"
#include "tests/support/temporary.h"

namespace syrtos::job {
namespace {

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
  EXPECT_THAT(text, HasSubstr("did you mean 'optimizer.momentum'?"));
  EXPECT_THAT(refusal([&] { parse("epoch = 3\n"); }), HasSubstr("did you mean 'epochs'?"));
  EXPECT_THAT(refusal([&] { parse("[optimiser]\nlr = 3\n"); }), HasSubstr("'optimiser'"));
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
      {"data.prefetch", "-1"},
      {"evaluate.views", "many"},
      {"evaluate.every", "0"},
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
  EXPECT_EQ(done.precision.dtype, DType::bf16);
  EXPECT_EQ(done.threads, 2);
  EXPECT_EQ(done.classes, 10);
  EXPECT_EQ(done.image, (Shape{1, 28, 28}));
  EXPECT_EQ(done.schedule.rate, 1.0);
  EXPECT_EQ(done.optimizer.epsilon, 1e-6);
  EXPECT_EQ(done.schedule.every, 16 / 3);  // a third of the 16 steps of the run
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
  EXPECT_THAT(refusal([] { choose_precision("bf16", cpu(false)); }), HasSubstr("f32 or auto"));
}

}  // namespace
}  // namespace syrtos::job
