#include <gmock/gmock.h>

#include <cmath>

#include "syrtos/train/network/evaluate.h"
#include "syrtos/train/network/score_sums.h"

namespace syrtos::train {
namespace {

using nn::Loss;

/// Samples with one row of outputs and one of targets each.
ScoreSums sums_of(const nn::Task& task, const std::vector<std::vector<float>>& outputs,
                  const std::vector<std::vector<float>>& targets) {
  ScoreSums sums(task, static_cast<int64_t>(outputs[0].size()));
  for (size_t i = 0; i < outputs.size(); ++i) sums.add(outputs[i], {.values = targets[i]});
  return sums;
}

// Values [[3, 10], [-0.5, 20], [2, 30], [7, 35]], predicted [[2.5, 12], [0, 19], [2, 33], [8, 30]];
// the figures are what scikit-learn's metrics give.
TEST(Scores, OfValuesAreWhatOthersGive) {
  const std::vector<std::vector<float>> targets{{3, 10}, {-0.5F, 20}, {2, 30}, {7, 35}};
  const std::vector<std::vector<float>> outputs{{2.5F, 12}, {0, 19}, {2, 33}, {8, 30}};
  const ScoreSums sums = sums_of({.loss = Loss::squared_error}, outputs, targets);
  const run::TestScores details = sums.details({"a"});
  EXPECT_NEAR(details.values[0].mae, 0.5, 1e-12);
  EXPECT_NEAR(details.values[0].rmse, 0.6123724356957945, 1e-12);
  EXPECT_NEAR(details.values[0].r2, 0.9486081370449679, 1e-12);
  EXPECT_NEAR(details.values[1].mae, 2.75, 1e-12);
  EXPECT_NEAR(details.values[1].rmse, 3.122498999199199, 1e-12);
  EXPECT_NEAR(details.values[1].r2, 0.8942372881355932, 1e-12);
  EXPECT_EQ(details.names, (std::vector<std::string>{"a", "1"}));
  EXPECT_NEAR(run::value_of(sums.scores(), "mae"), (0.5 + 2.75) / 2, 1e-12);
  EXPECT_NEAR(run::value_of(sums.scores(), "r2"), (0.9486081370449679 + 0.8942372881355932) / 2,
              1e-12);
  EXPECT_NEAR(sums.loss(), (0.375 / 2 + 9.75 / 2) / 2, 1e-12);
}

/// Whatever scale a task learns in, errors are in the unit of the data.
TEST(Scores, OfValuesDoNotDependOnTheScale) {
  const std::vector<std::vector<float>> targets{{1000}, {1010}, {1030}};
  const nn::Task plain{.loss = Loss::absolute_error};
  const nn::Task scaled{.loss = Loss::absolute_error, .mean = {1010}, .deviation = {20}};
  const ScoreSums a = sums_of(plain, {{1002}, {1007}, {1030}}, targets);
  const ScoreSums b = sums_of(scaled, {{-0.4F}, {-0.15F}, {1}}, targets);
  for (const char* metric : {"mae", "rmse", "r2"}) {
    EXPECT_NEAR(run::value_of(a.scores(), metric), run::value_of(b.scores(), metric), 1e-4)
        << metric;
  }
  EXPECT_NEAR(a.loss(), 20 * b.loss(), 1e-4) << "the loss is in deviations";
  EXPECT_THAT(answers(scaled, std::vector<float>{-0.4F}),
              testing::ElementsAre(testing::DoubleNear(1002, 1e-4)));
}

TEST(Scores, OfLabelsCountWhatIsFound) {
  const nn::Task task{.loss = Loss::binary_cross_entropy};
  const ScoreSums sums =
      sums_of(task, {{2, -1}, {-1, -1}, {3, 1}, {1, -2}}, {{1, 0}, {1, 1}, {0, 1}, {1, 0}});
  const run::TestScores details = sums.details({"x", "y"});
  EXPECT_EQ(details.labels[0], (run::LabelCounts{.found = 2, .wrong = 1, .missed = 1}));
  EXPECT_EQ(details.labels[1], (run::LabelCounts{.found = 1, .wrong = 0, .missed = 1}));
  EXPECT_NEAR(run::value_of(sums.scores(), "f1"), (4.0 / 6 + 2.0 / 3) / 2, 1e-12);
  EXPECT_NEAR(run::value_of(sums.scores(), "accuracy"), 5.0 / 8, 1e-12);
}

TEST(Scores, OfClassesCountWhatIsTakenForWhat) {
  ScoreSums sums({}, 3);
  const std::vector<float> first{3, 1, 0}, last{0, 1, 3};
  sums.add(first, {.label = 0});
  sums.add(first, {.label = 1});
  sums.add(last, {.label = 2});
  EXPECT_EQ(sums.details({}).confusion, (std::vector<int64_t>{1, 0, 0, 1, 0, 0, 0, 0, 1}));
  EXPECT_NEAR(run::value_of(sums.scores(), "accuracy"), 2.0 / 3, 1e-12);
  EXPECT_EQ(run::value_of(sums.scores(), "top5"), 1);
  EXPECT_TRUE(ScoreSums({}, 101).details({}).empty()) << "of very many classes no pairs";
  EXPECT_FALSE(ScoreSums({}, 101, true).details({}).empty());
}

TEST(Scores, OfWorkersAddUp) {
  const nn::Task task{.loss = Loss::huber};
  const std::vector<std::vector<float>> outputs{{1}, {2}, {3}}, targets{{0}, {2.5F}, {5}};
  const ScoreSums all = sums_of(task, outputs, targets);
  ScoreSums parts = sums_of(task, {outputs[0]}, {targets[0]});
  parts.merge(sums_of(task, {outputs[1], outputs[2]}, {targets[1], targets[2]}).sums());
  EXPECT_EQ(all.sums(), parts.sums());
  EXPECT_THROW(parts.merge({1, 2}), RunError);
}

// scikit-learn's average_precision_score of the same.
TEST(Scores, AveragePrecisionIsWhatOthersGive) {
  const std::vector<float> scores{0.1F, 0.4F, 0.35F, 0.8F, 0.4F}, truth{0, 0, 1, 1, 1};
  EXPECT_NEAR(average_precision(scores, truth), 0.8055555555555556, 1e-12);
  EXPECT_EQ(average_precision(std::vector<float>{1, 2}, std::vector<float>{0, 0}), 0);
}

TEST(Scores, OfTrainingBatchesAreWhatTheMetricSays) {
  const std::vector<float> outputs{1, 2, 0, 3, 0, 0};
  EXPECT_EQ(score_of({}, outputs, std::vector<float>{1, 2}, 2), 1);
  EXPECT_EQ(score_of({.mixed = true}, outputs, std::vector<float>{0.2F, 0.8F, 0, 0.4F, 0.6F, 0}, 2),
            1);
  const nn::Task values{.loss = Loss::squared_error, .mean = {0, 0, 0}, .deviation = {1, 10, 100}};
  EXPECT_NEAR(score_of(values, outputs, std::vector<float>{1, 1, 0, 3, 0, 0.5F}, 2),
              (10 + 50) / 3.0, 1e-5);
  EXPECT_NEAR(score_of({.loss = Loss::binary_cross_entropy}, outputs,
                       std::vector<float>{1, 0, 0, 1, 0, 0}, 2),
              2.0 / 3 + 1, 1e-6);
}

TEST(Scores, AnswersAndOutputsAreOpposites) {
  const std::vector<float> row{0.3F, -1, 2};
  for (const nn::Task& task : {nn::Task{.loss = Loss::absolute_error}, nn::Task{},
                               nn::Task{.loss = Loss::binary_cross_entropy}}) {
    const std::vector<double> said = answers(task, row);
    const std::vector<float> again = outputs_of(task, std::vector<float>(said.begin(), said.end()));
    const std::vector<double> same = answers(task, again);
    for (size_t i = 0; i < row.size(); ++i) EXPECT_NEAR(said[i], same[i], 1e-6);
  }
}

}  // namespace
}  // namespace syrtos::train
