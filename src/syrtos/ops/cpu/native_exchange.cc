#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "syrtos/base/parallel.h"
#include "syrtos/ops/cpu/native_kernel.h"
#include "syrtos/ops/worker_exchange.h"
#include "syrtos/tensor/buffer.h"

namespace syrtos::ops::cpu {

namespace {

/// Rows of a matrix in memory.
struct Rows {
  std::byte* data;
  size_t stride;  ///< bytes from one row to the next
};

void copy_rows(int64_t count, size_t bytes, Rows from, Rows to) {
  parallel_for(count, 1, 64, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      std::memcpy(to.data + i * to.stride, from.data + i * from.stride, bytes);
    }
  });
}

/// to[i] = factor * (the sum of from[k][i] over k), added in the order of k, in f32.
template <typename T>
void add_blocks(std::span<const std::byte* const> from, float factor, int64_t count,
                std::byte* to) {
  constexpr int64_t kAtOnce = 1024;
  auto* result = reinterpret_cast<T*>(to);
  parallel_for(count, 4096, 65536, [&](int64_t begin, int64_t end) {
    std::array<float, kAtOnce> sum;
    for (int64_t at = begin; at < end; at += kAtOnce) {
      const auto some = static_cast<size_t>(std::min(kAtOnce, end - at));
      sum.fill(0);
      for (const std::byte* block : from) {
        const T* values = reinterpret_cast<const T*>(block) + at;
        for (size_t i = 0; i < some; ++i) sum[i] += static_cast<float>(values[i]);
      }
      for (size_t i = 0; i < some; ++i) result[static_cast<size_t>(at) + i] = T(factor * sum[i]);
    }
  });
}

void add_blocks(DType dtype, std::span<const std::byte* const> from, float factor, int64_t count,
                std::byte* to) {
  dtype == DType::f32 ? add_blocks<float>(from, factor, count, to)
                      : add_blocks<BFloat16>(from, factor, count, to);
}

/// Its own memory holds what it sends and, behind that, a block for what each other worker sends.
/// The first half fills the one, the second half reads the other.
class ExchangeKernel : public Kernel {
 public:
  ExchangeKernel(const WorkerExchange& op, const TensorType& src, const TensorType& dst)
      : workers_(op.workers()), worker_(op.worker), src_(src), dst_(dst) {}

  void bind(std::span<void* const> inputs, std::span<void* const> outputs,
            void* /*scratch*/) override {
    in_ = static_cast<std::byte*>(inputs[0]);
    out_ = static_cast<std::byte*>(outputs[0]);
  }
  void move_input(size_t /*input*/, void* address) override {
    in_ = static_cast<std::byte*>(address);
  }
  const BlockExchange* blocks() const override { return &blocks_; }
  std::string implementation() const override { return "native:exchange"; }

 protected:
  /// Memory for so many bytes to send; sends and receives are added to it.
  void begin_blocks(size_t sent) { used_ = sent; }
  void send(int to, size_t first, size_t bytes) {
    if (to != worker_ && bytes > 0) blocks_.sends.push_back({to, first, bytes});
  }
  /// Where what the worker sends will be.
  size_t receive(int from, size_t bytes) {
    const size_t first = used_;
    if (from == worker_) return first;
    if (bytes > 0) blocks_.receives.push_back({from, first, bytes});
    used_ += bytes;
    return first;
  }
  void end_blocks() {
    memory_ = Buffer(used_, "what workers exchange");
    blocks_.memory = memory_.bytes();
  }

  size_t element() const { return size_of(src_.dtype); }
  std::byte* memory() const { return blocks_.memory; }

  const int workers_;
  const int worker_;
  const TensorType src_;
  const TensorType dst_;
  std::byte* in_ = nullptr;
  std::byte* out_ = nullptr;

 private:
  Buffer memory_;
  size_t used_ = 0;
  BlockExchange blocks_;
};

class GatherRowsKernel final : public ExchangeKernel {
 public:
  GatherRowsKernel(const WorkerExchange& op, const TensorType& src, const TensorType& dst)
      : ExchangeKernel(op, src, dst) {
    begin_blocks(bytes_of(op.own_rows()));
    for (int q = 0; q < workers_; ++q) {
      send(q, 0, bytes_of(op.own_rows()));
      const size_t bytes = bytes_of(op.rows[static_cast<size_t>(q)]);
      parts_.push_back({receive(q, bytes), bytes});
    }
    parts_[static_cast<size_t>(worker_)].first = 0;
    end_blocks();
  }
  void run_first(const Step& /*step*/) override {
    std::memcpy(memory(), in_, parts_[static_cast<size_t>(worker_)].bytes);
  }
  void run(const Step& /*step*/) override {
    std::byte* to = out_;
    for (const Part& part : parts_) {
      std::memcpy(to, memory() + part.first, part.bytes);
      to += part.bytes;
    }
  }

 private:
  struct Part {
    size_t first;
    size_t bytes;
  };
  size_t bytes_of(int64_t rows) const {
    return static_cast<size_t>(rows * src_.shape[1]) * element();
  }
  std::vector<Part> parts_;
};

