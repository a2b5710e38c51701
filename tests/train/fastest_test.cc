#include "syrtos/train/measure/fastest.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "syrtos/nn/zoo/zoo.h"
#include "tests/support/temporary.h"

namespace syrtos::train {
namespace {

using testing::ElementsAre;

bool never() { return false; }

class Fastest : public TemporaryDirectory {
 protected:
  Fastest() {
    cpu_.model = "Some CPU";
    cpu_.cores = 8;
    cpu_.has_avx512_bf16 = true;
  }

  void keep(const std::string& times) {
    std::filesystem::create_directories(directory_ / "syrtos");
    std::ofstream(directory_ / "syrtos" / "settings.json")
        << R"({"Some CPU, syrtos )" SYRTOS_VERSION << R"(, lenet5 1x28x28, 10 classes, batch 42": )"
        << times << "}";
  }

  Chosen choose(Wanted wanted, bool may_measure = false) {
    const ProbeOptions options{.precision = {DType::bf16, "as it was"}, .threads = cpu_.cores};
    return choose_fastest(nn::find_network("lenet5"), options, wanted, may_measure, cpu_,
                          directory_, never);
  }

  CpuInfo cpu_;
};

TEST_F(Fastest, TheFasterPrecisionIsTaken) {
  keep(R"({"f32, 8 threads": 30, "bf16, 8 threads": 10})");
  const Chosen chosen = choose({.precision = true});
  EXPECT_EQ(chosen.precision.dtype, DType::bf16);
  EXPECT_EQ(chosen.precision.reason, "3.0 times as fast as f32 here");
  EXPECT_EQ(chosen.threads, 8);
}

TEST_F(Fastest, SlowerAndEquallyFastPrecisionsAreNot) {
  keep(R"({"f32, 8 threads": 10, "bf16, 8 threads": 34})");
  EXPECT_EQ(choose({.precision = true}).precision.dtype, DType::f32);
  EXPECT_EQ(choose({.precision = true}).precision.reason, "bf16 takes 3.40 times as long here");
  keep(R"({"f32, 8 threads": 10, "bf16, 8 threads": 9.8})");
  EXPECT_EQ(choose({.precision = true}).precision.dtype, DType::f32);
  EXPECT_EQ(choose({.precision = true}).precision.reason, "bf16 is no faster here");
}

TEST_F(Fastest, FewerThreadsAreTakenWhereTheyGain) {
  keep(R"({"bf16, 8 threads": 30, "bf16, 4 threads": 10, "bf16, 2 threads": 9.9})");
  EXPECT_EQ(choose({.threads = true}).threads, 4);
  keep(R"({"bf16, 8 threads": 10, "bf16, 4 threads": 11, "bf16, 2 threads": 1})");
  EXPECT_EQ(choose({.threads = true}).threads, 8);
}

TEST_F(Fastest, WhatIsNotWantedOrNotKnownStays) {
  keep(R"({"f32, 8 threads": 1, "bf16, 8 threads": 10, "bf16, 4 threads": 1})");
  EXPECT_EQ(choose({}).precision.reason, "as it was");
  EXPECT_EQ(choose({}).threads, 8);
  for (const char* damaged :
       {"{}", "[1]", R"({"f32, 8 threads": -3, "bf16, 8 threads": "x"})", "{"}) {
    keep(damaged);
    EXPECT_EQ(choose({.precision = true, .threads = true}).precision.reason, "as it was")
        << damaged;
  }
}

TEST_F(Fastest, WhatIsNotKnownIsMeasured) {
  cpu_.cores = 2;
  cpu_.has_avx512_bf16 = false;
  const ProbeOptions options{.batch = 2, .threads = 2};
  const Chosen chosen =
      choose_fastest(nn::find_network("lenet5"), options, {.precision = true, .threads = true},
                     /*may_measure=*/true, cpu_, directory_, never);
  EXPECT_EQ(chosen.precision.dtype, DType::f32) << "this CPU has no other";
  EXPECT_THAT(chosen.threads, testing::AnyOf(1, 2));
}

TEST_F(Fastest, DoctorsSeeWhatIsKeptForThisCpu) {
  keep(R"({"f32, 8 threads": 30, "bf16, 8 threads": 10})");
  EXPECT_THAT(known_settings(cpu_, directory_),
              ElementsAre("lenet5 1x28x28, 10 classes, batch 42: bf16, 8 threads"));
  cpu_.model = "Another CPU";
  EXPECT_THAT(known_settings(cpu_, directory_), ElementsAre());
}

TEST(ThreadCounts, GoDownByHalves) {
  EXPECT_THAT(thread_counts(16), ElementsAre(16, 8, 4, 2, 1));
  EXPECT_THAT(thread_counts(6), ElementsAre(6, 3, 1));
  EXPECT_THAT(thread_counts(1), ElementsAre(1));
}

}  // namespace
}  // namespace syrtos::train
