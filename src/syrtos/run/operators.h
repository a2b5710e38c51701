#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "syrtos/run/directory.h"

namespace syrtos::run {

/// One kernel of worker 0's program.
struct OperatorItem {
  std::string layer, operation, kernel;
  std::string phase;  ///< "forward", "backward"
  int64_t calls = 0;
  double seconds = 0;  ///< of all calls, as flops and bytes
  double longest = 0;  ///< seconds of one call; 0: not known
  double flops = 0;
  double bytes = 0;  ///< of what it reads and writes

  /// Seconds of a usual call: without the longest, which may have been cold or held up.
  double usual_seconds() const;
  /// The same kernel, whatever it took.
  bool same_kernel(const OperatorItem& other) const;
  bool operator==(const OperatorItem&) const = default;
};

/// operators.json: how long worker 0's kernels took, in the order in which they run, and what its
/// machine can do at best.
struct OperatorProfile {
  std::string network, precision;  ///< precision: "f32", "bf16"
  int64_t batch = 0, threads = 0;  ///< of worker 0
  double peak_gflops = 0;  ///< of the machine in this precision; 0: not known, as the others
  double f32_gflops = 0, bf16_gflops = 0;
  double memory_gb_s = 0;
  std::vector<OperatorItem> items;

  bool operator==(const OperatorProfile&) const = default;
};

/// Throws RunError.
void write(const Directory& directory, const OperatorProfile& profile);
/// Nothing when it is missing, damaged (which is noted) or has no items.
std::optional<OperatorProfile> read_operators(const Directory& directory, Notes& notes);

}  // namespace syrtos::run
