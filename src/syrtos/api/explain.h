#pragma once

#include <filesystem>
#include <vector>

#include "syrtos/report/explain.h"
#include "syrtos/report/explain_compare.h"
#include "syrtos/report/run.h"

namespace syrtos::api {

/// A run and what is to be said about it; texts, JSON and pages of it are made by `report`.
using report::Explained;

/// Reads the run's directory and says where the time went, why, and what to do about it. Throws
/// RequestError when it is no run.
Explained explain(const std::filesystem::path& run, const report::ExplainOptions& options = {});

/// Runs, and in what they differ.
struct Compared {
  std::vector<Explained> runs;
  report::Comparison comparison;
};
/// Two or more; the first is what the others are compared with.
Compared compare(const std::vector<std::filesystem::path>& runs);

}  // namespace syrtos::api
