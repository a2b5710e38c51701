#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "syrtos/optim/optimizer.h"
#include "syrtos/strategy/columns.h"
#include "syrtos/strategy/layout.h"
#include "syrtos/strategy/replica.h"

namespace syrtos::strategy {

/// How long a network computes, without the network: what passes that are replayed (--replay) or
/// simulated (plans) are made of. Measured by 'syrtos probe compute --times FILE'.
struct ComputeTimes {
  /// A pass with one batch size. Seconds.
  struct Pass {
    int64_t batch = 0;
    double seconds = 0;          ///< of all of it, forward and backward
    std::vector<double> needed;  ///< since its start, when a tensor's weights are first read
    std::vector<double> ready;   ///< and when its gradient is final
    std::vector<double> items;   ///< of each kernel; empty: not measured
    /// Of each of the network's layers; empty: not measured.
    std::vector<double> forward = {};
    std::vector<double> backward = {};
    double load_s = 0;  ///< waiting for data before it
    double memory = 0;  ///< bytes that training with it needs; 0: not known
  };

  /// The weights of a dense layer, whose columns workers can divide between them.
  struct Dense {
    size_t tensor = 0;
    DenseShape shape = {};
    std::optional<size_t> bias = {};  ///< the tensor that is divided with it
  };

  std::string network;
  std::string precision;
  int64_t threads = 0;
  std::vector<size_t> tensors;           ///< elements of each, in the order of the arenas
  std::vector<std::string> names = {};   ///< of the tensors; empty: not known
  std::vector<std::string> layers = {};  ///< in the order of the network; empty: not known
  std::vector<Dense> dense = {};  ///< in the order of the tensors; empty also where not known
  double update_s = 0;            ///< of all weights
  double jitter = 0;              ///< relative standard deviation of a step
  std::vector<Pass> passes;       ///< by batch size

  size_t elements() const;
  /// Between measured batch sizes, and beyond them, times lie on straight lines.
  Pass pass_of(int64_t batch) const;
  /// The same in `parts` micro-batches, one after the other, whose gradients are added up.
  Pass pass_of(int64_t batch, int64_t parts) const;
};

/// Throws RequestError. A file made by hand needs network, "parameters" (or "tensors") and a pass
/// with batch and seconds; a third of a pass is then taken for forward.
ComputeTimes read_compute_times(const std::filesystem::path& file);
void write_compute_times(const std::filesystem::path& file, const ComputeTimes& times);

/// Why these times cannot all be right, in words; empty: they can. A machine that did other work
/// while it was measured shows itself by steps that vary much, or by a batch that takes longer for
/// each of its samples than a smaller one.
std::string doubt_of(const ComputeTimes& times);

/// Tensors as they lie in the arenas.
std::vector<optim::Segment> segments_of(const ComputeTimes& times);

/// What crosses between workers at a moment of a pass, in seconds since its start.
struct MoveAt {
  double moment = 0;
  BlockMove move = {};
};
/// Of one worker's pass with --split columns, for the layers of the tensors that are divided.
/// `samples`: of each worker.
std::vector<MoveAt> column_moves(const ComputeTimes& times, const ComputeTimes::Pass& pass,
                                 const Layout& layout, const std::vector<size_t>& samples,
                                 int worker);

/// The pass as a strategy sees it: cut where a bucket is needed first or becomes final, or
/// something crosses.
std::vector<Stage> stages_of(const ComputeTimes::Pass& pass, const Layout& layout,
                             std::span<const MoveAt> moves = {});

}  // namespace syrtos::strategy
