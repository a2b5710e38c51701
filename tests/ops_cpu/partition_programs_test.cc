// Programs of the parts of a network: with real kernels they compute what the program of the whole
// does, also where several of them take turns in the same memory.

#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "syrtos/graph/partition.h"
#include "syrtos/graph/pass_parts.h"
#include "syrtos/graph/passes.h"
#include "syrtos/graph/program.h"
#include "syrtos/ops/cpu/backend.h"
#include "tests/support/gradient_check.h"
#include "tests/support/random_network.h"

namespace syrtos::test {
namespace {

using graph::Graph;
using graph::Program;

/// What a program is given, by name.
std::map<std::string, Tensor> numbers_of(const Graph& graph, uint32_t seed) {
  std::map<std::string, Tensor> numbers;
  for (const auto& [id, values] : random_values(graph, seed)) {
    Tensor tensor({DType::f32, values.shape});
    for (int64_t i = 0; i < tensor.elements(); ++i) {
      tensor.as<float>()[i] = static_cast<float>(values[i]);
    }
    numbers.emplace(graph.value(id).name, std::move(tensor));
  }
  return numbers;
}

void give(const Graph& graph, const std::map<std::string, Tensor>& numbers, Program& program,
          graph::Parameters& parameters) {
  for (const graph::ValueId id : graph.values_of(graph::ValueKind::input)) {
    program.set_input(graph.value(id).name, numbers.at(graph.value(id).name));
  }
  for (const graph::ParameterSlot& slot : parameters.slots()) {
    parameters.set(slot.name, numbers.at(slot.name));
  }
}

/// A part of a network and its program.
struct PartProgram {
  std::shared_ptr<graph::Parameters> parameters = std::make_shared<graph::Parameters>();
  std::unique_ptr<Program> program = {};
  std::vector<graph::PassPart> stages = {};
  size_t at = 0;  ///< stage that comes next
};

using Letter = std::vector<std::vector<std::byte>>;
using Mail = std::map<std::tuple<int, int, int>, Letter>;

/// Whether the next stage can run; `in_turn`: with all that follow in its phase, so that nobody
/// else runs between them.
bool all_there(const PartProgram& part, int number, const Mail& mail, bool in_turn) {
  for (size_t i = part.at; i < part.stages.size(); ++i) {
    if (i > part.at && (!in_turn || part.stages[i].phase != part.stages[part.at].phase)) break;
    for (const Program::Message* message : part.stages[i].arrives) {
      if (!mail.contains({message->peer, number, message->number})) return false;
    }
  }
  return true;
}

/// Runs the next stage.
void run_stage(PartProgram& part, int number, Mail& mail) {
  const graph::PassPart& stage = part.stages[part.at++];
  for (const Program::Message* message : stage.arrives) {
    const auto letter = mail.find({message->peer, number, message->number});
    for (size_t i = 0; i < message->values.size(); ++i) {
      const Program::Placed& to = part.program->placed(message->values[i]);
      ASSERT_EQ(letter->second[i].size(), to.layout.bytes(to.type));
      std::memcpy(to.data, letter->second[i].data(), letter->second[i].size());
    }
    mail.erase(letter);
  }
  graph::PhaseTimes times;
  part.program->run_items(stage.first, stage.last, {}, times);
  for (const Program::Message* message : stage.leaves) {
    Letter& letter = mail[{number, message->peer, message->number}];
    for (const graph::ValueId id : message->values) {
      const Program::Placed& from = part.program->placed(id);
      const auto* bytes = static_cast<const std::byte*>(from.data);
      letter.emplace_back(bytes, bytes + from.layout.bytes(from.type));
    }
  }
}

void run_together(std::vector<PartProgram>& parts, bool in_turn) {
  Mail mail;
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t part = 0; part < parts.size(); ++part) {
      while (parts[part].at < parts[part].stages.size() &&
             all_there(parts[part], static_cast<int>(part), mail, in_turn)) {
        run_stage(parts[part], static_cast<int>(part), mail);
        moved = true;
      }
    }
  }
  for (const PartProgram& part : parts) EXPECT_EQ(part.at, part.stages.size());
  EXPECT_TRUE(mail.empty());
}

class PartPrograms : public testing::TestWithParam<bool> {};

TEST_P(PartPrograms, ComputeWhatTheWholeOneDoes) {
  const auto backend = ops::cpu::make_backend();
  for (uint32_t seed = 1; seed <= 24; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomNetwork network(seed);
    const int parts = 1 + static_cast<int>(seed % 4);
    const bool in_turn = GetParam();
    const std::vector<int> part_of =
        in_turn ? network.consecutive_parts(parts) : network.random_parts(parts);
    Graph whole = network.whole;
    const auto origins = graph::add_gradients(whole, network.loss);
    std::vector<Graph> graphs =
        graph::partition(whole, graph::with_gradients(part_of, origins), parts);
    const auto numbers = numbers_of(whole, seed);
    graph::optimise(whole);
    auto parameters = std::make_shared<graph::Parameters>();
    const auto alone = graph::compile(whole, *backend, parameters);
    give(whole, numbers, *alone, *parameters);
    alone->run({});

    // Memory that all of them use in turn is of no part alone.
    std::shared_ptr<Buffer> passing;
    std::vector<PartProgram> programs(graphs.size());
    for (size_t part = 0; part < graphs.size(); ++part) {
      if (graphs[part].nodes().empty()) continue;
      graph::optimise(graphs[part]);
      PartProgram& made = programs[part];
      made.program =
          graph::compile(graphs[part], *backend, made.parameters, in_turn ? &passing : nullptr);
      const std::vector<int> bucket_of(made.parameters->slots().size());
      made.stages = graph::parts_of_pass(*made.program, bucket_of);
      give(graphs[part], numbers, *made.program, *made.parameters);
    }
    run_together(programs, in_turn);
    for (const PartProgram& part : programs) {
      for (const graph::ParameterSlot& slot : part.parameters->slots()) {
        const Tensor found = part.parameters->get_gradient(slot.name);
        const Tensor expected = parameters->get_gradient(slot.name);
        for (int64_t i = 0; i < expected.elements(); ++i) {
          ASSERT_NEAR(found.get(i), expected.get(i), 1e-5F * (1 + std::abs(expected.get(i))))
              << slot.name;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Memory, PartPrograms, testing::Bool());

}  // namespace
}  // namespace syrtos::test
