#include "syrtos/train/network/staged_pass.h"

#include <algorithm>
#include <set>

#include "syrtos/base/error.h"

namespace syrtos::train {

using strategy::Stage;
using strategy::Turn;

namespace {

strategy::BlockMove move_of(const ops::BlockExchange& blocks) {
  strategy::BlockMove move{blocks.memory, {}};
  for (const ops::BlockExchange::Block& block : blocks.sends) {
    move.round.send(block.worker, {block.first, block.bytes});
  }
  for (const ops::BlockExchange::Block& block : blocks.receives) {
    move.round.receive(block.worker, {block.first, block.bytes});
  }
  return move;
}

/// Whether a stage ends in something that happens outside of it.
bool is_closed(const Stage& stage) {
  return !stage.finishes.empty() || !stage.sums.empty() || !stage.blocks.empty() ||
         !stage.leaves.empty();
}

/// Slots whose gradient the program makes.
std::set<int> slots_of(const graph::Program& program) {
  std::set<int> slots;
  for (const graph::Program::Item& item : program.items()) {
    slots.insert(item.finishes.begin(), item.finishes.end());
  }
  return slots;
}

/// Which programs are taken by micro-batches that are on their way.
class Slots {
 public:
  /// The first one that is free for a micro-batch of this size.
  size_t take(const Turn& turn, int64_t samples) {
    std::vector<bool>& taken = taken_[{turn.piece, samples}];
    const auto free = std::find(taken.begin(), taken.end(), false);
    const auto slot = static_cast<size_t>(free - taken.begin());
    if (free == taken.end()) taken.push_back(false);
    taken[slot] = true;
    return slot_of_[{turn.piece, turn.micro}] = slot;
  }
  size_t give_back(const Turn& turn, int64_t samples) {
    const size_t slot = slot_of_.at({turn.piece, turn.micro});
    taken_[{turn.piece, samples}][slot] = false;
    return slot;
  }

