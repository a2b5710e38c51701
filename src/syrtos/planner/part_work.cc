#include "syrtos/planner/part_work.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "syrtos/base/error.h"
#include "syrtos/planner/simulate.h"

namespace syrtos::planner {

using strategy::Stage;
using strategy::Turn;

namespace {

/// A network in parts as a way takes it.
struct Division {
  Division(const Workload& workload, const Candidate& candidate) {
    SYRTOS_CHECK(workload.network != nullptr, "where {} can be cut is not known",
                 workload.compute.network);
    const strategy::Options& options = candidate.options;
    parts = options.split.parts;
    per_worker = options.pipeline.pieces;
    network = workload.network->cut(options.split, parts * per_worker);
    SYRTOS_CHECK(static_cast<int>(network->pieces.size()) == parts * per_worker, "{} pieces",
                 network->pieces.size());
    micros = accumulate_of(workload, candidate);
    samples = (worker_batch(workload, candidate) + micros - 1) / micros;
    std::vector<int> ahead = strategy::stations_ahead(network->needs);
    if (ahead.empty()) ahead.assign(network->pieces.size(), 1);
    for (int part = 0; part < parts; ++part) {
      const strategy::Station station{part, parts, ahead[static_cast<size_t>(part)]};
      turns.push_back(turns_of(options.pipeline, station, static_cast<int>(micros)));
    }
  }

  /// Those of a worker, the last first: as they lie in its arenas.
  std::vector<int> pieces_of(int part) const {
    std::vector<int> own;
    for (int i = per_worker - 1; i >= 0; --i) own.push_back(part + i * parts);
    return own;
  }
  const Piece& piece(int part, int own) const {
    return network->pieces[static_cast<size_t>(part + own * parts)];
  }

  std::shared_ptr<const NetworkPieces> network;
  int parts = 1;
  int per_worker = 1;
  int64_t micros = 1;
  int64_t samples = 1;  // of a micro-batch
  std::vector<std::vector<Turn>> turns;
};

/// A tensor of the network: as it lies in memory, if that is known.
struct TensorSize {
  size_t elements = 0;
  size_t place = 0;  ///< among all, in the order in which gradients are finished
};
using TensorSizes = std::vector<TensorSize>;

TensorSizes tensor_sizes(const Workload& workload) {
  TensorSizes sizes;
  for (const size_t elements : workload.network->elements()) {
    sizes.push_back({elements, sizes.size()});
  }
  const std::vector<std::string>& names = workload.network->tensors();
  const strategy::ComputeTimes& times = workload.compute;
  for (size_t i = 0; i < times.names.size(); ++i) {
    const auto found = std::find(names.begin(), names.end(), times.names[i]);
    if (found == names.end()) continue;
    sizes[static_cast<size_t>(found - names.begin())] = {times.tensors[i], i};
  }
  return sizes;
}

double seconds_of(const PieceStep& step, const std::vector<std::pair<double, double>>& layers) {
  double seconds = 0;
  for (const auto& [layer, share] : step.shares) {
    seconds += share * (step.backward ? layers[layer].second : layers[layer].first);
  }
  return seconds;
}

std::vector<std::pair<double, double>> layer_seconds(const Workload& workload, int64_t samples) {
  return workload.network->seconds_of(workload.compute, workload.compute.pass_of(samples));
}

/// The stages of one part, as train/network/staged_pass.h makes them of programs.
class StageMaker {
 public:
  StageMaker(const Division& division, int part, const TensorSizes& sizes, size_t bucket_bytes,
             const std::vector<std::pair<double, double>>& layers)
      : division_(division), part_(part), layers_(layers) {
    std::vector<size_t> tensors;
    for (const int piece : division.pieces_of(part)) {
      std::vector<size_t> of_piece = division.network->pieces[static_cast<size_t>(piece)].tensors;
      std::stable_sort(of_piece.begin(), of_piece.end(),
                       [&](size_t a, size_t b) { return sizes[a].place < sizes[b].place; });
      for (const size_t tensor : of_piece) {
        place_of_[tensor] = tensors.size();
        tensors.push_back(sizes[tensor].elements);
      }
    }
    strategy::ComputeTimes own;
    own.tensors = std::move(tensors);
    work_.layout.tensors = segments_of(own);
    work_.layout.buckets = strategy::plan_buckets(work_.layout.tensors, bucket_bytes);
    bucket_of_ = bucket_of_tensor(work_.layout);
    for (const strategy::Bucket& bucket : work_.layout.buckets) {
      unfinished_.push_back(bucket.last_tensor - bucket.first_tensor);
    }
    needed_.assign(unfinished_.size(), false);
  }

