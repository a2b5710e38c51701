#pragma once

#include <vector>

#include "syrtos/optim/optimizer.h"
#include "syrtos/strategy/layout.h"
#include "syrtos/strategy/replica.h"
#include "syrtos/strategy/servers/protocol.h"
#include "syrtos/strategy/team.h"
#include "syrtos/world/world.h"

namespace syrtos::strategy {

using world::Task;
using world::World;

/// A piece of the parameters that a server keeps.
struct ServedPiece {
  size_t index = 0;  ///< among those of this server
  int id = 0;        ///< the same on all ranks
  Piece piece;
  size_t offset = 0;  ///< of its first element in this server's arenas
  std::vector<optim::Segment> segments;
  int64_t version = 0;  ///< updates that its weights have seen

  size_t bytes() const { return piece.count * sizeof(float); }
};

/// What a server keeps: its pieces of the weights and of what the optimiser keeps for them. In a
/// world that carries no data only their sizes are known.
class ServedParameters {
 public:
  ServedParameters(World& world, const Team& team, const Options& options,
                   const optim::OptimizerOptions& optimizer, const Layout& layout);

  std::vector<ServedPiece>& pieces() { return pieces_; }
  /// The weights of a piece; nullptr without data.
  float* weights_of(const ServedPiece& piece);

  /// At the start rank 0 brings the weights and, where servers update, what the optimiser keeps.
  Task<> receive_all();
  /// Rank 0 gets what the optimiser keeps.
  Task<> send_kept();

  /// Takes the optimiser's step on a piece. `gradient` has its elements and is multiplied by
  /// `scale`; `step`: updates that what the optimiser keeps has seen.
  Task<> update(const ServedPiece& piece, const float* gradient, double scale, const Push& push,
                int64_t step);
  /// Where updates are made, one after the other: whoever reads weights there never sees half of
  /// one. A worker that serves leaves its pool to computing.
  world::Where where() const { return where_; }

 private:
  Floats kept_of(const ServedPiece& piece, size_t arena) const;

  World& world_;
  const bool updates_;  // servers update
  const double update_s_per_element_;
  const world::Where where_;
  std::vector<ServedPiece> pieces_;
  std::vector<float> weights_;
  optim::Optimizer optimizer_;
};

}  // namespace syrtos::strategy
