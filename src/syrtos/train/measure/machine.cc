#include "syrtos/train/measure/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "syrtos/base/clock.h"
#include "syrtos/base/parallel.h"
#include "syrtos/graph/program.h"
#include "syrtos/ops/cpu/backend.h"
#include "syrtos/ops/matmul.h"
#include "syrtos/tensor/buffer.h"
#include "syrtos/train/measure/kept.h"

namespace syrtos::train {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr int kTries = 4;
constexpr int64_t kSide = 1024;               // of the matrices
constexpr size_t kBytes = size_t{128} << 20;  // of each buffer

/// Seconds of the fastest try; the first one is for warming up.
double fastest(const std::function<void()>& work) {
  work();
  double best = 1e9;
  for (int i = 0; i < kTries; ++i) {
    const auto start = Clock::now();
    work();
    best = std::min(best, seconds_since(start));
  }
  return best;
}

double measure_gflops(DType type) {
  graph::Graph graph;
  const graph::ValueId inputs[] = {graph.add_input("a", {type, {kSide, kSide}}),
                                   graph.add_input("b", {type, {kSide, kSide}})};
  graph.set_output("product", graph.add(std::make_shared<ops::MatMul>(), inputs)[0]);
  const auto backend = ops::cpu::make_backend();
  const auto program = graph::compile(graph, *backend, std::make_shared<graph::Parameters>());
  const ops::Step step;
  const double seconds = fastest([&] { program->run(step); });
  return program->flops() / seconds * 1e-9;
}

double measure_memory() {
  Buffer from(kBytes, "measuring memory");
  Buffer to(kBytes, "measuring memory");
  const auto* source = from.as<float>();
  auto* target = to.as<float>();
  const auto count = static_cast<int64_t>(kBytes / sizeof(float));
  const double seconds = fastest([&] {
    parallel_for(count, 4096, 0, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) target[i] = source[i] * 3.0F + 1.0F;
    });
  });
  return 2 * static_cast<double>(kBytes) / seconds * 1e-9;
}

std::string key_of(const CpuInfo& cpu) {
  return fmt::format("{}, {} threads", cpu.model, thread_count());
}

}  // namespace

Machine measure_machine() {
  return {.f32_gflops = measure_gflops(DType::f32),
          .bf16_gflops = measure_gflops(DType::bf16),
          .memory_gb_s = measure_memory()};
}

Machine machine_of(const CpuInfo& cpu, const fs::path& cache_home) {
  const fs::path file = cache_home / "syrtos" / "machine.json";
  json known = cache_home.empty() ? json::object() : read_kept(file);
  const std::string key = key_of(cpu);
  const Machine before{.f32_gflops = number_in(known[key], "f32_gflops"),
                       .bf16_gflops = number_in(known[key], "bf16_gflops"),
                       .memory_gb_s = number_in(known[key], "memory_gb_s")};
  if (before.f32_gflops > 0 && before.bf16_gflops > 0 && before.memory_gb_s > 0) return before;
  const bool is_busy = others_are_running();
  const Machine machine = measure_machine();
  known[key] = {{"f32_gflops", machine.f32_gflops},
                {"bf16_gflops", machine.bf16_gflops},
                {"memory_gb_s", machine.memory_gb_s}};
  if (!cache_home.empty() && !is_busy) keep(file, known);
  return machine;
}

}  // namespace syrtos::train