  PartWork make() {
    for (const Turn& turn : division_.turns[static_cast<size_t>(part_)]) {
      first_of_turn_ = true;
      for (const PieceStep& step : division_.piece(part_, turn.piece).steps) {
        if (step.backward == turn.backward) add(turn, step);
      }
    }
    if (work_.stages.empty()) work_.stages.emplace_back();
    return std::move(work_);
  }

 private:
  void add(const Turn& turn, const PieceStep& step) {
    Stage stage;
    stage.micro = turn.micro;
    stage.seconds = seconds_of(step, layers_);
    if (turn.micro == 0) note_needs(step, stage);
    if (turn.micro + 1 == division_.micros) note_finished(step, stage);
    const int most = static_cast<int>(division_.micros);
    for (const PieceStep::Message& message : step.arrives) {
      stage.arrives.push_back(
          next(message, true, message.waits ? std::max(kBuffers, most) : kBuffers));
    }
    for (const PieceStep::Message& message : step.leaves) {
      stage.leaves.push_back(next(message, false, kBuffers));
    }
    Stage* last = first_of_turn_ ? nullptr : &work_.stages.back();
    first_of_turn_ = false;
    const bool joins = last != nullptr && stage.needs.empty() && stage.arrives.empty() &&
                       last->finishes.empty() && last->leaves.empty();
    if (!joins) {
      work_.stages.push_back(std::move(stage));
      return;
    }
    last->seconds += stage.seconds;
    last->finishes = std::move(stage.finishes);
    last->leaves = std::move(stage.leaves);
  }

  void note_needs(const PieceStep& step, Stage& stage) {
    for (const size_t tensor : step.needs) {
      const auto place = place_of_.find(tensor);
      if (place == place_of_.end()) continue;
      const int bucket = bucket_of_[place->second];
      if (needed_[static_cast<size_t>(bucket)]) continue;
      needed_[static_cast<size_t>(bucket)] = true;
      stage.needs.push_back(bucket);
    }
  }

  void note_finished(const PieceStep& step, Stage& stage) {
    for (const size_t tensor : step.finishes) {
      const int bucket = bucket_of_[place_of_.at(tensor)];
      if (--unfinished_[static_cast<size_t>(bucket)] == 0) stage.finishes.push_back(bucket);
    }
  }

  strategy::PartMessage next(const PieceStep::Message& message, bool arrives, int buffers) {
    const double bytes = message.bytes * static_cast<double>(division_.samples);
    return {.part = message.piece % division_.parts,
            .lane = static_cast<uint16_t>(message.lane),
            .buffer = used_[{message.lane, arrives}]++ % buffers,
            .memory = nullptr,
            .bytes = static_cast<size_t>(std::llround(bytes))};
  }

