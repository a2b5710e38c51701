#include "syrtos/report/class_report.h"

#include <gmock/gmock.h>

namespace syrtos::report {
namespace {

using testing::HasSubstr;
using testing::Not;

// Truth 0 0 0 0 1 1 2 2 2 2, taken for 0 0 0 1 1 0 2 2 2 0; the figures are what scikit-learn's
// classification_report gives for it.
ClassReport three_classes() {
  return make_class_report({3, 1, 0, 1, 1, 0, 1, 0, 3}, {"cat", "dog", "bird"});
}

TEST(ClassReport, HasTheScoresThatOthersGive) {
  const ClassReport report = three_classes();
  EXPECT_DOUBLE_EQ(report.accuracy, 0.7);
  EXPECT_DOUBLE_EQ(report.classes[0].precision, 0.6);
  EXPECT_DOUBLE_EQ(report.classes[0].recall, 0.75);
  EXPECT_NEAR(report.classes[0].f1, 2.0 / 3, 1e-12);
  EXPECT_DOUBLE_EQ(report.classes[1].precision, 0.5);
  EXPECT_DOUBLE_EQ(report.classes[1].recall, 0.5);
  EXPECT_DOUBLE_EQ(report.classes[2].precision, 1);
  EXPECT_DOUBLE_EQ(report.classes[2].recall, 0.75);
  EXPECT_NEAR(report.classes[2].f1, 6.0 / 7, 1e-12);
  EXPECT_EQ(report.classes[2].samples, 4);
  EXPECT_DOUBLE_EQ(report.mean.precision, 0.7);
  EXPECT_NEAR(report.mean.recall, 2.0 / 3, 1e-12);
  EXPECT_NEAR(report.weighted.precision, 0.74, 1e-12);
  EXPECT_NEAR(report.weighted.recall, 0.7, 1e-12);
  EXPECT_NEAR(report.weighted.f1, 0.709523809523809, 1e-12);
}

TEST(ClassReport, AClassWithoutSamplesHasZeros) {
  const ClassReport report = make_class_report({2, 0, 0, 0}, {});
  EXPECT_EQ(report.classes[1].precision, 0);
  EXPECT_EQ(report.classes[1].recall, 0);
  EXPECT_EQ(report.classes[1].f1, 0);
  EXPECT_EQ(report.names, (std::vector<std::string>{"0", "1"}));
  EXPECT_EQ(report.accuracy, 1);
}

TEST(ClassReport, TextNamesWhatIsConfusedMost) {
  const std::string text = to_text(make_class_report({3, 1, 0, 1, 1, 0, 4, 0, 3}, {"cat", "dog"}));
  EXPECT_THAT(text, HasSubstr("most often confused:\n  2 taken for cat: 4 of 7\n"));
  EXPECT_THAT(to_text(make_class_report({1, 0, 0, 1}, {})), Not(HasSubstr("confused")));
}

TEST(ClassReport, ThePictureHasACellForWhatHappenedAndEscapesNames) {
  const std::string svg = to_svg(make_class_report({3, 1, 0, 2}, {"<a>", "b"}));
  EXPECT_THAT(svg, HasSubstr("<title>&lt;a&gt; taken for b: 1</title>"));
  EXPECT_THAT(svg, Not(HasSubstr("b taken for &lt;a&gt;")));
  EXPECT_THAT(svg, Not(HasSubstr("<a>")));
}

}  // namespace
}  // namespace syrtos::report
