#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "syrtos/run/directory.h"

namespace syrtos::run {

/// One bucket of worker 0's gradients. Times are means over steps, in seconds since the start of
/// the step.
struct BucketTimes {
  std::string first_layer, last_layer;  ///< in the order of the forward pass
  double bytes = 0;
  double ready_s = 0;    ///< it was computed
  double arrived_s = 0;  ///< the exchange was over
  double exposed_s = 0;  ///< of the exchange, with nothing to compute meanwhile; no moment

  bool operator==(const BucketTimes&) const = default;
};

/// The way from one rank to another on another host, as the network saw it.
struct LinkTraffic {
  int to = 0;
  double bytes = 0;           ///< that arrived
  double seconds = 0;         ///< that bytes were on their way
  int64_t retransmitted = 0;  ///< packets that were sent again

  bool operator==(const LinkTraffic&) const = default;
};

/// What one rank, worker or server, sent, received and measured.
struct RankTraffic {
  int rank = 0;
  std::string host;
  double clock_error_s = 0;  ///< of its clock against worker 0's
  double seconds = 0;        ///< that it was there
  double measuring_s = 0;    ///< of them, that it measured
  int64_t bytes_sent = 0, bytes_received = 0;
  int64_t messages_sent = 0, messages_received = 0;
  std::string machine = {};        ///< hosts of the same name are one machine; empty: not known
  int64_t process = 0;             ///< ranks of one process have the next four in common
  int64_t cores = 0, threads = 0;  ///< that it may use, and computes with; 0: not known
  double cpu_s = 0;                ///< of its threads, in `seconds`
  double ready_s = 0;              ///< that they could have run and had no CPU
  std::vector<LinkTraffic> links = {};  ///< most bytes first

  bool operator==(const RankTraffic&) const = default;
};

/// exchange.json: what crossed.
struct ExchangeProfile {
  int64_t workers = 0;
  std::string exchange = {}, sync = {}, wire = {};  ///< as --exchange, --sync and --wire take them
  std::vector<BucketTimes> buckets = {};
  std::map<int64_t, int64_t> staleness = {};   ///< updates between pull and push -> how often
  std::vector<RankTraffic> ranks = {};         ///< workers, those that are left
  std::vector<RankTraffic> servers = {};       ///< of their own
  int64_t bytes_sent = 0, bytes_received = 0;  ///< of all workers
  int64_t messages = 0;                        ///< that all workers sent
  double clock_error_s = 0;                    ///< the largest
  double measuring_share = 0;                  ///< of the time of all workers; 0: not known
  double planned_step_s = 0;                   ///< what --auto expected; 0: there was no plan

  /// Both were the same team, and exchanged in the same way.
  bool same_team(const ExchangeProfile& other) const;
  bool operator==(const ExchangeProfile&) const = default;
};

/// Throws RunError.
void write(const Directory& directory, const ExchangeProfile& profile);
/// Nothing when it is missing, or damaged, which is noted.
std::optional<ExchangeProfile> read_exchange(const Directory& directory, Notes& notes);

nlohmann::json to_json(const RankTraffic& rank);
/// Nothing, if it is no such object.
std::optional<RankTraffic> rank_traffic_from_json(const nlohmann::json& json);

}  // namespace syrtos::run
