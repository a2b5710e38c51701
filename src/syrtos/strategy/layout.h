#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "syrtos/collective/predict.h"
#include "syrtos/collective/rounds.h"
#include "syrtos/optim/optimizer.h"

namespace syrtos::strategy {

/// A slice of the arenas whose gradient is exchanged at once. Buckets lie, and become final, in
/// this order: the last one has what the next forward pass needs first.
struct Bucket {
  size_t first = 0;  ///< element
  size_t count = 0;
  int first_tensor = 0;
  int last_tensor = 0;   ///< one after
  bool divided = false;  ///< its tensors are divided between the workers: nothing is exchanged
};

/// A tensor of which each worker has a part; they follow each other.
struct DividedTensor {
  int tensor = 0;
  std::vector<size_t> elements = {};  ///< of each worker

  collective::Range part_of(int worker, size_t offset) const;
};

/// Where everything lies: the same on every rank.
struct Layout {
  std::vector<optim::Segment> tensors;
  std::vector<Bucket> buckets;
  std::vector<DividedTensor> divided = {};  ///< in the order of the tensors

  size_t elements() const {
    return tensors.empty() ? 0 : tensors.back().offset + tensors.back().elements;
  }
};

/// Throws RunError when it says what no network has: it may come from another process.
void check_layout(const Layout& layout);

/// Neighbouring tensors become buckets of about `bytes`; a larger tensor is one of its own, and one
/// that is divided is in none with others that are not.
std::vector<Bucket> plan_buckets(std::span<const optim::Segment> tensors, size_t bytes,
                                 std::span<const DividedTensor> divided = {});

/// The bucket of each tensor.
std::vector<int> bucket_of_tensor(const Layout& layout);

/// The parts of tensors that lie in elements first .. first + count - 1, neighbours that are
/// treated alike as one. `inside` is filled anew; it allocates only when it has never been as long.
void segments_in(const Layout& layout, size_t first, size_t count,
                 std::vector<optim::Segment>& inside);

/// The bytes that should cross at once between so many ranks. Buckets of large networks are as
/// large as makes latency a twentieth of an exchange: smaller ones waste the wire, larger ones
/// leave less to overlap. Small networks would then be one bucket that overlaps with nothing, so
/// there are at least as many buckets as make the sum of all latencies and of the last exchange,
/// which nothing hides, smallest.
size_t bucket_bytes(double latency_s, double bytes_per_s, int ranks, size_t network_bytes);
/// The same where --bucket-mb says it; 0: as above.
size_t bucket_bytes(double bucket_mb, const collective::LinkSpeed& link, int ranks,
                    size_t network_bytes);

/// What one server keeps of a bucket.
struct Piece {
  int bucket = 0;
  size_t first = 0;
  size_t count = 0;
  int server = 0;
};

/// Each tensor goes to the server with the fewest bytes so far; large ones are cut first, into
/// parts that are no more than a server's fair share and small enough for a server to answer the
/// first of them while the last are still coming. Small neighbours on one server in one bucket
/// become one piece.
std::vector<Piece> place_on_servers(const Layout& layout, int servers);

}  // namespace syrtos::strategy
