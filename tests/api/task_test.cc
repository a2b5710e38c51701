#include "syrtos/api/task.h"

#include <gmock/gmock.h>

#include "syrtos/api/resume.h"
#include "syrtos/base/error.h"
#include "syrtos/launch/token.h"
#include "syrtos/nn/described.h"

namespace syrtos::api {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::ThrowsMessage;

/// Every field differs from its default.
job::JobRequest unusual_request() {
  job::JobRequest request;
  for (const job::JobField& field : job::job_fields()) {
    std::visit(
        [&](const auto member) {
          auto& value = request.*member;
          if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::string>) {
            value = "word \"" + std::string(field.key) + "\"\nand a line";
          } else {
            value = 3;
          }
        },
        field.member);
  }
  return request;
}

TEST(Task, RanksGetWhatTheLauncherWasAsked) {
  const TrainRequest request{
      .job = unusual_request(), .resume = "runs/a b", .planned_step_s = 0.25};
  const TrainRequest found = parse_task(to_task(request));
  for (const job::JobField& field : job::job_fields()) {
    EXPECT_EQ(field_text(found.job, field), field_text(request.job, field)) << field.key;
  }
  EXPECT_EQ(found.resume, request.resume);
  EXPECT_EQ(found.planned_step_s, request.planned_step_s);
}

TEST(Task, ANetworkThatIsDataTravelsToo) {
  TrainRequest request;
  request.own.network = nn::described_network(
      R"({"name": "tiny", "input": [6], "layers": [{"op": "linear", "name": "fc", "of": ["input"], "out": 3}]})");
  const TrainRequest found = parse_task(to_task(request));
  ASSERT_TRUE(found.own.network);
  EXPECT_EQ(found.own.network->name(), "tiny");
  EXPECT_EQ(found.own.network->file()->bytes, request.own.network->file()->bytes);
}

TEST(Task, IsOneLineThatAPipeHolds) {
  const std::string line = to_task({.job = unusual_request()});
  EXPECT_THAT(line, Not(HasSubstr("\n")));
  EXPECT_LT(line.size(), launch::kMostTask);
}

TEST(Task, RefusesWhatIsNone) {
  for (const char* text : {"", "none", "{}", "[]", R"({"job": 7})", R"({"job": "batch = 1"})"}) {
    EXPECT_THAT([&] { parse_task(text); },
                ThrowsMessage<RequestError>(HasSubstr("from the launcher")))
        << text;
  }
}

TEST(Changes, AreAppliedInOrder) {
  job::JobRequest request;
  const job::JobField* batch = job::find_field("batch");
  apply({{batch, "8"}, {batch, "16"}}, request);
  EXPECT_EQ(request.batch, 16);
}

}  // namespace
}  // namespace syrtos::api
