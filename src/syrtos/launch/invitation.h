#pragma once

#include <cstdint>
#include <string>

#include "syrtos/launch/placement.h"

namespace syrtos::launch {

/// Seconds that the network may be cut, or a process be stopped, without any loss.
constexpr int kDefaultPatience = 10;

/// After a cut TCP tries again at moments that are twice as far apart each time: so what was cut
/// for `patience` seconds is heard of again within twice that time.
constexpr double silence_of(int patience) { return 2.0 * patience + 1; }

/// What the launcher tells a rank's process, as one word of its command line: `--join WORD`. The
/// token comes separately (see read_token).
struct Invitation {
  Rank rank = 0;
  Role role = Role::worker;
  int cores = 1;      ///< it may use
  int processes = 1;  ///< ranks on its host, with it
  std::string host;
  std::string address;  ///< where this rank is to listen: numeric
  std::string scheduler_address;
  uint16_t scheduler_port = 0;
  /// Columns of the terminals that rank 0's output and error output end on; 0: none.
  int output_columns = 0;
  int error_columns = 0;
  int patience = kDefaultPatience;  ///< as LaunchOptions
  bool encrypted = true;            ///< as LaunchOptions
  /// Seconds of silence after which a rank, or the launcher, counts as lost.
  double lost_after() const { return silence_of(patience); }
};

/// The option that stands before the word.
constexpr const char* kJoinOption = "--join";

std::string to_word(const Invitation& invitation);
/// Throws RequestError.
Invitation parse_invitation(const std::string& word);

}  // namespace syrtos::launch
