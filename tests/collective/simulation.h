#pragma once

// The rounds of all members, run on numbers without any world: a message crosses when both of its
// ends have come, nothing is buffered.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "syrtos/collective/rounds.h"

namespace syrtos::collective {

/// Random words, so that a sum is right only if each summand is in it once.
using Words = std::vector<uint64_t>;

inline uint64_t word(int member, size_t element) {
  uint64_t x = static_cast<uint64_t>(member + 1) * 0x9e3779b97f4a7c15ULL + element;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

inline Words words_of(int member, size_t elements) {
  Words words(elements);
  for (size_t i = 0; i < elements; ++i) words[i] = word(member, i);
  return words;
}

inline Words sum_of_words(int members, size_t elements) {
  Words sum(elements, 0);
  for (int member = 0; member < members; ++member) {
    for (size_t i = 0; i < elements; ++i) sum[i] += word(member, i);
  }
  return sum;
}

/// Messages and elements that these rounds send.
inline Cost counted(const Rounds& rounds, size_t element_bytes = 1) {
  Cost cost;
  cost.rounds = rounds.size();
  for (const Round& round : rounds) {
    for (const Transfer& transfer : round.transfers) {
      if (!transfer.sends()) continue;
      cost.messages_sent += 1;
      cost.bytes_sent += transfer.count * element_bytes;
    }
  }
  return cost;
}

class Simulation {
 public:
  Simulation(std::vector<Rounds> each, std::vector<Words> values)
      : each_(std::move(each)), values_(std::move(values)), at_(each_.size()) {}

  /// Empty when every member came to its end, or what went wrong.
  std::string run() {
    for (const Rounds& rounds : each_) {
      for (const Round& round : rounds) check_overlaps(round);
    }
    bool any = true;
    while (any && error_.empty()) {
      any = false;
      for (size_t member = 0; member < each_.size(); ++member) any = advance(member) || any;
    }
    for (size_t member = 0; member < each_.size() && error_.empty(); ++member) {
      if (at_[member].round < each_[member].size()) {
        error_ = "member " + std::to_string(member) + " is stuck in round " +
                 std::to_string(at_[member].round);
      }
    }
    return error_;
  }

  const std::vector<Words>& values() const { return values_; }
  /// Elements that were declared complete, with what they were then, sorted.
  std::vector<std::pair<size_t, uint64_t>> settled() const {
    auto sorted = settled_;
    std::sort(sorted.begin(), sorted.end());
    return sorted;
  }

 private:
  struct Position {
    size_t round = 0;
    bool posted = false;
    size_t open = 0;  // transfers
  };
  struct End {
    size_t member;
    const Transfer* transfer;
    Words sent;  // as it was before the round, of those that swap
  };
  using Lane = std::pair<size_t, size_t>;  // from, to

  /// Transfers of one round must not touch each other's elements, unless all send them.
  void check_overlaps(const Round& round) {
    for (size_t i = 0; i < round.transfers.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        const Transfer& a = round.transfers[i];
        const Transfer& b = round.transfers[j];
        const bool both_send = a.kind == Transfer::Kind::send && b.kind == Transfer::Kind::send;
        if (!both_send && a.first < b.first + b.count && b.first < a.first + a.count) {
          error_ = "transfers of one round overlap";
        }
      }
    }
  }

  bool advance(size_t member) {
    Position& at = at_[member];
    if (at.round == each_[member].size()) return false;
    const Round& round = each_[member][at.round];
    if (!at.posted) {
      at.posted = true;
      at.open = round.transfers.size();
      for (const Transfer& transfer : round.transfers) post(member, transfer);
    }
    if (at.open > 0) return false;
    for (size_t i = round.settled.first; i < round.settled.end(); ++i) {
      settled_.emplace_back(i, values_[member][i]);
    }
    ++at.round;
    at.posted = false;
    return true;
  }

  void post(size_t member, const Transfer& transfer) {
    const auto peer = static_cast<size_t>(transfer.peer);
    if (transfer.kind == Transfer::Kind::swap) ++at_[member].open;  // it is two messages
    if (transfer.sends()) {
      const auto first = values_[member].begin() + static_cast<ptrdiff_t>(transfer.first);
      Words sent;
      if (transfer.receives()) sent.assign(first, first + static_cast<ptrdiff_t>(transfer.count));
      meet({member, peer}, true, {member, &transfer, std::move(sent)});
    }
    if (transfer.receives()) meet({peer, member}, false, {member, &transfer, {}});
  }

  void meet(Lane lane, bool sends, const End& end) {
    auto& waiting = (sends ? recvs_ : sends_)[lane];
    if (waiting.empty()) return (sends ? sends_ : recvs_)[lane].push_back(end);
    const End other = waiting.front();
    waiting.pop_front();
    cross(sends ? end : other, sends ? other : end);
  }

  void cross(const End& send, const End& recv) {
    if (send.transfer->count != recv.transfer->count) error_ = "a message of another size";
    if (send.transfer->first != recv.transfer->first) error_ = "a message of other elements";
    if (!error_.empty()) return;
    for (size_t i = 0; i < send.transfer->count; ++i) {
      const uint64_t sent =
          send.sent.empty() ? values_[send.member][send.transfer->first + i] : send.sent[i];
      uint64_t& there = values_[recv.member][recv.transfer->first + i];
      there = recv.transfer->kind == Transfer::Kind::receive ? sent : there + sent;
    }
    --at_[send.member].open;
    --at_[recv.member].open;
  }

  std::vector<Rounds> each_;
  std::vector<Words> values_;
  std::vector<Position> at_;
  std::map<Lane, std::deque<End>> sends_, recvs_;
  std::vector<std::pair<size_t, uint64_t>> settled_;
  std::string error_;
};

/// The sizes at which rounds go wrong.
inline std::vector<size_t> awkward_sizes(int members) {
  const auto n = static_cast<size_t>(members);
  return {0, 1, 2, 3, 7, n - 1, n, n + 1, 1000, 4099};
}

}  // namespace syrtos::collective
