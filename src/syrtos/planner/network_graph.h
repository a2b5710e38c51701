#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "syrtos/graph/graph.h"
#include "syrtos/graph/placement.h"
#include "syrtos/strategy/compute_times.h"
#include "syrtos/strategy/options.h"

namespace syrtos::planner {

/// What a piece of a network does between two points at which something arrives or leaves, weights
/// are needed or gradients become final.
struct PieceStep {
  /// Values that come from another piece, or leave for it.
  struct Message {
    int piece = 0;  ///< the other one
    int lane = 0;
    double bytes = 0;    ///< of a sample
    bool waits = false;  ///< it is sent long before it is read
  };
  bool backward = false;
  std::map<size_t, double> shares = {};  ///< of layers' times, by their number
  std::vector<size_t> needs = {};        ///< tensors of the network
  std::vector<size_t> finishes = {};
  std::vector<Message> arrives = {};
  std::vector<Message> leaves = {};
};

struct Piece {
  std::vector<PieceStep> steps;
  std::vector<size_t> tensors;  ///< of the network, in the order in which they are finished
  double kept = 0;  ///< bytes of a sample that are kept from the forward to the backward pass
};

/// A network in pieces, and what they need of each other.
struct NetworkPieces {
  graph::Placement placement;
  std::vector<Piece> pieces;
  std::vector<std::vector<int>> needs;  ///< see graph::needs_of_pieces()
  std::string text;                     ///< what each has, for people

  /// Each piece needs earlier ones alone.
  bool goes_one_way() const;
};

/// The network that is planned for, as cuts see it.
class NetworkGraph {
 public:
  /// Without gradients, of so many samples, more than one.
  NetworkGraph(graph::Graph forward, graph::ValueId loss, int64_t samples);

  const graph::Graph& graph() const { return forward_; }
  int64_t samples() const { return samples_; }
  const std::vector<graph::Unit>& units() const { return units_; }

  /// The layers, in the order of the network: times are known layer by layer.
  const std::vector<std::string>& layers() const { return layers_; }
  /// What is trained, and elements of each.
  const std::vector<std::string>& tensors() const { return tensors_; }
  const std::vector<size_t>& elements() const { return elements_; }

  /// Shares of layers' times that each unit takes, forward and backward.
  struct UnitShares {
    std::map<size_t, double> forward = {};
    std::map<size_t, double> backward = {};
    double elements = 0;  ///< of its weights
    double kept = 0;      ///< bytes of a sample, as in Piece
  };
  const std::vector<UnitShares>& unit_shares() const { return unit_shares_; }
  /// Bytes of a sample that units first .. end - 1 get from those before them, and that others use
  /// of what they make; backward as many go the other way.
  double bytes_into(size_t first, size_t end) const { return into_[first][end]; }
  double bytes_out_of(size_t first, size_t end) const { return out_of_[first][end]; }
  double kept() const { return kept_; }
  /// What units use of each other: bytes of a sample, by the units that use them.
  struct UnitEdge {
    size_t from = 0;
    size_t to = 0;
    double bytes = 0;
  };
  const std::vector<UnitEdge>& edges() const { return edges_; }

  /// Seconds of each layer in a pass, forward and backward. What was not measured layer by layer is
  /// divided by their work.
  std::vector<std::pair<double, double>> seconds_of(const strategy::ComputeTimes& times,
                                                    const strategy::ComputeTimes::Pass& pass) const;

  /// Cut as a way says, in so many pieces where it says "layers". Made once for each. Throws
  /// RequestError.
  std::shared_ptr<const NetworkPieces> cut(const strategy::Split& split, int pieces) const;
  /// The split into pieces that begin with these units, beside the first, for so many workers.
  strategy::Split split_at(const std::vector<size_t>& begins, int parts) const;
  /// These units, of consecutive pieces.
  std::vector<size_t> begins_of(const strategy::Split& split, int pieces) const;

 private:
  std::shared_ptr<const NetworkPieces> make(graph::Placement placement) const;
  Piece piece_of(const graph::Graph& part) const;
  void note_work();
  void note_units();
  void note_crossing();
  const graph::Placement& consecutive(int pieces) const;
  double share_of(const graph::Graph& graph, const graph::Node& node, size_t layer) const;

  const graph::Graph forward_;
  const int64_t samples_;
  graph::Graph whole_;  // with gradients
  std::vector<graph::NodeId> origins_;
  std::vector<graph::Unit> units_;
  std::vector<std::string> layers_;
  std::map<std::string, size_t> layer_of_;
  std::vector<std::pair<double, double>> work_;  // of each layer, forward and backward
  std::vector<std::string> tensors_;
  std::vector<size_t> elements_;
  std::map<std::string, size_t> tensor_of_;
  std::vector<UnitShares> unit_shares_;
  std::vector<UnitEdge> edges_;
  std::vector<std::vector<double>> into_;  // first and end of units
  std::vector<std::vector<double>> out_of_;
  std::map<graph::NodeId, double> kept_of_;  // node of the forward graph
  double kept_ = 0;
  mutable std::map<int, graph::Placement> consecutive_;  // by pieces
  mutable std::map<std::string, std::shared_ptr<const NetworkPieces>> known_;
};

}  // namespace syrtos::planner
