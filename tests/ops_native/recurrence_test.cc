// Recurrent layers' kernels of every instruction set that this CPU has: their products against a
// plain one, their cells against each other. tests/ops_cpu compares the best with the references.
#include "syrtos/ops/native/recurrence.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "syrtos/base/cpu.h"
#include "syrtos/ops/native/recurrence_kernels.h"

namespace syrtos::ops::native {
namespace {

struct Table {
  const char* name;
  const RecurrenceKernels* kernels;
};

std::vector<Table> tables() {
  std::vector<Table> all{{"generic", &generic::recurrence_kernels}};
#if defined(__x86_64__)
  const Isa best = best_isa();
  if (best >= Isa::avx2) all.push_back({"avx2", &avx2::recurrence_kernels});
  if (best >= Isa::avx512) all.push_back({"avx512", &avx512::recurrence_kernels});
  if (best >= Isa::avx512_bf16) all.push_back({"avx512_bf16", &avx512_bf16::recurrence_kernels});
#endif
  return all;
}

std::vector<float> numbers(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1.0F, 1.0F);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = uniform(random);
  return values;
}

void expect_near(const std::vector<float>& found, const std::vector<float>& expected,
                 const std::string& what) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_NEAR(found[i], expected[i], 2e-6F) << what << " [" << i << "]";
  }
}

TEST(RecurrenceProduct, IsRowsTimesPanels) {
  constexpr int64_t kDepth = 37;
  constexpr int64_t kColumns = 3 * kPanelColumns;
  const std::vector<float> panels = numbers(kDepth * kColumns, 1);
  for (const Table& table : tables()) {
    for (int64_t count = 1; count <= 27; ++count) {
      const std::vector<float> rows = numbers(count * (kDepth + 2), 2);
      std::vector<float> found(static_cast<size_t>(count * kColumns), -7.0F);
      table.kernels->product(rows.data(), kDepth + 2, count, panels.data(), kDepth, kColumns,
                             found.data(), kColumns);
      for (int64_t r = 0; r < count; ++r) {
        for (int64_t c = 0; c < kColumns; ++c) {
          double sum = 0;
          for (int64_t k = 0; k < kDepth; ++k) {
            const int64_t at = (c / kPanelColumns * kDepth + k) * kPanelColumns + c % kPanelColumns;
            sum += static_cast<double>(rows[static_cast<size_t>(r * (kDepth + 2) + k)]) *
                   static_cast<double>(panels[static_cast<size_t>(at)]);
          }
          ASSERT_NEAR(found[static_cast<size_t>(r * kColumns + c)], sum, 2e-5)
              << table.name << ", row " << r << " of " << count << ", column " << c;
        }
      }
    }
  }
}

constexpr int64_t kRows = 3;
constexpr int64_t kUnits = 83;  // whole vectors and a rest for each instruction set

/// What a cell writes, one array after the other.
using Results = std::vector<std::vector<float>>;

Results forward(const RecurrenceKernels& kernels, size_t kind) {
  const std::vector<float> projected = numbers(kRows * 4 * kUnits, 3);
  const std::vector<float> products = numbers(kRows * 5 * kUnits, 4);
  const std::vector<float> bias = numbers(4 * kUnits, 5);
  const int32_t lengths[kRows] = {4, 2, 3};  // the second is over at step 2
  Results all{numbers(kRows * kUnits, 6), numbers(kRows * kUnits, 7),
              std::vector<float>(kRows * kUnits), std::vector<float>(kRows * 5 * kUnits)};
  CellForward cell{.rows = kRows, .units = kUnits, .pitch = 5 * kUnits, .bias = bias.data()};
  cell.projected = projected.data();
  cell.products = products.data();
  cell.lengths = lengths;
  cell.step = 2;
  cell.h = all[0].data();
  cell.c = all[1].data();
  cell.hidden = all[2].data();
  cell.kept = all[3].data();
  kernels.forward[0][kind](cell);
  return all;
}

Results backward(const RecurrenceKernels& kernels, size_t kind) {
  const std::vector<float> hidden = numbers(kRows * kUnits, 8);
  const std::vector<float> before = numbers(kRows * kUnits, 9);
  const std::vector<float> kept = numbers(kRows * 5 * kUnits, 10);
  const std::vector<float> kept_before = numbers(kRows * 5 * kUnits, 11);
  const std::vector<float> diff_hidden = numbers(kRows * kUnits, 12);
  const auto gates = static_cast<size_t>(kRows * 4 * kUnits);
  Results all{numbers(kRows * kUnits, 13), numbers(kRows * kUnits, 14), std::vector<float>(gates),
              std::vector<float>(gates), std::vector<float>(gates)};
  CellBackward cell{.rows = kRows, .units = kUnits, .hidden = hidden.data()};
  cell.hidden_before = before.data();
  cell.kept = kept.data();
  cell.kept_before = kept_before.data();
  cell.diff_hidden = diff_hidden.data();
  cell.dh = all[0].data();
  cell.dc = all[1].data();
  cell.recurrent = all[2].data();
  cell.diff = all[3].data();
  cell.stored = all[4].data();
  kernels.backward[0][kind](cell);
  return all;
}

TEST(RecurrenceCells, AreTheSameForEveryInstructionSet) {
  for (size_t kind = 0; kind < kCells; ++kind) {
    const Results there = forward(generic::recurrence_kernels, kind);
    const Results back = backward(generic::recurrence_kernels, kind);
    for (const Table& table : tables()) {
      const std::string what = std::string(table.name) + ", cell " + std::to_string(kind);
      const Results found = forward(*table.kernels, kind);
      const Results found_back = backward(*table.kernels, kind);
      for (size_t i = 0; i < there.size(); ++i) expect_near(found[i], there[i], what);
      for (size_t i = 0; i < back.size(); ++i) expect_near(found_back[i], back[i], what);
    }
  }
}

}  // namespace
}  // namespace syrtos::ops::native
