#include "syrtos/collective/bytes.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>

#include "syrtos/base/error.h"
#include "syrtos/collective/collective.h"
#include "syrtos/collective/run.h"

namespace syrtos::collective {

namespace {

/// Up to so many bytes of all members together it is rounds that take time, and a ring has many.
constexpr size_t kFewBytes = 32 * 1024;
/// More than that no member brings: memory is taken for what another one says.
constexpr uint64_t kMostBytes = uint64_t{1} << 32;

void check_size(uint64_t size, const world::World& world, world::Rank member) {
  if (size <= kMostBytes) return;
  fail_run("expected at most {} bytes of {}, found {}: do all ranks run the same job?", kMostBytes,
           world.name(member), size);
}

void check_sizes(std::span<const uint64_t> sizes, const world::World& world, const Group& group) {
  for (size_t member = 0; member < sizes.size(); ++member) {
    check_size(sizes[member], world, group.members[member]);
  }
}

/// What each member brings, at the root; the others know their own.
world::Task<std::vector<size_t>> sizes_at(world::World& world, const Group& group, size_t mine,
                                          int root, world::Tag tag) {
  const auto members = static_cast<size_t>(group.size());
  const uint64_t size = mine;
  std::vector<uint64_t> sizes(members, size);
  std::vector<size_t> each(members, sizeof(size));
  co_await gather(world, group, &size, sizes.data(), std::move(each), root, tag);
  if (group.index_of(world.rank()) == root) check_sizes(sizes, world, group);
  co_return std::vector<size_t>(sizes.begin(), sizes.end());
}

size_t total(const std::vector<size_t>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), size_t{0});
}

std::vector<Bytes> parted(const Bytes& all, const std::vector<size_t>& sizes) {
  std::vector<Bytes> parts;
  auto next = all.begin();
  for (const size_t size : sizes) {
    const auto end = next + static_cast<std::ptrdiff_t>(size);
    parts.emplace_back(next, end);
    next = end;
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
  uint64_t size = bytes.size();
  co_await broadcast(world, group, &size, sizeof(size), root, tag);
  check_size(size, world, group.members[static_cast<size_t>(root)]);
  bytes.resize(size);
  co_await broadcast(world, group, bytes.data(), size, root, tag);
  co_return bytes;
}

world::Task<std::vector<Bytes>> gather_bytes(world::World& world, const Group& group, Bytes mine,
                                             int root, world::Tag tag) {
  const bool is_root = group.index_of(world.rank()) == root;
  std::vector<size_t> sizes = co_await sizes_at(world, group, mine.size(), root, tag);
  Bytes all(is_root ? total(sizes) : 0);
  co_await gather(world, group, mine.data(), all.data(), sizes, root, tag);
  if (!is_root) sizes.clear();
  co_return parted(all, sizes);
}

world::Task<std::vector<Bytes>> all_gather_bytes(world::World& world, const Group& group,
                                                 Bytes mine, world::Tag tag) {
  const int member = group.index_of(world.rank());
  std::vector<size_t> sizes = co_await sizes_at(world, group, mine.size(), 0, tag);
  co_await broadcast(world, group, sizes.data(), sizes.size() * sizeof(size_t), 0, tag);
  check_sizes(sizes, world, group);
  if (sizes[static_cast<size_t>(member)] != mine.size()) {
    fail_run("{} brings {} bytes, and the others expect {}: do all ranks run the same job?",
             world.name(world.rank()), mine.size(), sizes[static_cast<size_t>(member)]);
  }
  Bytes all(total(sizes));
  if (all.size() <= kFewBytes) {
    co_await gather(world, group, mine.data(), all.data(), sizes, 0, tag);
    co_await broadcast(world, group, all.data(), all.size(), 0, tag);
  } else {
    const Range own = Split(sizes).chunk(member);
    std::copy(mine.begin(), mine.end(), all.begin() + static_cast<std::ptrdiff_t>(own.first));
    const Cargo cargo{.data = all.data(), .tag = tag};
    co_await run_rounds(world, group, all_gather_rounds(member, sizes), cargo);
  }
  co_return parted(all, sizes);
}

}  // namespace syrtos::collective
