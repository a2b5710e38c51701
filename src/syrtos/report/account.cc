#include "syrtos/report/account.h"

#include <fmt/format.h>

#include <algorithm>

#include "syrtos/planner/units.h"

namespace syrtos::report {

using trace::Part;

std::optional<TimeAccount> account_of(const std::vector<run::TrainedPart>& parts,
                                      const std::vector<trace::DivisionRecord>& first) {
  if (parts.empty()) return std::nullopt;
  TimeAccount account;
  for (const run::TrainedPart& part : parts) {
    if (part.time.training <= 0) return std::nullopt;
    account.start += part.time.start;
    account.data += part.time.data;
    account.set_up += part.time.set_up;
    account.meeting += part.time.meeting;
    account.steps += part.time.training;
    account.end += part.time.end;
  }
  for (const trace::DivisionRecord& record : first) {
    account.evaluation += record.division()[Part::evaluate];
    account.saving += record.division()[Part::checkpoint];
  }
  // What came after the last look at the clock is in the records and not in the parts yet.
  account.steps = std::max(0.0, account.steps - account.evaluation - account.saving);
  return account;
}

std::vector<std::pair<const char*, double>> account_parts(const TimeAccount& account) {
  return {{"start-up", account.start},     {"data", account.data},
          {"set-up", account.set_up},      {"meeting", account.meeting},
          {"steps", account.steps},        {"evaluation", account.evaluation},
          {"checkpoints", account.saving}, {"end", account.end}};
}

std::string account_text(const TimeAccount& account) {
  std::string text;
  const double all = account.sum();
  for (const auto& [name, seconds] : account_parts(account)) {
    if (seconds < 0.001 * all) continue;
    text += fmt::format("{}{} {} ({:.1f} %)", text.empty() ? "" : ", ", name,
                        planner::format_short_time(seconds), 100 * seconds / all);
  }
  return text;
}

}  // namespace syrtos::report
