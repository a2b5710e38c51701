#pragma once

#include <filesystem>

#include "syrtos/report/explain.h"
#include "syrtos/report/explain_compare.h"
#include "syrtos/report/run.h"

namespace syrtos::api {

/// A run and what is to be said about it; texts, JSON and pages of it are made by `report`.
struct Explained {
  report::Run run;
  report::Explanation explanation;
};

/// Reads the run's directory and says where the time went, why, and what to do about it. Throws
/// RequestError when it is no run.
Explained explain(const std::filesystem::path& run, const report::ExplainOptions& options = {});

/// Two runs, and in what they differ.
struct Compared {
  Explained a, b;
  report::Comparison comparison;
};
Compared compare(const std::filesystem::path& a, const std::filesystem::path& b);

}  // namespace syrtos::api
