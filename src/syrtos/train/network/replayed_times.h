#pragma once

#include <map>
#include <string>
#include <vector>

#include "syrtos/strategy/compute_times.h"
#include "syrtos/train/network/compiled_network.h"

namespace syrtos::train {

/// Times that were measured elsewhere, for the kernels of a worker's programs. Of a network in
/// pieces each has the times of its layers.
class ReplayedTimes {
 public:
  /// The network outlives it. Throws RequestError when the times are of another network, or do not
  /// say what was measured.
  ReplayedTimes(const CompiledNetwork& network, const std::vector<optim::Segment>& tensors,
                strategy::ComputeTimes times);

  /// Seconds of each item of the program, which is of this piece of those that the worker has.
  std::vector<double> of(const NetworkProgram& program, size_t piece) const;
  /// Of an update of so many elements.
  double update_seconds(size_t count) const;

 private:
  std::vector<double> of_whole(const graph::Program& program,
                               const std::vector<double>& measured) const;
  std::vector<double> of_piece(const graph::Program& program,
                               const strategy::ComputeTimes::Pass& pass, size_t piece) const;

  const CompiledNetwork& network_;
  const strategy::ComputeTimes times_;
  double elements_ = 0;  // of the whole network, as updates count them
  std::map<std::string, size_t> layer_of_;
  std::vector<std::vector<double>> shares_;  // of layers that each own piece has
};

}  // namespace syrtos::train
