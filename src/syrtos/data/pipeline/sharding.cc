#include "syrtos/data/pipeline/sharding.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <optional>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"

namespace syrtos::data {

namespace {

constexpr uint64_t kDeal = 0x6465616c00000000;  // sets this permutation apart from an epoch's

using Kind = Sharding::Kind;

[[noreturn]] void refuse(std::string_view text) {
  fail_request(
      "--shard: expected shuffled, contiguous, by-class, replicated:F (the share that all workers "
      "have, such as 0.2) or unequal:A,B,... (a number for each worker), found '{}'{}",
      text, suggestion(text, {"shuffled", "contiguous", "by-class", "replicated", "unequal"}));
}

std::optional<double> number(std::string_view text) {
  const std::string copy(text);
  char* end = nullptr;
  const double value = std::strtod(copy.c_str(), &end);
  if (copy.empty() || end != copy.c_str() + copy.size() || !std::isfinite(value)) return {};
  return value;
}

std::vector<double> shares_of(std::string_view list, std::string_view text) {
  std::vector<double> shares;
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    const auto share = number(list.substr(begin, end - begin));
    if (!share || *share <= 0) refuse(text);
    shares.push_back(*share);
    begin = end + 1;
  }
  return shares;
}

int32_t class_of(const Dataset& data, int64_t sample, Scratch& scratch) {
  return data.info().asks_samples ? data.read(sample, scratch).target.label : data.label(sample);
}

std::vector<int64_t> sorted_by_class(const Dataset& data) {
  Scratch scratch;
  std::vector<int32_t> classes(static_cast<size_t>(data.size()));
  for (int64_t n = 0; n < data.size(); ++n) {
    classes[static_cast<size_t>(n)] = class_of(data, n, scratch);
  }
  std::vector<int64_t> samples(classes.size());
  std::iota(samples.begin(), samples.end(), int64_t{0});
  std::stable_sort(samples.begin(), samples.end(), [&](int64_t a, int64_t b) {
    return classes[static_cast<size_t>(a)] < classes[static_cast<size_t>(b)];
  });
  return samples;
}

/// Where the share of worker `worker` begins among so many samples.
int64_t cut(const Sharding& sharding, int64_t samples, const Shard& shard, int64_t worker) {
  if (sharding.shares.empty()) return samples * worker / shard.workers;
  const auto at = sharding.shares.begin() + worker;
  const double before = std::accumulate(sharding.shares.begin(), at, 0.0);
  const double all = std::accumulate(at, sharding.shares.end(), before);
  return std::llround(static_cast<double>(samples) * before / all);
}

/// The samples that a worker has: some that all have, and its own.
struct Piece {
  int64_t common = 0;
  int64_t first = 0;  // of its own, behind those that all have
  int64_t own = 0;
};

Piece piece_of(const Sharding& sharding, int64_t samples, const Shard& shard) {
  const auto common = std::llround(static_cast<double>(samples) * sharding.replicated);
  const int64_t divided = samples - common;
  const int64_t first = common + cut(sharding, divided, shard, shard.worker);
  return {common, first, common + cut(sharding, divided, shard, shard.worker + 1) - first};
}

/// What one of the workers takes of so many samples that a step has.
int64_t taken_of(int64_t samples, const Shard& shard) {
  return samples * (shard.worker + 1) / shard.workers - samples * shard.worker / shard.workers;
}

}  // namespace

std::string to_string(const Sharding& sharding) {
  switch (sharding.kind) {
    case Kind::shuffled:
      return "shuffled";
    case Kind::contiguous:
      return "contiguous";
    case Kind::by_class:
      return "by-class";
    case Kind::replicated:
      return fmt::format("replicated:{}", sharding.replicated);
    case Kind::unequal:
      return fmt::format("unequal:{}", fmt::join(sharding.shares, ","));
  }
  return "?";
}

Sharding parse_sharding(std::string_view text) {
  for (const Kind kind : {Kind::shuffled, Kind::contiguous, Kind::by_class}) {
    if (text == to_string(Sharding{.kind = kind})) return {.kind = kind};
  }
  constexpr std::string_view kReplicated = "replicated:";
  if (text.starts_with(kReplicated)) {
    const auto share = number(text.substr(kReplicated.size()));
    if (!share || *share < 0 || *share > 1) refuse(text);
    return {.kind = Kind::replicated, .replicated = *share};
  }
  constexpr std::string_view kUnequal = "unequal:";
  if (!text.starts_with(kUnequal)) refuse(text);
  return {.kind = Kind::unequal, .shares = shares_of(text.substr(kUnequal.size()), text)};
}

int64_t held(const Sharding& sharding, int64_t samples, const Shard& shard) {
  if (!sharding.keeps()) return samples;
  const Piece piece = piece_of(sharding, samples, shard);
  return piece.common + piece.own;
}

Holding::Holding(const Sharding& sharding, const Dataset& data, const Shard& shard, uint64_t seed)
    : keeps_(sharding.keeps()),
      shard_(shard),
      // One worker draws as if nothing were divided.
      seed_(keeps_ && shard.workers > 1 ? seed + 0x9e3779b97f4a7c15 * (1 + shard.worker) : seed),
      dealt_(sharding.kind == Kind::replicated || sharding.kind == Kind::unequal),
      deal_(data.size(), seed ^ kDeal, 0) {
  const int64_t all = data.size();
  if (!keeps_) {
    own_ = all;
    return;
  }
  SYRTOS_CHECK(
      sharding.shares.empty() || sharding.shares.size() == static_cast<size_t>(shard.workers),
      "{} shares, {} workers", sharding.shares.size(), shard.workers);
  if (sharding.kind == Kind::by_class) sorted_ = sorted_by_class(data);
  const Piece piece = piece_of(sharding, all, shard);
  common_ = piece.common;
  first_ = piece.first;
  own_ = piece.own;
  SYRTOS_CHECK(size() > 0, "worker {} has no samples", shard.worker);
}

int64_t Holding::operator[](int64_t n) const {
  const int64_t at = n < common_ ? n : first_ + n - common_;
  if (dealt_) return deal_[at];
  return sorted_.empty() ? at : sorted_[static_cast<size_t>(at)];
}

int64_t Holding::begin(int64_t used, int64_t batch, const Slice& slice) const {
  if (!keeps_) return slice.first;
  return used / batch * taken_of(batch, shard_) + taken_of(used % batch, shard_);
}

}  // namespace syrtos::data