 private:
  std::map<std::pair<int, int64_t>, std::vector<bool>> taken_;  // piece, samples
  std::map<std::pair<int, int>, size_t> slot_of_;               // piece, micro-batch
};

}  // namespace

strategy::PartMessage MessageBuffers::next(const graph::Program& program,
                                           const graph::Program::Message& message, int part,
                                           int buffers) {
  const End end{message.lane, message.arrives};
  const size_t bytes = program.bytes_of(message);
  std::vector<Buffer>& own = buffers_[end];
  if (own.size() < static_cast<size_t>(buffers)) own.resize(static_cast<size_t>(buffers));
  const int buffer = used_[end]++ % buffers;
  Buffer& memory = own[static_cast<size_t>(buffer)];
  if (memory.size() < bytes) {
    outgrown_.push_back(std::move(memory));
    memory = Buffer(bytes, "what crosses between parts");
  }
  return {.part = part,
          .lane = static_cast<uint16_t>(message.lane),
          .buffer = buffer,
          .memory = memory.data(),
          .bytes = bytes};
}

int64_t MessageBuffers::bytes() const {
  size_t bytes = 0;
  for (const auto& [end, own] : buffers_) {
    for (const Buffer& buffer : own) bytes += buffer.size();
  }
  return static_cast<int64_t>(bytes);
}

std::vector<MicroBatch> PassMaker::micros_of(int64_t samples) const {
  const int64_t most = micro_ > 0 ? micro_ : samples;
  std::vector<MicroBatch> micros;
  for (int64_t first = 0; first < samples; first += most) {
    const int64_t count = std::min(most, samples - first);
    micros.push_back({first, count, static_cast<float>(count) / static_cast<float>(samples)});
  }
  return micros;
}

/// A program for each turn: those of one piece that are on their way at the same time differ.
std::vector<NetworkProgram*> PassMaker::programs_of_turns(int64_t of_all) {
  const bool several = pass_.micros.size() > 1;
  Slots slots;
  std::vector<NetworkProgram*> programs;
  for (const Turn& turn : turns_) {
    const int64_t count = pass_.micros[static_cast<size_t>(turn.micro)].count;
    // Micro-batches of workers who exchange something within a pass are equal.
    const int64_t of_workers = several ? count * network_.division().workers : of_all;
    const size_t slot = turn.backward ? slots.give_back(turn, count) : slots.take(turn, count);
    NetworkProgram& program =
        network_.training(count, of_workers, {static_cast<size_t>(turn.piece), slot});
    programs.push_back(&program);
    if (parts_.contains(&program)) continue;
    parts_[&program] = graph::parts_of_pass(program.program(), strategy::bucket_of_tensor(layout_));
  }
  return programs;
}

StagedPass PassMaker::make(int64_t samples, int64_t of_all) {
  pass_ = {};
  pass_.micros = micros_of(samples);
  buffers_.rewind();
  turns_ = turns_of(pipeline_, station_, static_cast<int>(pass_.micros.size()));
  needed_.assign(layout_.buckets.size(), false);
  const std::vector<NetworkProgram*> programs = programs_of_turns(of_all);
  note_pieces(programs);
  for (size_t i = 0; i < turns_.size(); ++i) add_turn(turns_[i], *programs[i]);
  // A bucket of which nothing has a gradient is final in the end.
  for (size_t bucket = 0; bucket < layout_.buckets.size(); ++bucket) {
    const bool has_gradient =
        std::any_of(of_piece_.begin(), of_piece_.end(), [&](const auto& of) { return of[bucket]; });
    if (!has_gradient) pass_.stages.back().finishes.push_back(static_cast<int>(bucket));
  }
  return std::move(pass_);
}

/// What of the arenas belongs to which piece.
void PassMaker::note_pieces(const std::vector<NetworkProgram*>& programs) {
  const std::vector<int> bucket_of = strategy::bucket_of_tensor(layout_);
  unfinished_.assign(layout_.buckets.size(), 0);
  of_piece_.assign(network_.pieces(), std::vector<bool>(layout_.buckets.size()));
  pass_.ranges.assign(network_.pieces(), {});
  for (size_t i = 0; i < turns_.size(); ++i) {
    if (turns_[i].micro > 0 || turns_[i].backward) continue;
    const auto piece = static_cast<size_t>(turns_[i].piece);
    size_t first = network_.parameters().weights().size();
    size_t end = 0;
    for (const int slot : slots_of(programs[i]->program())) {
      const graph::ParameterSlot& where = network_.parameters().slots()[static_cast<size_t>(slot)];
      first = std::min(first, where.offset);
      end = std::max(end, where.offset + where.elements);
      of_piece_[piece][static_cast<size_t>(bucket_of[static_cast<size_t>(slot)])] = true;
    }
    if (end > first) pass_.ranges[piece] = {first, end - first};
    for (size_t bucket = 0; bucket < unfinished_.size(); ++bucket) {
      unfinished_[bucket] += of_piece_[piece][bucket] ? 1 : 0;
    }
  }
}

void PassMaker::add_turn(const Turn& turn, NetworkProgram& program) {
  for (const graph::PassPart& part : parts_.at(&program)) {
    if ((part.phase == graph::Phase::backward) == turn.backward) add_part(turn, program, part);
  }
  if (!turn.backward) return;
  // A piece without anything to train has no backward pass: it is done after the forward one.
  for (size_t i = pass_.parts.size(); i-- > 0;) {
    PassStage& stage = pass_.parts[i];
    if (stage.program != &program || stage.micro != static_cast<size_t>(turn.micro)) continue;
    stage.ends = true;
    break;
  }
}

void PassMaker::add_part(const Turn& turn, NetworkProgram& program, const graph::PassPart& part) {
  Stage stage;
  stage.micro = turn.micro;
  if (turn.micro == 0) {
    for (const int bucket : part.needs) {
      if (needed_[static_cast<size_t>(bucket)]) continue;
      needed_[static_cast<size_t>(bucket)] = true;
      stage.needs.push_back(bucket);
    }
  }
  finish(turn, part, stage);
  for (const std::span<float> sums : part.sums) stage.sums.push_back({sums.data(), sums.size()});
  if (part.blocks != nullptr) stage.blocks.push_back(move_of(*part.blocks));
  add_messages(program, part, stage);
  PassStage* last = pass_.parts.empty() ? nullptr : &pass_.parts.back();
  const bool joins = last != nullptr && last->program == &program && !last->ends &&
                     last->part.last == part.first && stage.needs.empty() &&
                     stage.arrives.empty() && !is_closed(pass_.stages.back());
  if (!joins) {
    pass_.parts.push_back({.micro = static_cast<size_t>(turn.micro),
                           .piece = static_cast<size_t>(turn.piece),
                           .program = &program,
                           .part = part});
    pass_.stages.push_back(std::move(stage));
    return;
  }
  last->part.last = part.last;
  last->part.leaves = part.leaves;
  Stage& joined = pass_.stages.back();
  joined.finishes = std::move(stage.finishes);
  joined.sums = std::move(stage.sums);
  joined.blocks = std::move(stage.blocks);
  joined.leaves = std::move(stage.leaves);
}

/// The buckets that are final after it: of the last micro-batch, when all pieces are done with
/// them.
void PassMaker::finish(const Turn& turn, const graph::PassPart& part, Stage& stage) {
  if (static_cast<size_t>(turn.micro) + 1 < pass_.micros.size()) return;
  const auto& own = of_piece_[static_cast<size_t>(turn.piece)];
  for (const int bucket : part.finishes) {
    const auto b = static_cast<size_t>(bucket);
    if (own[b] && --unfinished_[b] == 0) stage.finishes.push_back(bucket);
  }
}

void PassMaker::add_messages(NetworkProgram& program, const graph::PassPart& part, Stage& stage) {
  constexpr int kBuffers = 2;
  const int most = static_cast<int>(pass_.micros.size());
  for (const graph::Program::Message* message : part.arrives) {
    // What nobody reads before the way back waits for it.
    const bool waits = message->phase != part.phase;
    stage.arrives.push_back(buffers_.next(program.program(), *message, part_of(message->peer),
                                          waits ? std::max(kBuffers, most) : kBuffers));
  }
  for (const graph::Program::Message* message : part.leaves) {
    stage.leaves.push_back(
        buffers_.next(program.program(), *message, part_of(message->peer), kBuffers));
  }
}

}  // namespace syrtos::train
