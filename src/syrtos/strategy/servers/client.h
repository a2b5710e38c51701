#pragma once

#include <optional>
#include <vector>

#include "syrtos/strategy/strategy.h"
#include "syrtos/strategy/wire.h"

namespace syrtos::strategy {

/// A worker's half of what protocol.h says: what it tells the servers about each piece of the
/// parameters, and what they answer.
class ServerClient {
 public:
  ServerClient(World& world, const Team& team, const Options& options, Replica& replica,
               Meter& meter);

  int pieces() const { return static_cast<int>(talks_.size()); }
  const Piece& piece(int id) const { return at(id).piece; }
  /// Updates that the weights have seen that came last.
  int64_t version(int id) const { return at(id).version; }
  /// The last gradient came too late to count.
  bool was_late(int id) const { return at(id).late; }

  /// Numbers the rounds of a piece: push, answer and pull, or one of the other questions.
  uint32_t begin_round(int id) { return at(id).round++; }
  /// Sends the gradient; returns when its memory can be used again.
  Task<> push(int id, uint32_t round, const StepInfo& info);
  /// Waits until the server has taken the gradient and answers. With permits it says first that
  /// weights can come.
  Task<> receive_answer(int id, uint32_t round);
  /// The values after the answer: weights, or averaged gradients where workers update. `exact`: in
  /// f32 whatever the wire.
  Task<> pull(int id, uint32_t round, bool exact);

  /// The weights of this agreement, without a gradient.
  Task<> pull_agreed(int id, int64_t agreement);
  /// Tells all servers that no gradient comes until the next agreement.
  Task<> rest();

 private:
  /// About one piece.
  struct Talk {
    Piece piece;
    uint32_t round = 0;
    int64_t version = 0;
    bool late = false;
    std::optional<Residue> residue;  ///< with a threshold: what was not sent yet
    std::vector<uint16_t> packed;
  };

  Talk& at(int id) { return talks_[static_cast<size_t>(id)]; }
  const Talk& at(int id) const { return talks_[static_cast<size_t>(id)]; }
  Rank server_of(const Talk& talk) const { return team_.server_rank(talk.piece.server); }
  /// The gradient as it travels: `sparse` and the piece's packed values keep its bytes.
  world::Source encoded(const Talk& talk, const Floats& gradient,
                        const SparseGradient& sparse) const;

  World& world_;
  const Team team_;
  const Options options_;
  Replica& replica_;
  Meter& meter_;
  std::vector<Talk> talks_;
};

}  // namespace syrtos::strategy
