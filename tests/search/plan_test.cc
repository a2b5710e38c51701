#include "syrtos/search/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "syrtos/base/error.h"
#include "syrtos/search/sampler.h"

namespace syrtos::search {
namespace {

using testing::HasSubstr;

std::string refusal(const std::string& text) {
  try {
    check(parse_plan(text, "space.toml"));
  } catch (const RequestError& error) {
    return error.what();
  }
  return "it was taken";
}

constexpr const char* kSpace = R"(network = "mlp"
epochs = 9
[optimizer]
momentum = 0.5
[space]
optimizer.lr = { log = [0.001, 0.1] }
batch = [16, 32]
schedule.warmup = { range = [0, 10] }
optimizer = ["adam", "momentum"]
optimizer.beta1 = { range = [0.5, 0.99], when = { optimizer = "adam" } }
[search]
sampler = "random"
trials = 12
halving = 3
hours = 1.5
)";

// TOML refuses a key that is a value and a section at once, so the short form stands alone.
constexpr const char* kConditions = R"(
[space]
optimizer.beta1 = { range = [0.5, 0.99], points = 3, when = { optimizer.name = "adam" } }
optimizer.name = ["adam", "momentum", "sgd"]
optimizer.momentum = { choice = [0.8, 0.9], when = { optimizer.name = ["momentum"] } }
)";

TEST(Plan, IsAJobFileWithTwoSectionsMore) {
  std::string text = kSpace;
  text.erase(text.find("optimizer = ["), text.find("[search]") - text.find("optimizer = ["));
  const Plan plan = parse_plan(text, "space.toml");
  EXPECT_EQ(plan.job.network, "mlp");
  EXPECT_EQ(plan.job.momentum, 0.5);
  EXPECT_EQ(plan.space.parameters.size(), 3u);
  EXPECT_EQ(plan.settings.trials, 12);
  EXPECT_EQ(plan.settings.hours, 1.5);
  EXPECT_EQ(plan.rungs(), (std::vector<int64_t>{1, 3, 9}));
}

TEST(Plan, ReadsBackWhatItWrites) {
  const Plan plan = parse_plan(kConditions, "space.toml");
  const std::string text = to_toml(plan);
  EXPECT_EQ(to_toml(parse_plan(text, "again.toml")), text);
}

TEST(Plan, PutsWhatAConditionNamesFirst) {
  const Plan plan = parse_plan(kConditions, "space.toml");
  EXPECT_EQ(plan.space.parameters[0].key(), "optimizer.name");
  const std::vector<double> places = {0.0, 0.5, 0.5};
  const Point adam = plan.space.at(places);
  EXPECT_EQ(adam.count("optimizer.beta1"), 1u);
  EXPECT_EQ(adam.count("optimizer.momentum"), 0u);
}

TEST(Plan, RefusesWhatMakesNoSense) {
  EXPECT_THAT(refusal("[space]\nlearning_rate = { log = [0.1, 1.0] }"),
              HasSubstr("space.toml:2: unknown option 'learning_rate' in [space]; did you mean "
                        "'optimizer.lr'?"));
  EXPECT_THAT(refusal("[space]\nbatch = []"), HasSubstr("expected at least one value"));
  EXPECT_THAT(refusal("[space]\nbatch = { range = [8, 8] }"),
              HasSubstr("expected a low end below the high one"));
  EXPECT_THAT(refusal("[space]\nbatch = { range = [8, 1] }"), HasSubstr("below the high one"));
  EXPECT_THAT(refusal("[space]\nbatch = { range = [8, 9.5] }"), HasSubstr("as whole numbers"));
  EXPECT_THAT(refusal("[space]\noptimizer.lr = { log = [0.0, 1.0] }"), HasSubstr("above 0"));
  EXPECT_THAT(refusal("[space]\nbatch = [16, \"many\"]"), HasSubstr("whole number"));
  EXPECT_THAT(refusal("[space]\nbatch = [16, 16]"), HasSubstr("each value once"));
  EXPECT_THAT(refusal("[space]\nbatch = 16"), HasSubstr("a list of values"));
  EXPECT_THAT(refusal("[space]\nbatch = { rang = [1, 2] }"), HasSubstr("did you mean 'range'"));
  EXPECT_THAT(refusal("[space]\nnetwork = { range = [1, 2] }"), HasSubstr("texts"));
  EXPECT_THAT(refusal("[space]\nrun = [\"a\", \"b\"]"), HasSubstr("cannot be searched"));
  EXPECT_THAT(refusal("[space]\nearly_stop.metric = [\"loss\"]"), HasSubstr("compared by"));
  EXPECT_THAT(refusal("epochs = 3"), HasSubstr("[space] is empty"));
  EXPECT_THAT(refusal("[space]\nbatch = [1, 2]\n[search]\ntrails = 3"),
              HasSubstr("did you mean 'trials'"));
  EXPECT_THAT(refusal("[space]\nbatch = [1, 2]\n[search]\ntrials = \"x\""),
              HasSubstr("expected a whole number"));
  EXPECT_THAT(refusal("[space]\nbatch = [1, 2]\n[search]\nsampler = \"tbe\""),
              HasSubstr("did you mean 'tpe'"));
  EXPECT_THAT(refusal("[space]\nbatch = [1, 2]\n[search]\nhalving = 3"),
              HasSubstr("expected more --epochs"));
  EXPECT_THAT(refusal("netwrk = \"mlp\"\n[space]\nbatch = [1, 2]"), HasSubstr("'netwrk'"));
}

