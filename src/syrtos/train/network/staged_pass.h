#pragma once

#include <map>
#include <vector>

#include "syrtos/graph/pass_parts.h"
#include "syrtos/strategy/compute_times.h"
#include "syrtos/strategy/pipeline.h"
#include "syrtos/strategy/replica.h"
#include "syrtos/train/network/compiled_network.h"

namespace syrtos::train {

/// So many samples of a batch, computed at once.
struct MicroBatch {
  int64_t first = 0;
  int64_t count = 0;
  float weight = 1;  ///< of its mean gradient in that of the batch
};

/// Some kernels of one program, for one micro-batch.
struct PassStage {
  size_t micro = 0;
  size_t piece = 0;
  NetworkProgram* program = nullptr;
  graph::PassPart part = {};
  bool ends = false;                ///< the piece is done with the micro-batch
  graph::PhaseTimes replayed = {};  ///< when it is not computed
};

/// The pass over a batch of one size: micro-batches in the order of a pipeline's turns, of one
/// worker alone one after the other. The first one waits for weights, the last one completes
/// gradients.
struct StagedPass {
  std::vector<MicroBatch> micros;
  std::vector<PassStage> parts;
  std::vector<strategy::Stage> stages;  ///< of each part
  /// Elements of the arenas that each piece of the network has.
  std::vector<collective::Range> ranges = {};
};

/// Memory of what is on its way between pieces of a network: two buffers for each that comes and
/// each that leaves, so that one crosses while the other is used; more where it has to wait.
class MessageBuffers {
 public:
  /// The next message of this lane at this end, in a pass.
  strategy::PartMessage next(const graph::Program& program, const graph::Program::Message& message,
                             int part, int buffers);
  /// A pass begins.
  void rewind() { used_.clear(); }
  int64_t bytes() const;

 private:
  using End = std::pair<int, bool>;  // lane, arrives
  std::map<End, std::vector<Buffer>> buffers_;
  std::vector<Buffer> outgrown_;  // that passes of smaller batches still use
  std::map<End, int> used_;
};

/// Makes passes of a worker's programs.
class PassMaker {
 public:
  /// All outlive it. Whole batches are cut into micro-batches of `micro` samples; 0: they are not.
  PassMaker(CompiledNetwork& network, const strategy::Layout& layout, int64_t micro,
            const strategy::Pipeline& pipeline, const strategy::Station& station,
            MessageBuffers& buffers)
      : network_(network),
        layout_(layout),
        micro_(micro),
        pipeline_(pipeline),
        station_(station),
        buffers_(buffers) {}

  /// Own samples, and those of all workers. Compiles what is not there yet.
  StagedPass make(int64_t samples, int64_t of_all);

 private:
  std::vector<MicroBatch> micros_of(int64_t samples) const;
  std::vector<NetworkProgram*> programs_of_turns(int64_t of_all);
  void add_turn(const strategy::Turn& turn, NetworkProgram& program);
  void add_part(const strategy::Turn& turn, NetworkProgram& program, const graph::PassPart& part);
  void add_messages(NetworkProgram& program, const graph::PassPart& part, strategy::Stage& stage);
  void finish(const strategy::Turn& turn, const graph::PassPart& part, strategy::Stage& stage);
  void note_pieces(const std::vector<NetworkProgram*>& programs);
  int part_of(int piece) const { return piece % station_.parts; }

  CompiledNetwork& network_;
  const strategy::Layout& layout_;
  const int64_t micro_;
  const strategy::Pipeline pipeline_;
  const strategy::Station station_;
  MessageBuffers& buffers_;

  // Of the pass that is being made.
  StagedPass pass_;
  std::vector<strategy::Turn> turns_;
  std::map<const NetworkProgram*, std::vector<graph::PassPart>> parts_;
  std::vector<bool> needed_;                 // buckets
  std::vector<int> unfinished_;              // pieces that have something of each bucket
  std::vector<std::vector<bool>> of_piece_;  // whether a piece has something of a bucket
};

}  // namespace syrtos::train