class ScatterRowsKernel final : public ExchangeKernel {
 public:
  ScatterRowsKernel(const WorkerExchange& op, const TensorType& src, const TensorType& dst)
      : ExchangeKernel(op, src, dst), factor_(static_cast<float>(1 / op.weight(op.worker))) {
    const auto bytes_of = [&](int64_t rows) {
      return static_cast<size_t>(rows * src_.shape[1]) * element();
    };
    begin_blocks(bytes_of(op.all_rows()));
    std::vector<size_t> firsts;
    for (int q = 0; q < workers_; ++q) {
      send(q, bytes_of(op.first_row(q)), bytes_of(op.rows[static_cast<size_t>(q)]));
      firsts.push_back(receive(q, bytes_of(op.own_rows())));
    }
    firsts[static_cast<size_t>(worker_)] = bytes_of(op.first_row(worker_));
    end_blocks();
    for (const size_t first : firsts) summands_.push_back(memory() + first);
  }
  void run_first(const Step& /*step*/) override {
    std::memcpy(memory(), in_, static_cast<size_t>(src_.bytes()));
  }
  void run(const Step& /*step*/) override {
    add_blocks(dst_.dtype, summands_, factor_, dst_.shape.elements(), out_);
  }

 private:
  float factor_;
  std::vector<const std::byte*> summands_;
};

class ColumnsToRowsKernel final : public ExchangeKernel {
 public:
  ColumnsToRowsKernel(const WorkerExchange& op, const TensorType& src, const TensorType& dst)
      : ExchangeKernel(op, src, dst), rows_(op.own_rows()) {
    const size_t own = static_cast<size_t>(op.own_columns()) * element();
    begin_blocks(static_cast<size_t>(src.bytes()));
    for (int q = 0; q < workers_; ++q) {
      const auto row = static_cast<size_t>(op.first_row(q));
      send(q, row * own, static_cast<size_t>(op.rows[static_cast<size_t>(q)]) * own);
      const size_t width = static_cast<size_t>(op.columns[static_cast<size_t>(q)]) * element();
      const size_t first = receive(q, width * static_cast<size_t>(rows_));
      parts_.push_back({q == worker_ ? row * own : first, width,
                        static_cast<size_t>(op.first_column(q)) * element()});
    }
    end_blocks();
  }
  void run_first(const Step& /*step*/) override {
    std::memcpy(memory(), in_, static_cast<size_t>(src_.bytes()));
  }
  void run(const Step& /*step*/) override {
    const size_t stride = static_cast<size_t>(dst_.shape[1]) * element();
    for (const Part& part : parts_) {
      copy_rows(rows_, part.width, {memory() + part.first, part.width},
                {out_ + part.column, stride});
    }
  }

 private:
  struct Part {
    size_t first;   ///< in memory
    size_t width;   ///< bytes of a row
    size_t column;  ///< of the result, in bytes
  };
  int64_t rows_;
  std::vector<Part> parts_;
};

class RowsToColumnsKernel final : public ExchangeKernel {
 public:
  RowsToColumnsKernel(const WorkerExchange& op, const TensorType& src, const TensorType& dst)
      : ExchangeKernel(op, src, dst), rows_(op.own_rows()) {
    const size_t own = static_cast<size_t>(op.own_columns()) * element();
    begin_blocks(static_cast<size_t>(src.bytes()));
    for (int q = 0; q < workers_; ++q) {
      const size_t width = static_cast<size_t>(op.columns[static_cast<size_t>(q)]) * element();
      const size_t column = static_cast<size_t>(op.first_column(q)) * element();
      packed_.push_back({column * static_cast<size_t>(rows_), width, column});
      send(q, packed_.back().first, width * static_cast<size_t>(rows_));
      const int64_t rows = op.rows[static_cast<size_t>(q)];
      const size_t first = receive(q, static_cast<size_t>(rows) * own);
      arrived_.push_back({q == worker_ ? packed_.back().first : first, rows * op.own_columns(),
                          static_cast<size_t>(op.first_row(q)) * own,
                          static_cast<float>(op.weight(q))});
    }
    end_blocks();
  }
  void run_first(const Step& /*step*/) override {
    const size_t stride = static_cast<size_t>(src_.shape[1]) * element();
    for (const Packed& part : packed_) {
      copy_rows(rows_, part.width, {in_ + part.column, stride},
                {memory() + part.first, part.width});
    }
  }
  void run(const Step& /*step*/) override {
    for (const Arrived& part : arrived_) {
      const std::byte* const from = memory() + part.first;
      add_blocks(dst_.dtype, {&from, 1}, part.weight, part.count, out_ + part.to);
    }
  }

 private:
  struct Packed {
    size_t first;   ///< in memory
    size_t width;   ///< bytes of a row
    size_t column;  ///< of the source, in bytes
  };
  struct Arrived {
    size_t first;   ///< in memory
    int64_t count;  ///< elements
    size_t to;      ///< in the result, in bytes
    float weight;
  };
  int64_t rows_;
  std::vector<Packed> packed_;
  std::vector<Arrived> arrived_;
};

template <typename Made>
KernelPlan make_exchange(const std::shared_ptr<Engine>& /*engine*/, const KernelRequest& request) {
  KernelPlan plan;
  plan.input_layouts = {Layout::plain()};
  plan.output_layouts = {Layout::plain()};
  plan.kernel = std::make_unique<Made>(dynamic_cast<const WorkerExchange&>(request.op),
                                       request.inputs[0], request.outputs[0]);
  return plan;
}

}  // namespace

Maker find_exchange_maker(std::string_view operation) {
  if (operation == "gather_rows") return make_exchange<GatherRowsKernel>;
  if (operation == "gather_rows.backward") return make_exchange<ScatterRowsKernel>;
  if (operation == "columns_to_rows") return make_exchange<ColumnsToRowsKernel>;
  if (operation == "columns_to_rows.backward") return make_exchange<RowsToColumnsKernel>;
  return nullptr;
}

}  // namespace syrtos::ops::cpu