TEST(Plan, RefusesConditionsThatCannotHold) {
  const std::string base = "[space]\noptimizer.name = [\"adam\", \"sgd\"]\n";
  EXPECT_THAT(refusal(base + "batch = { choice = [1], when = { optimizer.name = \"adma\" } }"),
              HasSubstr("did you mean 'adam'"));
  EXPECT_THAT(refusal(base + "batch = { choice = [1], when = { seed = 3 } }"),
              HasSubstr("not in [space]"));
  EXPECT_THAT(refusal("[space]\nbatch = { choice = [1, 2], when = { seed = 3 } }\n"
                      "seed = { choice = [3, 4], when = { batch = 1 } }"),
              HasSubstr("circle"));
}

TEST(Grid, HasEveryCombinationOnceAndRefusesWhatIsTooLarge) {
  Plan plan = parse_plan(kConditions, "space.toml");
  plan.settings.sampler = "grid";
  // adam with three betas, momentum with two values, sgd.
  const std::vector<Point> points = grid_points(plan);
  EXPECT_EQ(points.size(), 6u);
  EXPECT_EQ(std::set<Point>(points.begin(), points.end()).size(), 6u);

  const std::string ten = "{ range = [0.0, 1.0], points = 1000 }\n";
  EXPECT_THAT(refusal("[space]\nclip = " + ten + "label_smoothing = " + ten + "optimizer.lr = " +
                      ten + "optimizer.beta1 = " + ten + "[search]\nsampler = \"grid\""),
              HasSubstr("1e+12 points"));
  EXPECT_THAT(refusal("[space]\nclip = { range = [0.0, 1.0] }\n[search]\nsampler = \"grid\""),
              HasSubstr("points = 5"));
}

TEST(Parameter, FindsTheirPlacesAgain) {
  const Plan plan = parse_plan(
      "[space]\nbatch = { log = [1, 512] }\nschedule.warmup = { range = [0, 7] }\n"
      "optimizer.lr = { log = [0.0001, 1.0] }\nclip = { range = [-1.0, 3.0] }\n"
      "precision = [\"f32\", \"bf16\", \"auto\"]",
      "space.toml");
  for (const Parameter& parameter : plan.space.parameters) {
    for (int i = 0; i <= 100; ++i) {
      const std::string value = parameter.at(i / 100.0);
      EXPECT_EQ(parameter.at(parameter.place_of(value)), value) << parameter.key();
    }
    if (parameter.kind == Parameter::Kind::choice) continue;
    EXPECT_EQ(std::stod(parameter.at(0)), parameter.low);
    EXPECT_EQ(std::stod(parameter.at(1)), parameter.high);
  }
}

TEST(Parameter, GivesEachWholeNumberTheSameShare) {
  const Plan plan = parse_plan("[space]\nschedule.warmup = { range = [0, 7] }", "space.toml");
  std::map<std::string, int> counts;
  for (int i = 0; i < 8000; ++i) ++counts[plan.space.parameters[0].at((i + 0.5) / 8000)];
  EXPECT_EQ(counts.size(), 8u);
  for (const auto& [value, count] : counts) EXPECT_EQ(count, 1000) << value;
}

}  // namespace
}  // namespace syrtos::search