  static constexpr int kBuffers = 2;
  const Division& division_;
  const int part_;
  const std::vector<std::pair<double, double>>& layers_;
  PartWork work_;
  std::map<size_t, size_t> place_of_;  // tensor of the network -> of the part
  std::vector<int> bucket_of_;
  std::vector<int> unfinished_;  // tensors of each bucket
  std::vector<bool> needed_;     // buckets
  std::map<std::pair<int, bool>, int> used_;
  bool first_of_turn_ = true;
};

/// Elements that each part has.
std::vector<double> elements_by_part(const Workload& workload, const Division& division) {
  const TensorSizes sizes = tensor_sizes(workload);
  std::vector<double> sums(static_cast<size_t>(division.parts));
  for (size_t piece = 0; piece < division.network->pieces.size(); ++piece) {
    for (const size_t tensor : division.network->pieces[piece].tensors) {
      sums[piece % sums.size()] += static_cast<double>(sizes[tensor].elements);
    }
  }
  return sums;
}

double update_seconds(const Workload& workload, double elements) {
  return workload.compute.update_s * elements / static_cast<double>(workload.compute.elements());
}

}  // namespace

std::vector<PartWork> part_works(const Workload& workload, const Candidate& candidate,
                                 const collective::LinkSpeed& link) {
  const Division division(workload, candidate);
  const TensorSizes sizes = tensor_sizes(workload);
  const std::vector<double> own = elements_by_part(workload, division);
  const auto layers = layer_seconds(workload, division.samples);
  std::vector<PartWork> works;
  for (int part = 0; part < division.parts; ++part) {
    auto bytes = static_cast<size_t>(2 * sizeof(float) * own[static_cast<size_t>(part)]) + 64;
    if (candidate.replicas() > 1) {
      bytes = strategy::bucket_bytes(
          candidate.options.bucket_mb, link, candidate.replicas(),
          static_cast<size_t>(own[static_cast<size_t>(part)]) * sizeof(float));
    }
    works.push_back(StageMaker(division, part, sizes, bytes, layers).make());
  }
  return works;
}

std::vector<double> busy_seconds(const Workload& workload, const Candidate& candidate) {
  const Division division(workload, candidate);
  const auto layers = layer_seconds(workload, division.samples);
  std::vector<double> busy = elements_by_part(workload, division);
  for (double& elements : busy) elements = update_seconds(workload, elements);
  for (size_t piece = 0; piece < division.network->pieces.size(); ++piece) {
    for (const PieceStep& step : division.network->pieces[piece].steps) {
      busy[piece % busy.size()] += static_cast<double>(division.micros) * seconds_of(step, layers);
    }
  }
  busy[0] += pass_of(workload, candidate).load_s;
  return busy;
}

double kept_scale(const Workload& workload, int64_t samples) {
  const double measured = workload.compute.pass_of(samples).memory;
  const double weights = 3 * sizeof(float) * static_cast<double>(workload.compute.elements());
  const double kept = workload.network->kept() * static_cast<double>(samples);
  return measured > weights && kept > 0 ? (measured - weights) / kept : 1;
}

std::vector<double> part_memory(const Workload& workload, const Candidate& candidate) {
  const Division division(workload, candidate);
  const double copies = division.micros > 1 ? 4 : 3;  // with the sums of gradients
  std::vector<double> memory = elements_by_part(workload, division);
  for (double& bytes : memory) bytes *= copies * sizeof(float);
  const auto samples = static_cast<double>(division.samples);
  const double scale = kept_scale(workload, division.samples);
  for (int part = 0; part < division.parts; ++part) {
    double& bytes = memory[static_cast<size_t>(part)];
    for (int own = 0; own < division.per_worker; ++own) {
      const Piece& piece = division.piece(part, own);
      const int most = most_in_flight(division.turns[static_cast<size_t>(part)], own);
      bytes += scale * piece.kept * samples * most;
      for (const PieceStep& step : piece.steps) {
        for (const auto* messages : {&step.arrives, &step.leaves}) {
          for (const PieceStep::Message& message : *messages) bytes += 2 * message.bytes * samples;
        }
      }
    }
  }
  return memory;
}

double part_wire_bytes(const Workload& workload, const Candidate& candidate) {
  const Division division(workload, candidate);
  const std::vector<double> elements = elements_by_part(workload, division);
  const auto replicas = static_cast<double>(candidate.replicas());
  const double batch = static_cast<double>(division.samples * division.micros);
  double most = 0;
  for (int part = 0; part < division.parts; ++part) {
    double in = 0;
    double out = 0;
    for (int own = 0; own < division.per_worker; ++own) {
      for (const PieceStep& step : division.piece(part, own).steps) {
        for (const PieceStep::Message& message : step.arrives) in += batch * message.bytes;
        for (const PieceStep::Message& message : step.leaves) out += batch * message.bytes;
      }
    }
    const double gradients = 2 * (replicas - 1) / replicas * elements[static_cast<size_t>(part)] *
                             candidate.options.wire.bytes_per_element();
    most = std::max(most, std::max(in, out) + gradients);
  }
  return most;
}

}  // namespace syrtos::planner
