#include "syrtos/train/team/evaluate_parts.h"

#include <array>
#include <map>
#include <set>
#include <utility>

#include "syrtos/strategy/part_messages.h"
#include "syrtos/train/network/staged_pass.h"
#include "syrtos/world/control.h"

namespace syrtos::train {

using strategy::Stage;
using world::Started;
using world::Task;

namespace {

constexpr uint8_t kEvaluation = 1;  // beside the messages of training

/// One batch on its way through this worker's pieces. Batches take two of these in turn, so that
/// one leaves while the next is computed.
struct EvaluationPass {
  std::vector<PassStage> parts = {};
  std::vector<Stage> stages = {};
};

EvaluationPass make_pass(CompiledNetwork& network, const strategy::Team& team,
                         MessageBuffers& buffers) {
  constexpr int kInTurn = 2;
  EvaluationPass pass;
  for (size_t piece = 0; piece < network.pieces(); ++piece) {
    NetworkProgram& program = network.evaluation(piece);
    for (graph::PassPart& part : graph::parts_of_pass(program.program(), {})) {
      Stage& stage = pass.stages.emplace_back();
      const auto next = [&](const graph::Program::Message& message) {
        return buffers.next(program.program(), message, message.peer % team.parts, kInTurn);
      };
      for (const graph::Program::Message* one : part.arrives) stage.arrives.push_back(next(*one));
      for (const graph::Program::Message* one : part.leaves) stage.leaves.push_back(next(*one));
      pass.parts.push_back({.piece = piece, .program = &program, .part = std::move(part)});
    }
  }
  return pass;
}

/// Keeps parts that are faster from running away, for what they send before it is awaited lies in
/// memory of its receiver: whoever has computed a batch tells those that sent something for it, and
/// no batch begins before the one that is kBatches before it was computed by all to whom it goes.
class Pace {
 public:
  Pace(world::World& world, strategy::Meter& meter, const std::vector<world::Rank>& ranks,
       const EvaluationPass& pass)
      : world_(world), meter_(meter) {
    for (const Stage& stage : pass.stages) {
      for (const strategy::PartMessage& one : stage.arrives) {
        from_.insert(ranks[static_cast<size_t>(one.part)]);
      }
      for (const strategy::PartMessage& one : stage.leaves) {
        to_.insert(ranks[static_cast<size_t>(one.part)]);
      }
    }
  }

  Task<> begin(int64_t batch) {
    if (batch < kBatches) co_return;
    const strategy::Meter::Doing waits(meter_, trace::Part::bubble);
    for (const world::Rank rank : to_) {
      char done = 0;
      co_await world_.recv(rank, tag(batch - kBatches), {&done, 1});
    }
  }
  Task<> end(int64_t batch) {
    for (const world::Rank rank : from_) {
      Started& before = telling_[{rank, batch % kBatches}];
      if (before.valid()) co_await before.join();
      before = Started(world_, tell(rank, batch));
    }
  }
  /// After so many batches: nothing of them is on its way any more.
  Task<> settle(int64_t batches) {
    for (int64_t i = 0; i < kBatches; ++i) co_await begin(batches + i);
    for (const auto& [whom, telling] : telling_) co_await telling.join();
  }

 private:
  static constexpr int64_t kBatches = 2;

  Task<> tell(world::Rank rank, int64_t batch) {
    const char done = 1;
    co_await world_.send(rank, tag(batch), {&done, 1});
  }
  static world::Tag tag(int64_t batch) {
    return world::control_tag(world::ControlItem::batch_done, static_cast<uint32_t>(batch));
  }

  world::World& world_;
  strategy::Meter& meter_;
  std::set<world::Rank> from_;
  std::set<world::Rank> to_;
  std::map<std::pair<world::Rank, int64_t>, Started> telling_;  // of the last batches
};

void compute(const EvaluationPass& pass, size_t stage, TestRun& run) {
  const PassStage& part = pass.parts[stage];
  graph::Program& program = part.program->program();
  if (part.part.first == 0) part.program->use(run.batch());
  for (size_t i = 0; i < part.part.arrives.size(); ++i) {
    program.put(*part.part.arrives[i],
                static_cast<const std::byte*>(pass.stages[stage].arrives[i].memory));
  }
  graph::PhaseTimes times;
  program.run_items(part.part.first, part.part.last, {}, times);
  for (size_t i = 0; i < part.part.leaves.size(); ++i) {
    program.take_away(*part.part.leaves[i],
                      static_cast<std::byte*>(pass.stages[stage].leaves[i].memory));
  }
  const bool ends = stage + 1 == pass.parts.size() || pass.parts[stage + 1].part.first == 0;
  if (ends && part.program->has_results()) run.add(part.program->logits());
}

}  // namespace

Task<Evaluation> evaluate_parts(world::World& world, const strategy::Team& team,
                                strategy::Meter& meter, CompiledNetwork& network,
                                const TestData& test) {
  MessageBuffers buffers;
  const std::array<EvaluationPass, 2> passes = {make_pass(network, team, buffers),
                                                make_pass(network, team, buffers)};
  TestRun run(test, network.evaluation().task(), network.evaluation().batch());
  const std::vector<world::Rank> ranks = team.replica_ranks(team.replica_of(world.rank()));
  strategy::PartMessages messages(world, meter, ranks, kEvaluation);
  Pace pace(world, meter, ranks, passes[0]);
  int64_t batch = 0;
  for (;; ++batch) {
    bool goes_on = false;
    co_await world.compute(0, [&] { goes_on = run.next(); });
    if (!goes_on) break;
    const EvaluationPass& pass = passes[static_cast<size_t>(batch % 2)];
    co_await pace.begin(batch);
    messages.begin(pass.stages, batch);
    for (size_t stage = 0; stage < pass.stages.size(); ++stage) {
      co_await messages.wait(stage);
      co_await world.compute(0, [&] { compute(pass, stage, run); });
      messages.ran(stage);
    }
    co_await pace.end(batch);
  }
  co_await messages.settle();
  co_await pace.settle(batch);
  Evaluation result;
  co_await world.compute(0, [&] {
    for (size_t piece = 0; piece < network.pieces(); ++piece) {
      network.evaluation(piece).use_own_images();  // the loader's are gone
    }
    result = run.result();
  });
  co_return result;
}

}  // namespace syrtos::train
