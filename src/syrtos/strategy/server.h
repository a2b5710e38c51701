#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "syrtos/strategy/layout.h"
#include "syrtos/strategy/protocol.h"
#include "syrtos/strategy/strategy.h"
#include "syrtos/world/started.h"

namespace syrtos::strategy {

/// Whoever measures a server of its own.
class ServerObserver {
 public:
  virtual ~ServerObserver() = default;
  virtual Meter& meter() = 0;
  /// The first gradient of this step (from 1) comes.
  virtual void step(int64_t number) = 0;
  /// Rank 0 asked for something of what was measured and listens.
  virtual Task<> tell(Command what) = 0;
};

/// A parameter server: keeps some pieces of the parameters and talks with each worker about each
/// piece in a coroutine of its own.
///
/// Synchronous (join, split), for each piece and round:
///   add the gradients of all workers as they arrive
///   --update server: update the weights, send them to all; worker: send the mean to all
///
/// Free (async, ssp:S, backup:B), for each worker and piece:
///   receive a gradient
///   async:  update the weights at once
///   ssp:    the same; then wait until the slowest worker is at most S steps behind
///   backup: drop it if this piece has taken its step already; else add it, and with the
///           (N - B)-th one take the step; wait until it is taken
///   send the weights
///   A worker that has no samples in a step brings nothing: it only gets the weights.
///
/// Messages and bytes of a step and worker: each piece once in each direction, so that all workers
/// move 2 N times the parameters through the servers; with K servers 2 N / K through each.
/// With --permits K at most K gradients come in and K pieces go out at a time; the others compute.
/// Only workers that are ready to receive get a permit.
class Server {
 public:
  /// `index`: which server it is. `observer`: none in a worker that serves.
  Server(World& world, const Team& team, const Options& options,
         const optim::OptimizerOptions& optimizer, const Layout& layout, int servers, int index,
         ServerObserver* observer = nullptr);

  /// Until rank 0 says stop, or a rank is lost that cannot be spared.
  Task<> serve();

 private:
  /// A piece and what is known about it.
  struct Held {
    int id = 0;  ///< of the piece, the same on all ranks
    Piece piece;
    size_t offset = 0;  ///< in this server's arenas
    std::vector<optim::Segment> segments;
    int64_t version = 0;  ///< updates

    /// Of a synchronous round; rounds alternate between two, because the replies of one may still
    /// be on their way when the gradients of the next arrive.
    struct Sum {
      std::vector<float> values;
      std::vector<uint16_t> packed;
      int arrived = 0;
      double weight = 0;  ///< backup: of those that arrived
      int replied = 0;
      double complete_at = 0;  ///< moment of the last gradient
      std::shared_ptr<world::Event> done;
    };
    std::array<Sum, 2> sums;

    std::vector<int64_t> clocks;  ///< pushes of each worker
    std::vector<bool> resting;    ///< workers that bring nothing until all have met
    bool updating = false;        ///< backup: the gradients of this step are enough

    /// What workers agreed on last: a late gradient of a lost worker must not come between them.
    struct Agreed {
      int64_t number = 0;
      int64_t version = 0;
      int64_t copied = 0;  ///< number for which the weights were copied
      std::vector<float> weights;
    };
    Agreed agreed;
    std::unique_ptr<world::Condition> changed;
  };

  /// From here to the end of the block, where somebody measures.
  class Doing {
   public:
    Doing(const Server& server, Part part) {
      if (server.observer_ != nullptr) doing_.emplace(server.observer_->meter(), part);
    }

   private:
    std::optional<Meter::Doing> doing_;
  };

  void note_step(const Push& push);
  Task<> receive_arenas();
  Task<> obey();
  Task<> send_kept();
  Task<> guard(Task<> task);

  Task<> synchronous(Rank worker, Held& held);
  Task<> free_running(Rank worker, Held& held);
  Task<> free_rounds(Rank worker, Held& held);

  Task<> receive(Rank worker, Held& held, uint32_t round, const Push& push, float* to, bool add);
  Task<> reply(Rank worker, Held& held, uint32_t round, Pull pull, world::Source values);
  Task<> finish_round(Held& held, Held::Sum& sum, const Push& push);
  Task<> apply(Held& held, const Push& push, const std::vector<float>& gradient, Pull& pull);
  Task<> count_in(Held& held, const Push& push, const std::vector<float>& gradient, Pull& pull);
  bool enough(const Held& held) const;
  static int64_t agree_on(Held& held, int64_t number);
  void copy_weights(Held& held, const Push& push, std::vector<float>& to) const;
  /// A worker that serves leaves its pool to computing.
  world::Where update_where() const {
    return team_.servers > 0 ? world::Where::pool : world::Where::here;
  }
  Task<> await_slowest(Rank worker, Held& held);
  Task<> update(Held& held, const float* gradient, const Push& push, double scale);

  void lose(Rank worker);
  /// Workers of which a gradient can still come.
  int64_t active(const Held& held) const;
  float* weights_of(const Held& held) const;
  Floats kept_of(const Held& held, size_t arena) const;

  World& world_;
  const Team team_;
  const Options options_;
  ServerObserver* const observer_;
  int64_t step_ = 0;  // that the furthest worker has come to
  std::vector<Held> held_;
  size_t elements_ = 0;
  std::vector<float> weights_;
  optim::Optimizer optimizer_;
  std::vector<bool> lost_;  // workers
  std::unique_ptr<world::Semaphore> in_;
  std::unique_ptr<world::Semaphore> out_;
  std::vector<world::Started> tasks_;
  world::Event finished_;
  std::exception_ptr error_;
  Report report_;
};

/// A rank that is nothing but a server: learns the layout from rank 0 and serves.
Task<> serve(World& world, Team team, Options options, optim::OptimizerOptions optimizer,
             ServerObserver* observer = nullptr);
/// Rank 0's part of it, for each server of its own.
Task<> send_layout(World& world, const Team& team, const Layout& layout);

}  // namespace syrtos::strategy
