// Kernels of several workers, with the blocks between their halves moved by hand.

#include "syrtos/ops/worker_exchange.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <random>

#include "syrtos/base/error.h"
#include "syrtos/ops/cpu/backend.h"

namespace syrtos::ops {
namespace {

/// Random parts of all rows and columns for 1 to 8 workers.
struct Parts {
  std::vector<int64_t> rows;
  std::vector<int64_t> columns;

  explicit Parts(uint32_t seed) {
    std::mt19937 random(seed);
    const auto workers = 1 + random() % 8;
    for (uint32_t w = 0; w < workers; ++w) {
      rows.push_back(1 + random() % 5);
      columns.push_back(1 + random() % 7);
    }
  }
  int workers() const { return static_cast<int>(rows.size()); }
  int64_t all_rows() const { return std::accumulate(rows.begin(), rows.end(), int64_t{0}); }
  int64_t all_columns() const {
    return std::accumulate(columns.begin(), columns.end(), int64_t{0});
  }
};

/// Numbers that every type holds exactly, so that sums of a few do not round.
std::vector<float> matrix(int64_t rows, int64_t columns, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> values(static_cast<size_t>(rows * columns));
  for (float& value : values) value = static_cast<float>(static_cast<int>(random() % 15) - 7);
  return values;
}

class Exchange {
 public:
  Exchange(const Parts& parts, DType dtype) : parts_(parts), dtype_(dtype) {}

  /// What each worker gets of what each has.
  template <typename Op>
  std::vector<std::vector<float>> run(const std::vector<std::vector<float>>& given,
                                      const std::vector<Shape>& shapes) {
    const auto backend = cpu::make_backend();
    std::vector<std::unique_ptr<Kernel>> kernels;
    std::vector<Tensor> inputs, outputs;
    for (int w = 0; w < parts_.workers(); ++w) {
      Op op;
      op.rows = parts_.rows;
      op.columns = parts_.columns;
      op.worker = w;
      const std::vector<TensorType> in{{dtype_, shapes[static_cast<size_t>(w)]}};
      const std::vector<TensorType> out = op.infer(in);
      const std::vector<Layout> any{Layout::any()};
      kernels.push_back(backend->plan({op, in, out, any, any}).kernel);
      inputs.emplace_back(in[0]);
      outputs.emplace_back(out[0]);
      put(given[static_cast<size_t>(w)], inputs.back());
      void* const from = inputs.back().data();
      void* const to = outputs.back().data();
      kernels.back()->bind({&from, 1}, {&to, 1}, nullptr);
    }
    for (const auto& kernel : kernels) kernel->run_first({});
    for (size_t w = 0; w < kernels.size(); ++w) move(kernels, w);
    std::vector<std::vector<float>> results;
    for (size_t w = 0; w < kernels.size(); ++w) {
      kernels[w]->run({});
      results.push_back(values_of(outputs[w]));
    }
    return results;
  }

 private:
  /// What a worker sends is what the other one expects, one block for each pair.
  static void move(const std::vector<std::unique_ptr<Kernel>>& kernels, size_t w) {
    const BlockExchange& mine = *kernels[w]->blocks();
    for (const BlockExchange::Block& sent : mine.sends) {
      const BlockExchange& other = *kernels[static_cast<size_t>(sent.worker)]->blocks();
      bool arrived = false;
      for (const BlockExchange::Block& block : other.receives) {
        if (block.worker != static_cast<int>(w)) continue;
        ASSERT_FALSE(arrived);
        ASSERT_EQ(block.bytes, sent.bytes);
        std::memcpy(other.memory + block.first, mine.memory + sent.first, sent.bytes);
        arrived = true;
      }
      ASSERT_TRUE(arrived);
    }
  }
  void put(const std::vector<float>& values, Tensor& tensor) const {
    for (size_t i = 0; i < values.size(); ++i) {
      if (dtype_ == DType::f32) {
        tensor.as<float>()[i] = values[i];
      } else {
        tensor.as<BFloat16>()[i] = BFloat16(values[i]);
      }
    }
  }
  std::vector<float> values_of(const Tensor& tensor) const {
    std::vector<float> values;
    for (int64_t i = 0; i < tensor.shape().elements(); ++i) {
      values.push_back(dtype_ == DType::f32 ? tensor.as<float>()[i]
                                            : static_cast<float>(tensor.as<BFloat16>()[i]));
    }
    return values;
  }

