#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "syrtos/collective/algorithm.h"
#include "syrtos/collective/predict.h"

namespace syrtos::strategy {

/// Where the parameters live and how gradients get there.
struct Exchange {
  enum class Kind {
    all_reduce,  ///< nowhere: workers exchange among themselves
    servers,     ///< on `servers` ranks of their own
    colocated,   ///< every worker serves a part
    shared,      ///< in the memory of one process, its threads are the workers
  };
  Kind kind = Kind::all_reduce;
  collective::Algorithm algorithm = collective::Algorithm::automatic;
  int servers = 0;

  bool has_servers() const { return kind == Kind::servers || kind == Kind::colocated; }
};

/// Who waits for whom.
struct Sync {
  enum class Kind {
    join,    ///< each worker computes a batch, a step sees all of them
    split,   ///< each computes its part of one batch: the same as one worker
    async,   ///< nobody waits: updates are applied as they arrive
    ssp,     ///< async, but nobody is more than `number` steps ahead of the slowest
    backup,  ///< the `number` slowest gradients of each step are left out
    local,   ///< workers train alone and average their weights every `number` steps
  };
  Kind kind = Kind::join;
  int64_t number = 0;

  /// All workers take each step together.
  bool in_step() const { return kind == Kind::join || kind == Kind::split || kind == Kind::local; }
  /// The others can go on when a worker is lost.
  bool tolerates_losses() const { return !in_step(); }
};

/// What travels for a gradient.
struct Wire {
  enum class Kind { f32, bf16, threshold };
  Kind kind = Kind::f32;
  float threshold = 0;
};

enum class UpdateAt { server, worker };

struct Options {
  Exchange exchange;
  Sync sync;
  Wire wire;
  UpdateAt update = UpdateAt::worker;
  int permits = 0;       ///< transfers that a server allows at a time in each direction; 0: any
  double bucket_mb = 0;  ///< 0: chosen from latency and bandwidth

  /// The others go on when a worker is lost: if it held nothing that they need.
  bool tolerates_losses() const {
    return sync.tolerates_losses() && exchange.kind == Exchange::Kind::servers;
  }
  /// What crosses between hosts, where it was measured.
  collective::LinkSpeed link = collective::kEthernet;
  /// Of a server's update, where time is simulated.
  double update_s_per_element = 0.5e-9;
};

std::string to_string(const Exchange& exchange);
std::string to_string(const Sync& sync);
std::string to_string(const Wire& wire);
const char* to_string(UpdateAt update);

/// "allreduce", "allreduce:ring" ..., "ps", "ps-sharded:K", "ps-colocated", "shared".
Exchange parse_exchange(std::string_view text);
/// "join", "split", "async", "ssp:S", "backup:B", "local:H".
Sync parse_sync(std::string_view text);
/// "f32", "bf16", "threshold:T".
Wire parse_wire(std::string_view text);
/// "server", "worker" or "auto": the server where there is one.
UpdateAt parse_update(std::string_view text, const Exchange& exchange);

/// Refuses (RequestError) what makes no sense, naming what would work.
void check(const Options& options, int workers, int64_t batch, bool clips);

}  // namespace syrtos::strategy
