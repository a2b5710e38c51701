#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "syrtos/run/directory.h"

namespace syrtos::run {

/// The version of the format of run directories. It grows when a file or a key gets another
/// meaning, not when one is added.
inline constexpr int64_t kFormat = 1;

/// run.json: by what the run was made.
struct About {
  int64_t format = 0;   ///< 0: not said
  std::string program;  ///< "syrtos 0.1.0"
  double made = 0;      ///< seconds since 1970

  /// Now.
  static About of_this_program();
  bool operator==(const About&) const = default;
};

/// Throws RunError.
void write(const Directory& directory, const About& about);
/// Nothing, and a note, when it is missing or damaged.
std::optional<About> read_about(const Directory& directory, Notes& notes);

/// Throws RequestError when the run says that it is of a newer format than this program knows.
void refuse_newer(const Directory& directory);

}  // namespace syrtos::run
