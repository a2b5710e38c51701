#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace syrtos::data {

/// Told how a download goes: bytes that are there, and of how many (0: not known).
using BytesDone = std::function<void(int64_t done, int64_t of)>;

struct DownloadOptions {
  std::chrono::milliseconds connect_timeout = std::chrono::seconds(8);
  /// A connection that delivers less than 1 kB/s for this long counts as dead.
  std::chrono::seconds stall_timeout = std::chrono::seconds(30);
  int64_t most_bytes = int64_t{16} << 30;  ///< a larger file is refused
};

/// Fetches an http or https URL into `file`, which appears only when it is complete. What arrived
/// of an interrupted download stays beside it as FILE.part (and FILE.part.from, what the server
/// said about it): the next attempt goes on from there when the server still has the same file and
/// begins anew otherwise. A proxy comes from the usual environment variables. Blocks; `should_stop`
/// is asked some ten times a second. Throws RunError that names the URL, what was expected and
/// found.
void download(const std::string& url, const std::filesystem::path& file,
              const DownloadOptions& options, const BytesDone& progress,
              const std::function<bool()>& should_stop);

}  // namespace syrtos::data
