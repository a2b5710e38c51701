#pragma once

#include <cstdint>
#include <string>

#include "syrtos/launch/placement.h"

namespace syrtos::launch {

/// What the launcher tells a rank's process, as one word of its command line: `--join WORD`. The
/// token comes separately (see read_token).
struct Invitation {
  Rank rank = 0;
  Role role = Role::worker;
  int cores = 1;  ///< it may use
  std::string host;
  std::string address;  ///< where this rank is to listen: numeric
  std::string scheduler_address;
  uint16_t scheduler_port = 0;
  /// Columns of the terminals that rank 0's output and error output end on; 0: none.
  int output_columns = 0;
  int error_columns = 0;
};

/// The option that stands before the word.
constexpr const char* kJoinOption = "--join";

std::string to_word(const Invitation& invitation);
/// Throws RequestError.
Invitation parse_invitation(const std::string& word);

}  // namespace syrtos::launch
