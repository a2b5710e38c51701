#pragma once

#include <cstddef>
#include <vector>

#include "syrtos/collective/algorithm.h"
#include "syrtos/collective/group.h"

namespace syrtos::collective {

/// Elements `first` to `first + count - 1`.
struct Range {
  size_t first = 0;
  size_t count = 0;
  size_t end() const { return first + count; }
  bool operator==(const Range&) const = default;
};

/// A range in nearly equal chunks: the first ones are one element longer, and with fewer elements
/// than chunks the last ones are empty. So are chunks past the last.
class Split {
 public:
  Split(Range whole, int chunks);
  /// Chunks of these sizes instead.
  explicit Split(const std::vector<size_t>& sizes);
  Range chunk(int index) const { return chunks(index, index + 1); }
  /// Chunks `from` to `to - 1`.
  Range chunks(int from, int to) const;

 private:
  size_t begin(int index) const;
  Range whole_;
  size_t chunks_;
  std::vector<size_t> ends_;  // of unequal chunks
};

/// The chunk that member `index` of `chunks` owns after a reduce-scatter and brings to an
/// all-gather.
Range chunk_of(size_t elements, int chunks, int index);

/// One message at one of its ends.
struct Transfer {
  enum class Kind {
    send,
    receive,
    reduce,  ///< received and reduced with what is there
    swap,    ///< sent as it was before the round, and reduced with the peer's: two messages
  };
  Kind kind;
  int peer;  ///< a member of the group
  size_t first;
  size_t count;
  bool sends() const { return kind == Kind::send || kind == Kind::swap; }
  bool receives() const { return kind != Kind::send; }
  bool operator==(const Transfer&) const = default;
};

/// Its transfers run at the same time; the next round starts when all are done.
struct Round {
  std::vector<Transfer> transfers;
  /// After them the sum of these elements is complete here. What the others will get of it is what
  /// the wire can carry, so this member keeps no more than that either.
  Range settled;

  void add(Transfer::Kind kind, int peer, Range range) {
    if (range.count == 0) return;  // no message
    if (transfers.empty()) transfers.reserve(2);
    transfers.push_back({kind, peer, range.first, range.count});
  }
  void send(int peer, Range range) { add(Transfer::Kind::send, peer, range); }
  void receive(int peer, Range range) { add(Transfer::Kind::receive, peer, range); }
  void reduce(int peer, Range range) { add(Transfer::Kind::reduce, peer, range); }
  void swap(int peer, Range range) { add(Transfer::Kind::swap, peer, range); }
};

/// What one member does. Members that have nothing to do in a round of the others have an empty
/// one.
using Rounds = std::vector<Round>;

/// What one member sends, and in how many rounds.
struct Cost {
  size_t messages_sent = 0;
  size_t bytes_sent = 0;
  size_t rounds = 0;
  bool operator==(const Cost&) const = default;
  Cost& operator+=(const Cost& other);
};

// Pure functions of who, how many and how much: what this member does, and, found by formula and
// not by counting, what that costs. `member` and `root` are indices into the group.

Rounds all_reduce_rounds(Algorithm algorithm, int member, const Group& group, size_t elements);
Cost cost_all_reduce(Algorithm algorithm, int member, const Group& group, size_t elements,
                     size_t element_bytes = 4);

/// Goes by ring or halving. Afterwards each member has the sum of its own chunk_of; the rest is not
/// defined.
Rounds reduce_scatter_rounds(Algorithm algorithm, int member, const Group& group, size_t elements);
Cost cost_reduce_scatter(Algorithm algorithm, int member, const Group& group, size_t elements,
                         size_t element_bytes = 4);

/// Each member's own chunk_of goes to all, by ring or doubling.
Rounds all_gather_rounds(Algorithm algorithm, int member, const Group& group, size_t elements);
Cost cost_all_gather(Algorithm algorithm, int member, const Group& group, size_t elements,
                     size_t element_bytes = 4);

/// Each member brings its own number of elements; they follow each other. Goes by ring.
Rounds all_gather_rounds(int member, const std::vector<size_t>& sizes);
Cost cost_all_gather(int member, const std::vector<size_t>& sizes, size_t element_bytes);

/// A tree takes it in one piece; a ring is a chain through which `pieces` follow each other.
Rounds broadcast_rounds(Algorithm algorithm, int member, int members, int root, size_t elements,
                        int pieces = 1);
Cost cost_broadcast(Algorithm algorithm, int member, int members, int root, size_t elements,
                    size_t element_bytes, int pieces = 1);

/// Goes by tree. Afterwards the root has the sum; what the others have is not defined.
Rounds reduce_rounds(int member, int members, int root, size_t elements);
Cost cost_reduce(int member, int members, int root, size_t elements, size_t element_bytes = 4);

/// Member m brings sizes[m] elements, numbered from 0; at the root they follow each other.
Rounds gather_rounds(int member, int root, const std::vector<size_t>& sizes);
Cost cost_gather(int member, int root, const std::vector<size_t>& sizes, size_t element_bytes);

/// Nobody ends before all have begun: messages without content.
Rounds barrier_rounds(int member, int members);
Cost cost_barrier(int members);

}  // namespace syrtos::collective
