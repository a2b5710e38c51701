#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace syrtos::strategy {

// A network in parts, each on a worker of its own, computes a batch in micro-batches: while one is
// in the last part, the next ones are in those before. What each worker does when is a list, made
// by pure functions of who, how many and in which way.

/// In which order workers that have parts of a network take micro-batches.
struct Pipeline {
  enum class Kind {
    fill_drain,   ///< all forward, then all backward: every micro-batch's activations are kept
    one_by_one,   ///< one forward, one backward, as soon as there is one to take back
    interleaved,  ///< the same with several pieces of the network on each worker
  };
  Kind kind = Kind::one_by_one;
  int pieces = 1;  ///< of each worker

  bool operator==(const Pipeline&) const = default;
};

/// "fill-drain", "1f1b", "interleaved:V".
Pipeline parse_pipeline(std::string_view text);
std::string to_string(const Pipeline& pipeline);

/// One of a worker's pieces is computed for one micro-batch.
struct Turn {
  bool backward = false;
  int micro = 0;
  int piece = 0;  ///< of those that this worker has

  bool operator==(const Turn&) const = default;
};

/// Where a worker stands among those that have the other parts.
struct Station {
  int part = 0;
  int parts = 1;
  /// Micro-batches that are on their way when the first comes back: one in each part from this one
  /// on, on the longest way, and one on each wire between them, so that nobody waits for a wire
  /// that is no slower than computing.
  int ahead = 1;
};

/// What a worker does in a pass over so many micro-batches. With t seconds for a micro-batch in
/// each of P parts in a row, a pass of M takes (M + P - 1) t; interleaved (M + (P - 1) / V) t where
/// M is a multiple of P, elsewhere it is fill_drain.
std::vector<Turn> turns_of(const Pipeline& pipeline, const Station& station, int micros);

/// Micro-batches of which this piece keeps activations at the same time.
int most_in_flight(const std::vector<Turn>& turns, int piece);

/// For each part the `ahead` of its station: needs[p] are the parts that part p gets activations
/// from. Empty where parts need each other in turn: then only fill_drain ends.
std::vector<int> stations_ahead(const std::vector<std::vector<int>>& needs);

}  // namespace syrtos::strategy
