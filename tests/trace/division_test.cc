#include "syrtos/trace/division.h"

#include <gmock/gmock.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "syrtos/trace/division_log.h"
#include "tests/support/mutator.h"
#include "tests/support/temporary.h"

namespace syrtos::trace {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::SizeIs;

StepDivision sample_division(int step) {
  StepDivision division;
  for (size_t i = 0; i < kParts; ++i) division.seconds[i] = 0.25 * static_cast<double>(i + step);
  division.hidden_network = 0.5 * step;
  return division;
}

RankDivision plain(const DivisionLog& log) {
  return {log.rank(), {log.records().begin(), log.records().end()}};
}

TEST(StepDivision, SumsAllPartsButWhatIsHidden) {
  StepDivision division;
  division[Part::load] = 1;
  division[Part::wait] = 2;
  division[Part::other] = 4;
  division.hidden_network = 8;
  EXPECT_EQ(division.sum(), 7);
  division += division;
  EXPECT_EQ(division.sum(), 14);
  EXPECT_EQ(division.hidden_network, 16);
  EXPECT_EQ(name_of(Part::load), "load");
  EXPECT_EQ(name_of(Part::checkpoint), "checkpoint");
  EXPECT_EQ(name_of(Part::other), "other");
}

TEST(StepDivision, IsTheSameAfterJson) {
  const StepDivision division = sample_division(3);
  EXPECT_EQ(division_from_json(json::parse(to_json(division).dump())), division);
  EXPECT_EQ(to_json(division)["load"], 0.75);
  EXPECT_EQ(to_json(division)["hidden_network"], 1.5);
}

TEST(StepDivision, PartsThatAreNotNamedTookNoTime) {
  StepDivision division;
  division[Part::forward] = 2;
  division[Part::evaluate] = 3;
  EXPECT_EQ(division_from_json(json::parse(R"({"forward": 2, "evaluate": 3})")), division);
  EXPECT_EQ(division.training(), 2);
  division[Part::update] = -1e-9;  // a difference of times
  EXPECT_EQ(to_json(division)["update"], 0);
}

TEST(StepDivision, RefusesJsonThatIsNotOne) {
  const json good = to_json(sample_division(1));
  const auto with = [&](const char* key, json value) {
    json changed = good;
    changed[key] = std::move(value);
    return changed;
  };
  json renamed = good;
  renamed.erase("wait");
  renamed["weight"] = 1;
  for (const json& bad : {with("load", -1), with("load", "1"), with("load", nullptr),
                          with("more", 1), renamed, json::array(), json(3)}) {
    EXPECT_THROW(division_from_json(bad), RequestError) << bad;
  }
}

TEST(DivisionLog, KeepsEveryStepWhileThereIsRoom) {
  DivisionLog log(2, 8);
  for (int step = 10; step < 18; ++step) log.add(step, step * 100, sample_division(step));
  ASSERT_THAT(log.records(), SizeIs(8));
  for (int i = 0; i < 8; ++i) {
    const DivisionRecord& record = log.records()[i];
    EXPECT_EQ(record.step, 10 + i);
    EXPECT_EQ(record.steps, 1);
    EXPECT_EQ(record.start, (10 + i) * 100);
    EXPECT_EQ(record.division(), sample_division(10 + i));
  }
}

TEST(DivisionLog, AddsNeighboursUpWhenItIsFullAndLosesNoTime) {
  for (const int steps : {9, 16, 17, 31, 32, 33, 1000, 12345}) {
    DivisionLog log(0, 8);
    StepDivision total;
    for (int step = 0; step < steps; ++step) {
      log.add(step, step * 10, sample_division(step % 7));
      total += sample_division(step % 7);
    }
    EXPECT_LE(log.records().size(), 8U);
    EXPECT_GE(log.records().size(), 5U);
    int64_t next = 0;
    for (const DivisionRecord& record : log.records()) {
      EXPECT_EQ(record.step, next) << "neighbours without gaps";
      EXPECT_EQ(record.start, next * 10);
      next += record.steps;
    }
    EXPECT_EQ(next, steps);
    // Quarters of seconds are exact in floats.
    EXPECT_EQ(log.total(), total);
  }
}

TEST(DivisionLog, TakesNoTimeAsLessThanNothing) {
  DivisionLog log(0);
  StepDivision division;
  division[Part::other] = -1e-9;
  division[Part::load] = std::numeric_limits<double>::quiet_NaN();
  log.add(0, 0, division);
  EXPECT_EQ(log.total(), StepDivision());
}

TEST(DivisionLog, IsTheSameAfterBytes) {
  DivisionLog log(3, 100);
  for (int step = 0; step < 150; ++step) log.add(step, int64_t{step} << 40, sample_division(step));
  EXPECT_EQ(division_from_bytes(to_bytes(log), "it"), plain(log));
  EXPECT_EQ(division_from_bytes(to_bytes(DivisionLog(1)), "it"), (RankDivision{1, {}}));
}

TEST(DivisionLog, RefusesBytesThatAreCutOrDamaged) {
  DivisionLog log(3, 100), other(4, 100);
  for (int step = 0; step < 20; ++step) log.add(step, step, sample_division(step));
  for (int step = 0; step < 9; ++step) other.add(step, step << 20, sample_division(step));
  const std::string bytes = to_bytes(log);
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THROW(division_from_bytes(bytes.substr(0, size), "rank 3"), RunError) << size;
  }
  EXPECT_THROW(division_from_bytes(bytes + '\0', "rank 3"), RunError);
  int refused = 0;
  for (uint32_t round = 0; round < 3000; ++round) {
    try {
      for (const DivisionRecord& record :
           division_from_bytes(Mutator(3, round).damage(bytes, to_bytes(other)), "x").records) {
        ASSERT_GE(record.division().sum(), 0);
        ASSERT_GE(record.steps, 1);
      }
    } catch (const RunError& error) {
      ASSERT_THAT(error.what(), HasSubstr("division of time of x: expected"));
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
}

class DivisionTable : public TemporaryDirectory {
 protected:
  std::string problem(const std::string& text) {
    const auto file = write("table.csv", text);
    return refusal([&] { read_divisions(file); });
  }
};

constexpr const char* kHeader =
    "rank,step,steps,start,load,forward,backward,update,network,wait,bubble,evaluate,"
    "checkpoint,other,hidden_network\n";

TEST_F(DivisionTable, HasExactlyTheseLines) {
  DivisionRecord record{5, 2, 12'000'000'345, {}, 1.5F};
  record.seconds = {0, 0.1F, 1e-9F, 3, 4, 5, 6, 7, 8};
  write_divisions(directory_ / "t.csv", {{{1, {record}}}});
  EXPECT_EQ(read(directory_ / "t.csv"),
            std::string(kHeader) + "1,5,2,12.000000345,0,0.1,1e-09,3,4,5,6,7,8,0,1.5\n");
}

TEST_F(DivisionTable, IsTheSameAfterReading) {
  std::vector<RankDivision> ranks;
  for (int rank = 0; rank < 3; ++rank) {
    RankDivision division{rank, {}};
    for (uint32_t i = 0; i < 50; ++i) {
      const auto words = philox({9, i}, {static_cast<uint32_t>(rank), 0, 0, 0});
      DivisionRecord record{i * 4, 4, int64_t{words[0]} << 20 | words[1], {}, 0};
      for (float& seconds : record.seconds) seconds = static_cast<float>(words[2]) / 3e9F;
      record.hidden_network = static_cast<float>(words[3]) * 1e-20F;
      division.records.push_back(record);
    }
    ranks.push_back(division);
  }
  write_divisions(directory_ / "t.csv", ranks);
  EXPECT_EQ(read_divisions(directory_ / "t.csv"), ranks);
  write_divisions(directory_ / "empty.csv", {});
  EXPECT_THAT(read_divisions(directory_ / "empty.csv"), SizeIs(0));
}

TEST_F(DivisionTable, WithAnythingElseIsRefusedWithItsLine) {
  const std::string header = kHeader, good = "0,1,1,0.000000001,1,2,3,4,5,6,7,8,9,9,10\n";
  EXPECT_EQ(problem(header + good), "was accepted");
  EXPECT_THAT(problem("rank,step\n"), HasSubstr("table.csv, line 1: expected 'rank,step,steps"));
  EXPECT_THAT(problem(""), HasSubstr("cannot read"));
  const auto second = [&](const std::string& line) { return problem(header + good + line); };
  EXPECT_THAT(second("0,1,1,0.000000001,1,2,3,4,5,6,7,8,9,9\n"),
              HasSubstr("line 3: expected hidden_network, found 'the end of the line'"));
  EXPECT_THAT(second("0,1,1,0.000000001,1,2,3,4,5,6,7,8,9,9,10,11\n"),
              HasSubstr("line 3: expected the end of the line, found '11'"));
  EXPECT_THAT(second("0,1,1,0.000000001,1,2,3,4,5,6,7,8,9,9,10"), HasSubstr("expected its end"));
  EXPECT_THAT(second("x,1,1,0.000000001,1,2,3,4,5,6,7,8,9,9,10\n"), HasSubstr("rank, a number"));
  EXPECT_THAT(second("0,-1,1,0.000000001,1,2,3,4,5,6,7,8,9,9,10\n"), HasSubstr("step, a number"));
  EXPECT_THAT(second("0,1,0,0.000000001,1,2,3,4,5,6,7,8,9,9,10\n"), HasSubstr("steps, a number"));
  EXPECT_THAT(second("0,1,1,0.001,1,2,3,4,5,6,7,8,9,9,10\n"), HasSubstr("nine decimals"));
  EXPECT_THAT(second("0,1,1,99999999999.000000001,1,2,3,4,5,6,7,8,9,9,10\n"), HasSubstr("start"));
  EXPECT_THAT(second("0,1,1,0.-00000001,1,2,3,4,5,6,7,8,9,9,10\n"), HasSubstr("start"));
  EXPECT_THAT(second("0,1,1,0.000000001,-1,2,3,4,5,6,7,8,9,9,10\n"), HasSubstr("load in seconds"));
  EXPECT_THAT(second("0,1,1,0.000000001,1,nan,3,4,5,6,7,8,9,10\n"), HasSubstr("forward in"));
  EXPECT_THAT(second("0,1,1,0.000000001,1,2,3,4,5,6,7,8,9,9,1e99\n"),
              HasSubstr("hidden_network in"));
  EXPECT_THAT(second("\n"), HasSubstr("line 3"));
}

}  // namespace
}  // namespace syrtos::trace
