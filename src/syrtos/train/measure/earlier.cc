#include "syrtos/train/measure/earlier.h"

#include <algorithm>
#include <cmath>

#include "syrtos/run/steps.h"

namespace syrtos::train {

using run::ExchangeProfile;
using run::OperatorProfile;
using run::RankTraffic;
using trace::DivisionRecord;
using trace::RankDivision;

namespace {

constexpr size_t kMostRecords = 20'000;  // of a rank

/// A record that goes on after that step keeps its share.
void cut(RankDivision& rank, int64_t steps_done) {
  std::erase_if(rank.records, [&](const DivisionRecord& one) { return one.step > steps_done; });
  if (rank.records.empty()) return;
  DivisionRecord& last = rank.records.back();
  const int64_t kept = std::min(last.steps, steps_done - last.step + 1);
  const auto share = static_cast<float>(kept) / static_cast<float>(last.steps);
  last.steps = kept;
  for (float& seconds : last.seconds) seconds *= share;
  last.hidden_network *= share;
}

/// Neighbours are added up until there are few enough.
void thin_out(RankDivision& rank) {
  std::vector<DivisionRecord>& records = rank.records;
  for (bool thinner = true; thinner && records.size() > kMostRecords;) {
    std::vector<DivisionRecord> fewer;
    for (const DivisionRecord& record : records) {
      const bool follows = !fewer.empty() && fewer.back().steps <= record.steps &&
                           fewer.back().step + fewer.back().steps == record.step;
      if (follows) {
        fewer.back() += record;
      } else {
        fewer.push_back(record);
      }
    }
    thinner = fewer.size() < records.size();
    records = std::move(fewer);
  }
}

int64_t end_of(const std::vector<RankDivision>& ranks) {
  for (const RankDivision& rank : ranks) {
    if (rank.rank != 0 || rank.records.empty()) continue;
    const DivisionRecord& last = rank.records.back();
    return last.start + std::llround(last.division().sum() * 1e9);
  }
  return 0;
}

/// Parts of the run as far as they still count.
std::vector<run::TrainedPart> parts_until(std::vector<run::TrainedPart> parts, int64_t steps_done) {
  std::erase_if(parts, [&](const run::TrainedPart& part) { return part.first_step > steps_done; });
  for (run::TrainedPart& part : parts) part.last_step = std::min(part.last_step, steps_done);
  return parts;
}

/// A process that was killed has gone on sampling after its last checkpoint. The sample in which
/// that was taken ends there.
void cut(run::HostCurves& hosts, int64_t end) {
  for (auto& [host, samples] : hosts) {
    const auto last = std::find_if(samples.begin(), samples.end(),
                                   [&](const auto& sample) { return sample.time >= end; });
    if (last == samples.end()) continue;
    last->time = end;
    samples.erase(last + 1, samples.end());
  }
}

void add(std::vector<run::LinkTraffic>& links, const std::vector<run::LinkTraffic>& earlier) {
  for (run::LinkTraffic& link : links) {
    for (const run::LinkTraffic& before : earlier) {
      if (link.to != before.to) continue;
      link.bytes += before.bytes;
      link.seconds += before.seconds;
      link.retransmitted += before.retransmitted;
    }
  }
}

void add(std::vector<RankTraffic>& ranks, const std::vector<RankTraffic>& earlier) {
  for (RankTraffic& rank : ranks) {
    for (const RankTraffic& before : earlier) {
      if (rank.rank != before.rank || rank.host != before.host) continue;
      rank.bytes_sent += before.bytes_sent;
      rank.bytes_received += before.bytes_received;
      rank.messages_sent += before.messages_sent;
      rank.messages_received += before.messages_received;
      rank.seconds += before.seconds;
      rank.measuring_s += before.measuring_s;
      rank.cpu_s += before.cpu_s;
      rank.ready_s += before.ready_s;
      add(rank.links, before.links);
    }
  }
}

}  // namespace

Earlier read_earlier(const run::Directory& directory, int64_t steps_done) {
  Earlier earlier;
  run::Notes unused;
  earlier.parts = parts_until(run::read_parts(directory, unused), steps_done);
  if (earlier.parts.empty()) return earlier;
  earlier.divisions = run::read_steps(directory, unused);
  if (earlier.divisions.empty()) return earlier;
  for (RankDivision& rank : earlier.divisions) {
    cut(rank, steps_done);
    thin_out(rank);
  }
  std::erase_if(earlier.divisions, [](const RankDivision& rank) { return rank.records.empty(); });
  earlier.end = end_of(earlier.divisions);
  if (earlier.end > 0) {
    earlier.hosts = run::read_hosts(directory, unused);
    cut(earlier.hosts, earlier.end);
  }
  earlier.operators = run::read_operators(directory, unused);
  earlier.exchange = run::read_exchange(directory, unused);
  return earlier;
}

std::vector<RankDivision> continued(std::vector<RankDivision> earlier,
                                    const std::vector<RankDivision>& own, int64_t later) {
  for (const RankDivision& rank : own) {
    auto known = std::find_if(earlier.begin(), earlier.end(),
                              [&](const RankDivision& one) { return one.rank == rank.rank; });
    if (known == earlier.end()) known = earlier.insert(known, {rank.rank, {}});
    for (DivisionRecord record : rank.records) {
      record.start = std::max<int64_t>(0, record.start + later);
      known->records.push_back(record);
    }
  }
  return earlier;
}

void add_operators(OperatorProfile& operators, const OperatorProfile& earlier) {
  const bool same_setting =
      operators.network == earlier.network && operators.batch == earlier.batch &&
      operators.precision == earlier.precision && operators.threads == earlier.threads;
  const bool same_kernels = std::equal(
      operators.items.begin(), operators.items.end(), earlier.items.begin(), earlier.items.end(),
      [](const auto& now, const auto& before) { return now.same_kernel(before); });
  if (!same_setting || !same_kernels) return;
  for (size_t i = 0; i < operators.items.size(); ++i) {
    operators.items[i].calls += earlier.items[i].calls;
    operators.items[i].seconds += earlier.items[i].seconds;
    operators.items[i].longest = std::max(operators.items[i].longest, earlier.items[i].longest);
    operators.items[i].flops += earlier.items[i].flops;
    operators.items[i].bytes += earlier.items[i].bytes;
  }
}

void add_exchange(ExchangeProfile& exchange, const ExchangeProfile& earlier) {
  if (!exchange.same_team(earlier)) return;
  exchange.bytes_sent += earlier.bytes_sent;
  exchange.bytes_received += earlier.bytes_received;
  exchange.messages += earlier.messages;
  add(exchange.ranks, earlier.ranks);
  add(exchange.servers, earlier.servers);
  for (const auto& [updates, pushes] : earlier.staleness) exchange.staleness[updates] += pushes;
}

}  // namespace syrtos::train