  const Parts& parts_;
  const DType dtype_;
};

std::vector<float> block(const std::vector<float>& whole, int64_t width, int64_t row, int64_t rows,
                         int64_t column, int64_t columns) {
  std::vector<float> part;
  for (int64_t r = row; r < row + rows; ++r) {
    for (int64_t c = column; c < column + columns; ++c) {
      part.push_back(whole[static_cast<size_t>(r * width + c)]);
    }
  }
  return part;
}

class WorkerExchanges : public testing::TestWithParam<DType> {};

TEST_P(WorkerExchanges, BringRowsAndColumnsToTheirPlaces) {
  for (uint32_t seed = 1; seed <= 40; ++seed) {
    const Parts parts(seed);
    Exchange exchange(parts, GetParam());
    const int64_t width = 3;
    const std::vector<float> x = matrix(parts.all_rows(), width, seed);
    const std::vector<float> y = matrix(parts.all_rows(), parts.all_columns(), seed + 1000);
    std::vector<std::vector<float>> rows_of_x, columns_of_y, rows_of_y;
    std::vector<Shape> x_shapes, column_shapes, row_shapes;
    int64_t row = 0, column = 0;
    for (size_t w = 0; w < parts.rows.size(); ++w) {
      rows_of_x.push_back(block(x, width, row, parts.rows[w], 0, width));
      x_shapes.push_back({parts.rows[w], width});
      columns_of_y.push_back(
          block(y, parts.all_columns(), 0, parts.all_rows(), column, parts.columns[w]));
      column_shapes.push_back({parts.all_rows(), parts.columns[w]});
      rows_of_y.push_back(
          block(y, parts.all_columns(), row, parts.rows[w], 0, parts.all_columns()));
      row_shapes.push_back({parts.rows[w], parts.all_columns()});
      row += parts.rows[w];
      column += parts.columns[w];
    }
    for (const auto& all : exchange.run<GatherRows>(rows_of_x, x_shapes)) EXPECT_EQ(all, x);
    EXPECT_EQ(exchange.run<ColumnsToRows>(columns_of_y, column_shapes), rows_of_y) << seed;
  }
}

// Gradients of means over each worker's own rows become those of the mean over all rows, times the
// workers.
TEST_P(WorkerExchanges, BringGradientsBackWeightedByTheirRows) {
  for (uint32_t seed = 1; seed <= 40; ++seed) {
    Parts parts(seed);
    if (seed % 2 == 0) parts.rows.assign(parts.rows.size(), 3);  // equal ones: nothing is weighted
    Exchange exchange(parts, GetParam());
    const double tolerance = seed % 2 == 0 ? 0 : GetParam() == DType::f32 ? 1e-5 : 0.02;
    const auto weight = [&](size_t w) {
      return static_cast<double>(parts.rows[w] * parts.workers()) /
             static_cast<double>(parts.all_rows());
    };
    const std::vector<float> dy = matrix(parts.all_rows(), parts.all_columns(), seed);
    std::vector<std::vector<float>> rows_of_dy;
    std::vector<Shape> row_shapes, sum_shapes;
    std::vector<std::vector<float>> summands;
    const int64_t width = 4;
    int64_t row = 0;
    for (size_t w = 0; w < parts.rows.size(); ++w) {
      rows_of_dy.push_back(
          block(dy, parts.all_columns(), row, parts.rows[w], 0, parts.all_columns()));
      row_shapes.push_back({parts.rows[w], parts.all_columns()});
      summands.push_back(matrix(parts.all_rows(), width, seed + static_cast<uint32_t>(w) * 77));
      sum_shapes.push_back({parts.all_rows(), width});
      row += parts.rows[w];
    }
    const auto columns = exchange.run<RowsToColumns>(rows_of_dy, row_shapes);
    const auto sums = exchange.run<ScatterRows>(summands, sum_shapes);
    int64_t first_row = 0, first_column = 0;
    for (size_t w = 0; w < parts.rows.size(); ++w) {
      int64_t from_row = 0;
      for (size_t q = 0; q < parts.rows.size(); ++q) {
        for (int64_t r = 0; r < parts.rows[q]; ++r) {
          for (int64_t c = 0; c < parts.columns[w]; ++c) {
            const double expected =
                weight(q) *
                dy[static_cast<size_t>((from_row + r) * parts.all_columns() + first_column + c)];
            EXPECT_NEAR(columns[w][static_cast<size_t>((from_row + r) * parts.columns[w] + c)],
                        expected, tolerance * 8)
                << seed;
          }
        }
        from_row += parts.rows[q];
      }
      for (int64_t i = 0; i < parts.rows[w] * width; ++i) {
        double expected = 0;
        for (const auto& summand : summands) {
          expected += summand[static_cast<size_t>(first_row * width + i)];
        }
        EXPECT_NEAR(sums[w][static_cast<size_t>(i)], expected / weight(w), tolerance * 60) << seed;
      }
      first_row += parts.rows[w];
      first_column += parts.columns[w];
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, WorkerExchanges, testing::Values(DType::f32, DType::bf16));

TEST(WorkerExchange, RefusesOtherShapes) {
  GatherRows op;
  op.rows = {2, 3};
  op.worker = 1;
  const std::vector<TensorType> wrong{{DType::f32, {2, 4}}};
  EXPECT_THROW(op.infer(wrong), RequestError);
}

}  // namespace
}  // namespace syrtos::ops
