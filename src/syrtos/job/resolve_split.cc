#include "syrtos/job/resolve_split.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "syrtos/base/error.h"
#include "syrtos/graph/passes.h"

namespace syrtos::job {

using strategy::Pipeline;
using strategy::Split;

namespace {

/// Large enough for the work of a sample to count, not what a layer costs once.
constexpr int64_t kUsualBatch = 8;

graph::Placement placement_of(const Job& job, const graph::Graph& graph) {
  const Split& split = job.strategy.split;
  switch (split.kind) {
    case Split::Kind::layers:
      return place_consecutively(graph, split.parts * job.strategy.pipeline.pieces);
    case Split::Kind::branches:
      return graph::place_branches(graph);
    case Split::Kind::automatic:  // nobody has planned: a part for each worker
      return place_consecutively(graph, job.workers * job.strategy.pipeline.pieces);
    default:
      return place_by_names(graph, split.names);
  }
}

/// Whether each piece gets values from earlier ones alone.
bool goes_one_way(const std::vector<std::vector<int>>& needs) {
  for (size_t piece = 0; piece < needs.size(); ++piece) {
    for (const int from : needs[piece]) {
      if (from >= static_cast<int>(piece)) return false;
    }
  }
  return true;
}

void check_pieces(const JobRequest& request, const Job& job,
                  const std::vector<std::vector<int>>& needs) {
  const int pieces = job.placement.pieces;
  const Pipeline& pipeline = job.strategy.pipeline;
  if (pieces % pipeline.pieces != 0) {
    fail_request("--pipeline {}: expected a multiple of {} parts, {} for each worker, found {}",
                 to_string(pipeline), pipeline.pieces, pipeline.pieces, pieces);
  }
  const bool interleaved = pipeline.kind == Pipeline::Kind::interleaved;
  if (goes_one_way(needs) || (!interleaved && !request.gives("distribute.pipeline"))) return;
  if (pipeline.kind == Pipeline::Kind::fill_drain) return;
  fail_request(
      "--pipeline {}: parts of --split {} need each other in turn, and would wait for ever: use "
      "fill-drain, or parts of consecutive layers",
      to_string(pipeline), request.split);
}

/// As many as keep all parts busy most of the time, of at least some samples each.
int64_t usual_micro_batches(const Job& job) {
  constexpr int64_t kForEachPart = 4;
  constexpr int64_t kLeastSamples = 4;
  const int64_t parts = job.strategy.split.parts;
  const int64_t share = job.share(0);
  const bool interleaved = job.strategy.pipeline.kind == Pipeline::Kind::interleaved;
  int64_t best = 1;
  for (int64_t count = 1; count <= std::min(share, kForEachPart * parts); ++count) {
    if (share % count != 0 || (interleaved && count % parts != 0)) continue;
    if (share / count >= kLeastSamples || count <= parts) best = count;
  }
  return best;
}

}  // namespace

std::string split_text(const std::string& split) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(split, error)) return split;
  std::ifstream file(split);
  std::string names;
  for (std::string line; std::getline(file, line);) {
    line = line.substr(0, line.find('#'));
    std::erase_if(line, [](char c) { return c == ' ' || c == '\t' || c == '\r'; });
    if (!line.empty()) names += (names.empty() ? "" : ",") + line;
  }
  if (names.empty()) {
    fail_request("--split: expected names of layers in {}, one a line, found none", split);
  }
  return names;
}

nn::Model model_to_cut(const Job& job) {
  nn::Model model = job.network.build(job.model_options(kUsualBatch));
  graph::recognise(model.graph);
  return model;
}

void resolve_split(const JobRequest& request, Job& job) {
  Split& split = job.strategy.split;
  if (split.cuts()) {
    const graph::Graph graph = model_to_cut(job).graph;
    job.placement = placement_of(job, graph);
    const std::vector<int> piece_of = pieces_of(graph, job.placement);
    const auto needs = needs_of_pieces(graph, piece_of, job.placement.pieces);
    check_pieces(request, job, needs);
    split.parts = job.placement.pieces / job.strategy.pipeline.pieces;
    strategy::check(job.strategy, job.workers, job.batch, job.clip > 0);
    job.ahead = strategy::stations_ahead(needs);
    if (!goes_one_way(needs)) job.strategy.pipeline = {Pipeline::Kind::fill_drain, 1};
    if (job.ahead.empty()) job.ahead.assign(static_cast<size_t>(split.parts), 1);
    job.parts_text = layers_text(graph, job.placement);
  }
  if (job.accumulate == 0) job.accumulate = split.parts > 1 ? usual_micro_batches(job) : 1;
  const bool interleaved = job.strategy.pipeline.kind == Pipeline::Kind::interleaved;
  if (interleaved && job.accumulate % split.parts != 0) {
    fail_request(
        "--pipeline {}: expected a multiple of {} micro-batches, one for each worker, found {}: "
        "use --accumulate {}, with a --batch that it divides",
        to_string(job.strategy.pipeline), split.parts, job.accumulate,
        (job.accumulate / split.parts + 1) * split.parts);
  }
}

}  // namespace syrtos::job
