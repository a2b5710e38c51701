#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "syrtos/graph/program.h"

namespace syrtos::train {

/// Measured computing times of one network, to be slept instead of computed: so several ranks on
/// one machine behave like as many machines, while their bytes cross for real.
struct ReplayTimes {
  std::string network;
  int64_t batch = 0;
  std::vector<double> items;  ///< seconds of each item of the training program
  double update_s = 0;        ///< of all weights

  /// Of items first .. last - 1.
  double seconds(size_t first, size_t last) const;
};

/// Throws RequestError when the file is not what write_replay() wrote.
ReplayTimes read_replay(const std::filesystem::path& file);
void write_replay(const std::filesystem::path& file, const ReplayTimes& times);

/// Throws RequestError when the times are of another program.
void check_replay(const ReplayTimes& times, const std::string& network,
                  const graph::Program& program);

}  // namespace syrtos::train
