#include "syrtos/job/trace_steps.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>

#include "syrtos/base/error.h"

namespace syrtos::job {

namespace {

bool parse_step(std::string_view text, int64_t& step) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), step);
  return error == std::errc() && end == text.data() + text.size() && step >= 1;
}

}  // namespace

std::string to_string(const TraceSteps& steps) {
  if (!steps.any()) return "none";
  if (steps == parse_trace("all")) return "all";
  return steps.first == steps.last ? fmt::format("steps={}", steps.first)
                                   : fmt::format("steps={}..{}", steps.first, steps.last);
}

TraceSteps parse_trace(std::string_view text) {
  if (text == "none") return {};
  TraceSteps steps{1, std::numeric_limits<int64_t>::max()};
  if (text == "all") return steps;
  constexpr std::string_view kSteps = "steps=";
  const std::string_view range =
      text.starts_with(kSteps) ? text.substr(kSteps.size()) : std::string_view();
  const size_t dots = range.find("..");
  const bool valid =
      parse_step(range.substr(0, dots), steps.first) &&
      parse_step(dots == std::string_view::npos ? range : range.substr(dots + 2), steps.last);
  if (!valid || !steps.any()) {
    fail_request(
        "--trace: expected all, steps=100 or steps=100..110 (steps count from 1), found '{}'",
        text);
  }
  return steps;
}

}  // namespace syrtos::job
