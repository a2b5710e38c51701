#include "syrtos/strategy/layout.h"

#include <algorithm>
#include <cmath>

#include "syrtos/base/error.h"

namespace syrtos::strategy {

namespace {

constexpr size_t kMostBuckets = size_t{1} << 16;  // an item of a tag has 16 bits
constexpr size_t kMostElements = size_t{1} << 48;

}  // namespace

void check_layout(const Layout& layout) {
  size_t end = 0;
  for (const optim::Segment& tensor : layout.tensors) {
    if (tensor.offset < end || tensor.elements > kMostElements || tensor.offset > kMostElements) {
      fail_run("a layout has a tensor of {} elements at {}: expected one behind element {}",
               tensor.elements, tensor.offset, end);
    }
    end = tensor.offset + tensor.elements;
  }
  if (layout.buckets.size() > kMostBuckets) {
    fail_run("a layout has {} buckets: expected at most {}", layout.buckets.size(), kMostBuckets);
  }
  size_t next = 0;
  int tensor = 0;
  for (const Bucket& bucket : layout.buckets) {
    const bool fits = bucket.first >= next && bucket.first <= end &&
                      bucket.count <= end - bucket.first && bucket.first_tensor == tensor &&
                      bucket.last_tensor > tensor &&
                      static_cast<size_t>(bucket.last_tensor) <= layout.tensors.size();
    if (!fits) {
      fail_run(
          "a layout has a bucket of {} elements at {} with tensors {} to {}, where tensor {} "
          "of {} is next",
          bucket.count, bucket.first, bucket.first_tensor, bucket.last_tensor, tensor,
          layout.tensors.size());
    }
    next = bucket.first + bucket.count;
    tensor = bucket.last_tensor;
  }
  if (tensor != static_cast<int>(layout.tensors.size())) {
    fail_run("a layout has {} tensors, and buckets for {}", layout.tensors.size(), tensor);
  }
}

collective::Range DividedTensor::part_of(int worker, size_t offset) const {
  for (int w = 0; w < worker; ++w) offset += elements[static_cast<size_t>(w)];
  return {offset, elements[static_cast<size_t>(worker)]};
}

std::vector<Bucket> plan_buckets(std::span<const optim::Segment> tensors, size_t bytes,
                                 std::span<const DividedTensor> divided) {
  std::vector<Bucket> buckets;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const optim::Segment& tensor = tensors[i];
    const size_t end = tensor.offset + tensor.elements;
    const bool is_divided =
        std::any_of(divided.begin(), divided.end(),
                    [&](const DividedTensor& part) { return part.tensor == static_cast<int>(i); });
    const bool joins = !buckets.empty() && buckets.back().divided == is_divided &&
                       (end - buckets.back().first) * sizeof(float) <= bytes;
    if (!joins) {
      buckets.push_back(
          {.first = tensor.offset, .first_tensor = static_cast<int>(i), .divided = is_divided});
    }
    buckets.back().count = end - buckets.back().first;
    buckets.back().last_tensor = static_cast<int>(i) + 1;
  }
  SYRTOS_CHECK(buckets.size() <= kMostBuckets, "{} buckets", buckets.size());
  return buckets;
}

std::vector<int> bucket_of_tensor(const Layout& layout) {
  std::vector<int> bucket_of;
  for (size_t b = 0; b < layout.buckets.size(); ++b) {
    bucket_of.resize(static_cast<size_t>(layout.buckets[b].last_tensor), static_cast<int>(b));
  }
  return bucket_of;
}

void segments_in(const Layout& layout, size_t first, size_t count,
                 std::vector<optim::Segment>& inside) {
  inside.clear();
  for (optim::Segment tensor : layout.tensors) {
    const size_t begin = std::max(tensor.offset, first);
    const size_t end = std::min(tensor.offset + tensor.elements, first + count);
    if (begin >= end) continue;
    optim::Segment* last = inside.empty() ? nullptr : &inside.back();
    if (last != nullptr && last->same_rule(tensor) && last->offset + last->elements == begin) {
      last->elements += end - begin;
      continue;
    }
    tensor.offset = begin;
    tensor.elements = end - begin;
    inside.push_back(tensor);
  }
}

size_t bucket_bytes(double latency_s, double bytes_per_s, int ranks, size_t network_bytes) {
  constexpr double kLeast = 16e3;  // below, a message is latency alone
  const double rounds_of_ring = 2.0 * std::max(1, ranks - 1);
  const double efficient = std::clamp(20 * rounds_of_ring * latency_s * bytes_per_s, 1e6, 32e6);
  // k buckets take k * latency, and wire / k of the last one is exposed: least with wire = k^2 *
  // latency. Small buckets take so many rounds at most.
  const double n = std::max(2, ranks);
  const double latency = 2 * std::ceil(std::log2(n)) * latency_s;
  const double wire = 2 * (n - 1) / n * static_cast<double>(network_bytes) / bytes_per_s;
  const double buckets = std::max(1.0, std::sqrt(wire / std::max(latency, 1e-9)));
  const double overlapping = static_cast<double>(network_bytes) / buckets;
  return static_cast<size_t>(std::max(kLeast, std::min(efficient, overlapping)));
}

size_t bucket_bytes(double bucket_mb, const collective::LinkSpeed& link, int ranks,
                    size_t network_bytes) {
  if (bucket_mb > 0) return static_cast<size_t>(bucket_mb * 1e6);
  return bucket_bytes(link.latency_s, link.bytes_per_s, ranks, network_bytes);
}

std::vector<Piece> place_on_servers(const Layout& layout, int servers) {
  SYRTOS_CHECK(servers >= 1);
  constexpr size_t kLine = 16;            // pieces begin on cache lines
  constexpr size_t kLargest = 256 << 10;  // elements
  const size_t fair = (layout.elements() / static_cast<size_t>(servers) + kLine) / kLine * kLine;
  const size_t most = std::min(fair, kLargest);
  std::vector<size_t> load(static_cast<size_t>(servers));
  std::vector<Piece> pieces;
  for (size_t b = 0; b < layout.buckets.size(); ++b) {
    const Bucket& bucket = layout.buckets[b];
    const size_t bucket_end = bucket.first + bucket.count;
    for (int t = bucket.first_tensor; t < bucket.last_tensor; ++t) {
      const optim::Segment& tensor = layout.tensors[static_cast<size_t>(t)];
      // Up to the next tensor, so that pieces leave no gaps.
      const size_t end = t + 1 < bucket.last_tensor
                             ? layout.tensors[static_cast<size_t>(t) + 1].offset
                             : bucket_end;
      for (size_t at = tensor.offset; at < end;) {
        const size_t count = std::min(most, end - at);
        const auto least = std::min_element(load.begin(), load.end());
        *least += count;
        const auto server = static_cast<int>(least - load.begin());
        Piece* last = pieces.empty() ? nullptr : &pieces.back();
        if (last != nullptr && last->bucket == static_cast<int>(b) && last->server == server &&
            last->count + count <= kLargest) {
          last->count += count;
        } else {
          pieces.push_back({static_cast<int>(b), at, count, server});
        }
        at += count;
      }
    }
  }
  return pieces;
}

}  // namespace syrtos::strategy
