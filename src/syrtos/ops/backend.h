#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "syrtos/ops/op.h"
#include "syrtos/tensor/tensor.h"

namespace syrtos::ops {

/// A layout that only its backend understands, such as the blocked form in which a convolution
/// wants its weights. It may be padded; the padding is always zero.
class OpaqueLayout {
 public:
  virtual ~OpaqueLayout() = default;
  virtual std::string name() const = 0;
  virtual size_t bytes(DType dtype) const = 0;
  virtual bool equals(const OpaqueLayout& other) const = 0;
  /// Copies between plain row-major f32 and this layout in f32; not for use within a step.
  virtual void pack(const float* plain, float* packed) const = 0;
  virtual void unpack(const float* packed, float* plain) const = 0;
};

/// How a value lies in memory.
struct Layout {
  enum class Kind {
    any,            ///< not decided yet; only in requests
    plain,          ///< row-major in the order of the shape
    channels_last,  ///< [N, spatial..., C] for a shape [N, C, spatial...]
    opaque,
  };
  Kind kind = Kind::plain;
  std::shared_ptr<const OpaqueLayout> opaque;

  static Layout any() { return {Kind::any, nullptr}; }
  static Layout plain() { return {Kind::plain, nullptr}; }
  static Layout channels_last() { return {Kind::channels_last, nullptr}; }

  size_t bytes(const TensorType& type) const;
  std::string name() const;
};

/// Whether the two mean the same bytes for this type: also plain and channels-last when there is
/// one channel or one pixel.
bool same_bytes(const Layout& a, const Layout& b, const TensorType& type);

/// Where the element that is `index`-th in row-major order lies; plain or channels-last only.
int64_t offset_in(const Layout& layout, const Shape& shape, int64_t index);

/// Copies f32 between plain row-major order and any layout; not for use within a step.
void pack(const Layout& layout, const Shape& shape, const float* plain, float* packed);
void unpack(const Layout& layout, const Shape& shape, const float* packed, float* plain);

/// What activations lie in: channels-last from rank 3 on, else plain.
Layout activation_layout(const Shape& shape);

/// Blocks of one memory that cross between workers at the same time.
struct BlockExchange {
  struct Block {
    int worker;    ///< the other one
    size_t first;  ///< byte
    size_t bytes;
  };
  std::byte* memory = nullptr;
  std::vector<Block> sends = {};
  std::vector<Block> receives = {};
};

/// A ready-made operation on fixed addresses. run() allocates nothing and creates nothing.
class Kernel {
 public:
  virtual ~Kernel() = default;
  /// Called once. Addresses stay valid as long as the kernel; nullptr for an absent value.
  virtual void bind(std::span<void* const> inputs, std::span<void* const> outputs,
                    void* scratch) = 0;
  /// Reads one of its inputs from another address from now on. Allocates nothing. Only for kernels
  /// that read what a program is given, such as images.
  virtual void move_input(size_t input, void* address);
  virtual void run(const Step& step) = 0;
  /// A kernel that needs sums over the parts of a batch that several workers have runs in two
  /// halves. run_first() leaves this worker's sums here; whoever runs the program adds those of all
  /// workers up, in place; run() does the rest. One after the other with nothing in between is the
  /// whole for a single worker. Empty, as for most: there is no first half. Always the same memory.
  virtual std::span<float> sums() { return {}; }
  /// The same for a kernel that needs what other workers have: run_first() leaves what they get in
  /// these blocks, whoever runs the program lets them cross, run() reads what came. nullptr, as for
  /// most: nothing crosses. Always the same one.
  virtual const BlockExchange* blocks() const { return nullptr; }
  virtual void run_first(const Step& step);
  /// What computes it, "brg_conv_fwd:avx512_core" or "native:avx512".
  virtual std::string implementation() const { return "native"; }
};

struct KernelRequest {
  const Op& op;
  std::span<const TensorType> inputs;
  std::span<const TensorType> outputs;
  std::span<const Layout> input_layouts;   ///< where values lie now; any: the kernel decides
  std::span<const Layout> output_layouts;  ///< where they are wanted; any: the kernel decides
};

struct KernelPlan {
  std::vector<Layout> input_layouts;   ///< what the kernel needs; the compiler reorders if needed
  std::vector<Layout> output_layouts;  ///< what it gives
  size_t scratch_bytes = 0;
  /// Pairs (output, input) that may share memory when the input is not needed afterwards.
  std::vector<std::pair<int, int>> in_place;
  std::unique_ptr<Kernel> kernel;
};

/// Makes kernels for one kind of device. A Program does not care which backend made its kernels.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string name() const = 0;
  virtual KernelPlan plan(const KernelRequest& request) = 0;
  /// A kernel that copies one value between layouts (and types, where `to_type` differs).
  virtual KernelPlan reorder(const TensorType& from_type, const Layout& from,
                             const TensorType& to_type, const Layout& to) = 0;
};

}  // namespace syrtos::ops
