#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "syrtos/collective/algorithm.h"
#include "syrtos/collective/predict.h"
#include "syrtos/strategy/pipeline.h"

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

  /// Workers sum among themselves; nobody keeps the weights for them.
  bool among_workers() const { return kind == Kind::all_reduce; }
  /// Somebody keeps the weights for the workers: ranks of their own, or the workers themselves.
  bool uses_servers() const { return kind == Kind::servers || kind == Kind::colocated; }
  /// Ranks that do nothing but serve; 0 where there are none.
  int own_servers() const { return kind == Kind::servers ? servers : 0; }
  /// Every worker keeps a part of the weights for all.
  bool workers_serve() const { return kind == Kind::colocated; }
  /// The weights of all workers are the same memory, so the workers are threads of one process.
  bool shares_memory() const { return kind == Kind::shared; }
  /// Only MPI's own all-reduce will do.
  bool needs_mpi() const { return among_workers() && algorithm == collective::Algorithm::native; }
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

  /// All workers take each step together, so that what they decide from sums is the same.
  bool in_step() const { return kind == Kind::join || kind == Kind::split || kind == Kind::local; }
  /// Every step sees the gradients of all workers.
  bool sees_all_gradients() const { return kind == Kind::join || kind == Kind::split; }
  /// The workers divide one batch: the same result as one worker's.
  bool splits_batch() const { return kind == Kind::split; }
  /// Nobody waits for anybody.
  bool nobody_waits() const { return kind == Kind::async; }
  /// Each gradient is an update of its own, when it comes.
  bool updates_one_by_one() const { return kind == Kind::async || kind == Kind::ssp; }
  /// Steps that a worker may be ahead of the slowest; nothing where nobody waits for that.
  std::optional<int64_t> slack() const {
    return kind == Kind::ssp ? std::optional(number) : std::nullopt;
  }
  /// Gradients of each step that may come too late to count.
  int64_t left_out() const { return kind == Kind::backup ? number : 0; }
  /// Steps from one average of all workers' weights to the next; 0 where weights are not averaged.
  int64_t average_every() const { return kind == Kind::local ? number : 0; }

  /// Samples that all workers take in a step, where --batch says `batch`.
  int64_t step_samples(int64_t batch, int64_t workers) const {
    return splits_batch() ? batch : batch * workers;
  }
  /// Samples that one worker takes in a step: the largest share.
  int64_t worker_samples(int64_t batch, int64_t workers) const {
    return splits_batch() ? (batch + workers - 1) / workers : batch;
  }
};

/// What travels for a gradient.
struct Wire {
  enum class Kind { f32, bf16, threshold };
  Kind kind = Kind::f32;
  float threshold = 0;

  /// Gradients arrive as they were computed.
  bool exact() const { return kind == Kind::f32; }
  /// Values travel as bf16.
  bool halves() const { return kind == Kind::bf16; }
  /// Only elements beyond the threshold travel.
  bool sparse() const { return kind == Kind::threshold; }
  /// Bytes that an element of a gradient takes; of sparse ones a thousandth are taken to travel.
  double bytes_per_element() const { return halves() ? 2 : sparse() ? 4e-3 : 4; }
};

enum class UpdateAt { server, worker };

/// What of the network each worker has.
struct Split {
  enum class Kind {
    none,       ///< all of it
    columns,    ///< some columns of large dense layers, all of the rest
    layers,     ///< one of `parts` parts, each of consecutive layers, of about equal work
    branches,   ///< one of its branches
    names,      ///< one of the parts that begin with these layers
    automatic,  ///< one of the parts that a plan finds best
  };
  Kind kind = Kind::none;
  /// Workers that have the network together, each a part of it. For branches and names it is known
  /// when the network is.
  int parts = 1;
  /// As they were given: "conv3", or "conv3=2" for one that belongs to part 2.
  std::vector<std::string> names = {};

  static Split none() { return {}; }
  static Split columns() { return {Kind::columns, 1, {}}; }
  static Split layers(int parts) { return {Kind::layers, parts, {}}; }

  /// The network is cut into parts that different workers have.
  bool cuts() const { return kind != Kind::none && kind != Kind::columns; }
  bool operator==(const Split&) const = default;
};

struct Options {
  Exchange exchange;
  Sync sync;
  Wire wire;
  UpdateAt update = UpdateAt::worker;
  Split split = {};
  Pipeline pipeline = {};  ///< of a network in parts
  int permits = 0;         ///< transfers that a server allows at a time in each direction; 0: any
  double bucket_mb = 0;    ///< 0: chosen from latency and bandwidth
  bool survives = false;   ///< workers go on when others are lost: they keep what they go back to
  /// What crosses between hosts, where it was measured: buckets and algorithms are chosen by it.
  collective::LinkSpeed link = collective::kEthernet;
  bool link_is_known = false;  ///< from a run that this one repeats
  /// Seconds of a server's update, where time is simulated.
  double update_s_per_element = 0.5e-9;

  bool updates_at_servers() const { return update == UpdateAt::server; }
  /// The others can go on when a worker is lost: nobody waits for it, and it held nothing that they
  /// need.
  bool tolerates_losses() const { return !sync.in_step() && exchange.own_servers() > 0; }
  /// After each step every worker has the same weights and the same state of the optimiser, so that
  /// each can save them without asking the others.
  bool same_everywhere() const {
    return exchange.among_workers() && sync.sees_all_gradients() && split == Split::none();
  }
  /// Each worker can go back to the end of a step by itself, when others are lost.
  bool can_go_back() const {
    return exchange.among_workers() && sync.in_step() && split == Split::none();
  }
  bool goes_back() const { return survives && can_go_back(); }
  /// Workers divide the columns of large dense layers between them.
  bool splits_columns() const { return split.kind == Split::Kind::columns; }
  /// Whole copies of the network that so many workers have.
  int replicas(int workers) const { return workers / split.parts; }
  /// So many workers compute what one would, but for the order of sums.
  bool same_result_as_alone(int workers) const {
    return replicas(workers) == 1 || (sync.splits_batch() && wire.exact());
  }
};

/// What so many workers do to the result, in words: "same result", "batch x 4" ...
std::string effect_of(const Options& options, int workers);

std::string to_string(const Exchange& exchange);
std::string to_string(const Sync& sync);
std::string to_string(const Wire& wire);
const char* to_string(UpdateAt update);
std::string to_string(const Split& split);

/// "allreduce", "allreduce:ring" ..., "ps", "ps-sharded:K", "ps-colocated", "shared".
Exchange parse_exchange(std::string_view text);
/// "join", "split", "async", "ssp:S", "backup:B", "local:H".
Sync parse_sync(std::string_view text);
/// "f32", "bf16", "threshold:T".
Wire parse_wire(std::string_view text);
/// "none", "columns", "layers:N", "branches", "auto", or names of layers: "conv3,fc1".
Split parse_split(std::string_view text);
/// Where weights are updated unless somebody says otherwise: at the servers, if there are any.
UpdateAt default_update(const Exchange& exchange);
/// "server", "worker" or "auto": the default.
UpdateAt parse_update(std::string_view text, const Exchange& exchange);

/// Refuses (RequestError) what makes no sense, naming what would work.
void check(const Options& options, int workers, int64_t batch, bool clips);

}  // namespace syrtos::strategy
