#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>

namespace syrtos {

/// Elements: parameters begin on cache lines, those of their bf16 copies too, so that threads that
/// share a sweep never share a line and tiles never straddle two. What is planned lies the same
/// way.
inline constexpr size_t kParameterLine = 32;

/// What the control groups of a process allow it: the narrowest of them all.
struct GroupMemory {
  std::optional<int64_t> limit;  ///< Bytes; none: as much as the machine has.
  std::optional<int64_t> free;
  /// Processes that the kernel has ended because nothing was left; none: it does not count them.
  std::optional<int64_t> kills;
};
/// `groups` and `mounted`: where the kernel says which groups, and where they are.
GroupMemory group_memory(const std::filesystem::path& groups = "/proc/self/cgroup",
                         const std::filesystem::path& mounted = "/sys/fs/cgroup");

/// Bytes that this process can still get without swapping.
int64_t free_memory();
/// Bytes that all processes of this job on this machine may have together.
int64_t memory_limit();
/// Processes that the kernel has ended so far because memory was used up: those of this process's
/// groups where they are counted, else of the machine.
int64_t memory_kills();

}  // namespace syrtos
