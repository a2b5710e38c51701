#include "syrtos/run/trace.h"

#include <fmt/format.h>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/run/text_file.h"

namespace syrtos::run {

void write(const Directory& directory, std::span<const trace::RankEvents> ranks) {
  trace::write_trace(directory.to_write(File::trace), ranks);
}

std::optional<trace::TraceContents> read_trace(const Directory& directory, Notes& notes) {
  if (!directory.has(File::trace)) return std::nullopt;
  const std::filesystem::path file = directory.file(File::trace);
  try {
    trace::TraceContents contents = trace::read_trace(file);
    if (!contents.problem.empty()) {
      notes.push_back(
          fmt::format("{}; what comes before is used", without_path(contents.problem, file)));
    }
    for (const trace::RankEvents& events : contents.ranks) {
      if (events.dropped() == 0) continue;
      notes.push_back(fmt::format("{}: rank {} had no room for {} events", name_of(File::trace),
                                  events.rank, format_count(events.dropped())));
    }
    return contents;
  } catch (const Error& error) {
    notes.push_back(without_path(error.what(), file));
    return std::nullopt;
  }
}

}  // namespace syrtos::run
