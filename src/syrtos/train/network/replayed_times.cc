#include "syrtos/train/network/replayed_times.h"

#include <algorithm>

#include "syrtos/base/error.h"
#include "syrtos/graph/node_work.h"
#include "syrtos/graph/passes.h"

namespace syrtos::train {

namespace {

/// Of items first .. last - 1 of `count`. A few kernels more or less than were measured, as other
/// batch sizes have them, stretch or shorten the list.
double seconds_of(const std::vector<double>& measured, size_t first, size_t last, size_t count) {
  const double scale = static_cast<double>(measured.size()) / static_cast<double>(count);
  const double begin = static_cast<double>(first) * scale;
  const double end = static_cast<double>(last) * scale;
  double sum = 0;
  for (size_t i = 0; i < measured.size(); ++i) {
    const auto at = static_cast<double>(i);
    sum += measured[i] * std::clamp(std::min(end, at + 1) - std::max(begin, at), 0.0, 1.0);
  }
  return sum;
}

/// How much of each layer's work is in each piece: layers without weights may have a name in
/// common.
std::vector<std::vector<double>> shares_of(const CompiledNetwork& network,
                                           const std::map<std::string, size_t>& layer_of) {
  graph::Graph graph = network.model().graph;
  graph::recognise(graph);
  const NetworkDivision& division = network.division();
  const std::vector<int> piece_of = graph::pieces_of(graph, division.placement);
  std::vector<double> all(layer_of.size());
  std::vector<std::vector<double>> shares(division.pieces.size(), all);
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    const graph::Node& node = graph.nodes()[n];
    const auto layer = layer_of.find(node.name);
    if (layer == layer_of.end()) continue;
    const double work = graph::work_of(graph, node);
    all[layer->second] += work;
    for (size_t own = 0; own < shares.size(); ++own) {
      if (division.pieces[own] == piece_of[n]) shares[own][layer->second] += work;
    }
  }
  for (std::vector<double>& own : shares) {
    for (size_t layer = 0; layer < own.size(); ++layer) own[layer] /= std::max(1.0, all[layer]);
  }
  return shares;
}

}  // namespace

ReplayedTimes::ReplayedTimes(const CompiledNetwork& network,
                             const std::vector<optim::Segment>& tensors,
                             strategy::ComputeTimes times)
    : network_(network), times_(std::move(times)) {
  const std::string name = network.network().name();
  std::vector<size_t> elements;
  for (const optim::Segment& tensor : tensors) elements.push_back(tensor.elements);
  // With other instruction sets tensors are padded in another way, so the name is enough.
  const bool fits = times_.network == name || times_.tensors == elements;
  if (!fits || times_.passes[0].items.empty()) {
    fail_request("--replay: expected the kernel times of {}, found {} of {}", name,
                 times_.passes[0].items.empty() ? "none" : "those", times_.network);
  }
  if (!network.division().in_pieces()) {
    elements_ = static_cast<double>(tensors.back().offset + tensors.back().elements);
    return;
  }
  elements_ = static_cast<double>(times_.elements());
  if (times_.passes[0].forward.empty()) {
    fail_request(
        "--replay: expected the times of each layer, which say what parts of --split take, found "
        "none: measure again with 'syrtos probe compute --network {} --times FILE'",
        name);
  }
  for (size_t i = 0; i < times_.layers.size(); ++i) layer_of_.emplace(times_.layers[i], i);
  shares_ = shares_of(network, layer_of_);
}

std::vector<double> ReplayedTimes::of(const NetworkProgram& program, size_t piece) const {
  const strategy::ComputeTimes::Pass pass = times_.pass_of(program.batch());
  return shares_.empty() ? of_whole(program.program(), pass.items)
                         : of_piece(program.program(), pass, piece);
}

std::vector<double> ReplayedTimes::of_whole(const graph::Program& program,
                                            const std::vector<double>& measured) const {
  const size_t count = program.items().size();
  std::vector<double> seconds;
  for (size_t item = 0; item < count; ++item) {
    seconds.push_back(seconds_of(measured, item, item + 1, count));
  }
  return seconds;
}

/// A layer's time in this piece, the same for each of its kernels.
std::vector<double> ReplayedTimes::of_piece(const graph::Program& program,
                                            const strategy::ComputeTimes::Pass& pass,
                                            size_t piece) const {
  using Key = std::pair<std::string, graph::Phase>;
  std::map<Key, double> kernels;
  for (const graph::Program::Item& item : program.items()) ++kernels[{item.layer, item.phase}];
  std::vector<double> seconds;
  for (const graph::Program::Item& item : program.items()) {
    const auto layer = layer_of_.find(item.layer);
    if (layer == layer_of_.end()) {
      seconds.push_back(0);
      continue;
    }
    const bool forward = item.phase == graph::Phase::forward;
    const double all = (forward ? pass.forward : pass.backward)[layer->second];
    seconds.push_back(all * shares_[piece][layer->second] / kernels[{item.layer, item.phase}]);
  }
  return seconds;
}

double ReplayedTimes::update_seconds(size_t count) const {
  return times_.update_s * static_cast<double>(count) / elements_;
}

}  // namespace syrtos::train
