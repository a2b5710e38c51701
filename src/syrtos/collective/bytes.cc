#include "syrtos/collective/bytes.h"

#include <cstring>
#include <numeric>

#include "syrtos/base/error.h"
#include "syrtos/collective/collective.h"

namespace syrtos::collective {

namespace {

void check_carries_data(const world::World& world) {
  SYRTOS_CHECK(world.carries_data(), "what travels is needed, and this world carries sizes only");
}

/// Sizes and contents one after the other, and back.
Bytes packed(const std::vector<Bytes>& parts) {
  Bytes all;
  for (const Bytes& part : parts) {
    const uint64_t size = part.size();
    const auto* bytes = reinterpret_cast<const std::byte*>(&size);
    all.insert(all.end(), bytes, bytes + sizeof(size));
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

std::vector<Bytes> unpacked(const Bytes& all) {
  std::vector<Bytes> parts;
  for (size_t at = 0; at < all.size();) {
    uint64_t size = 0;
    std::memcpy(&size, all.data() + at, sizeof(size));
    at += sizeof(size);
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(at);
    parts.emplace_back(first, first + static_cast<std::ptrdiff_t>(size));
    at += size;
  }
  return parts;
}

}  // namespace

Bytes to_bytes(std::string_view text) {
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  return {bytes, bytes + text.size()};
}

std::string to_text(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

world::Task<Bytes> broadcast_bytes(world::World& world, const Group& group, Bytes bytes, int root,
                                   world::Tag tag) {
  check_carries_data(world);
  uint64_t size = bytes.size();
  co_await broadcast(world, group, &size, sizeof(size), root, tag);
  bytes.resize(size);
  co_await broadcast(world, group, bytes.data(), size, root, tag);
  co_return bytes;
}

world::Task<std::vector<Bytes>> gather_bytes(world::World& world, const Group& group, Bytes mine,
                                             int root, world::Tag tag) {
  check_carries_data(world);
  const auto members = static_cast<size_t>(group.size());
  const bool is_root = group.index_of(world.rank()) == root;
  const uint64_t size = mine.size();
  std::vector<size_t> each(members, sizeof(size));
  std::vector<uint64_t> sizes(members, size);
  co_await gather(world, group, &size, sizes.data(), each, root, tag);
  // Only the root knows all sizes; the others need their own.
  std::vector<size_t> counts(sizes.begin(), sizes.end());
  Bytes all(is_root ? std::accumulate(counts.begin(), counts.end(), size_t{0}) : 0);
  co_await gather(world, group, mine.data(), all.data(), counts, root, tag);
  std::vector<Bytes> parts;
  auto next = all.begin();
  for (size_t member = 0; is_root && member < members; ++member) {
    const auto end = next + static_cast<std::ptrdiff_t>(counts[member]);
    parts.emplace_back(next, end);
    next = end;
  }
  co_return parts;
}

world::Task<std::vector<Bytes>> all_gather_bytes(world::World& world, const Group& group,
                                                 Bytes mine, world::Tag tag) {
  const std::vector<Bytes> parts = co_await gather_bytes(world, group, std::move(mine), 0, tag);
  const Bytes all = co_await broadcast_bytes(world, group, packed(parts), 0, tag);
  co_return unpacked(all);
}

}  // namespace syrtos::collective
