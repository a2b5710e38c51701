#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "syrtos/report/explain.h"
#include "syrtos/report/explain_compare.h"
#include "syrtos/report/run.h"

namespace syrtos::report {

/// All that a page shows: explain_json and the curves, a step's timeline, buckets, staleness.
nlohmann::json page_json(const Run& run, const Explanation& explanation);

/// The same for several runs side by side.
nlohmann::json comparison_json(const std::vector<Explained>& runs, const Comparison& comparison);

/// One self-contained file: styles, scripts and data are in it, nothing is fetched.
std::string html_page(const nlohmann::json& data);

/// A page of the same looks without scripts; `body` is HTML.
std::string html_document(const std::string& title, const std::string& body);

/// One step of all ranks as the trace has it; null without a trace.
nlohmann::json timeline_json(const Run& run);

}  // namespace syrtos::report
