#pragma once

// What a run wrote about its time.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "syrtos/job/job.h"
#include "syrtos/trace/division_log.h"

namespace syrtos::train {

inline std::vector<trace::RankDivision> divisions_of(const job::JobRequest& job) {
  return trace::read_divisions(std::filesystem::path(job.run) / "steps.csv");
}

inline nlohmann::json json_of(const job::JobRequest& job, const char* name) {
  std::ifstream in(std::filesystem::path(job.run) / name);
  return nlohmann::json::parse(in);
}

inline trace::StepDivision total_of(const trace::RankDivision& rank) {
  trace::StepDivision total;
  for (const trace::DivisionRecord& record : rank.records) total += record.division();
  return total;
}

/// A record's parts are measured apart from the moments at which records begin.
inline void expect_no_gaps(const trace::RankDivision& rank) {
  for (size_t i = 0; i + 1 < rank.records.size(); ++i) {
    const trace::DivisionRecord& record = rank.records[i];
    const double wall = static_cast<double>(rank.records[i + 1].start - record.start) * 1e-9;
    EXPECT_NEAR(record.division().sum(), wall, 0.01 * wall) << "step " << record.step;
  }
}

}  // namespace syrtos::train
