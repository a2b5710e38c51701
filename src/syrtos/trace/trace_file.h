#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "syrtos/trace/events.h"

namespace syrtos::trace {

/// Writes the events of several ranks as one file for Perfetto and chrome://tracing (Trace Event
/// Format, a line per event), all on rank 0's clock: a process per rank ("rank 2 on c"), a thread
/// per track, more where spans of a track overlap without one enclosing the other. Counters that
/// are no finite number are left out. The file appears when it is complete, compressed when its
/// name ends in .gz. Throws RunError.
void write_trace(const std::filesystem::path& file, std::span<const RankEvents> ranks);

struct TraceContents {
  /// Times are on rank 0's clock already; clock has the error alone.
  std::vector<RankEvents> ranks;
  /// Empty, or where the file is damaged; then the ranks have the events before that.
  std::string problem;
};

/// Reads what write_trace wrote, plain or compressed. Throws RequestError when there is no such
/// file or it holds no trace.
TraceContents read_trace(const std::filesystem::path& file);

}  // namespace syrtos::trace
