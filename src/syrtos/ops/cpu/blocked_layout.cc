#include "syrtos/ops/cpu/blocked_layout.h"

#include <fmt/format.h>

#include <cstring>

#include "syrtos/base/error.h"
#include "syrtos/ops/cpu/engine.h"

namespace syrtos::ops::cpu {

using dnnl::memory;

BlockedLayout::BlockedLayout(const memory::desc& desc)
    : desc_(desc),
      dims_(desc.get_dims()),
      strides_(desc.get_strides()),
      elements_(desc.get_size() / memory::data_type_size(desc.get_data_type())) {
  const memory::dims blocks = desc.get_inner_blks();
  const memory::dims axes = desc.get_inner_idxs();
  const auto count = static_cast<size_t>(desc.get_inner_nblks());
  blocks_.assign(blocks.begin(), blocks.begin() + static_cast<std::ptrdiff_t>(count));
  block_axes_.assign(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(count));

  // Along each axis: index -> (index / all its blocks) * stride + the position within the blocks,
  // where the innermost block varies fastest.
  for (size_t axis = 0; axis < dims_.size(); ++axis) {
    std::vector<int64_t> table(static_cast<size_t>(dims_[axis]));
    for (int64_t index = 0; index < dims_[axis]; ++index) {
      int64_t rest = index;
      int64_t offset = 0;
      int64_t inner = 1;
      for (size_t b = blocks_.size(); b-- > 0;) {
        if (block_axes_[b] == static_cast<int64_t>(axis)) {
          offset += rest % blocks_[b] * inner;
          rest /= blocks_[b];
        }
        inner *= blocks_[b];
      }
      table[static_cast<size_t>(index)] = offset + rest * strides_[axis];
    }
    offsets_.push_back(std::move(table));
  }
}

std::string BlockedLayout::name() const {
  std::string text = "blocked";
  for (size_t b = 0; b < blocks_.size(); ++b) {
    text += fmt::format("{}{}{}", b == 0 ? ":" : "", blocks_[b],
                        static_cast<char>('a' + block_axes_[b]));
  }
  return text;
}

bool BlockedLayout::equals(const OpaqueLayout& other) const {
  const auto* that = dynamic_cast<const BlockedLayout*>(&other);
  return that != nullptr && dims_ == that->dims_ && strides_ == that->strides_ &&
         blocks_ == that->blocks_ && block_axes_ == that->block_axes_ &&
         elements_ == that->elements_;
}

namespace {

// Calls visit(plain offset, packed offset) for every element.
template <typename Visit>
void for_each_element(const std::vector<std::vector<int64_t>>& offsets, size_t axis, int64_t& plain,
                      int64_t packed, const Visit& visit) {
  for (const int64_t offset : offsets[axis]) {
    if (axis + 1 == offsets.size()) {
      visit(plain++, packed + offset);
    } else {
      for_each_element(offsets, axis + 1, plain, packed + offset, visit);
    }
  }
}

}  // namespace

void BlockedLayout::pack(const float* plain, float* packed) const {
  std::memset(packed, 0, elements_ * sizeof(float));
  int64_t start = 0;
  for_each_element(offsets_, 0, start, 0, [&](int64_t p, int64_t q) { packed[q] = plain[p]; });
}

void BlockedLayout::unpack(const float* packed, float* plain) const {
  int64_t start = 0;
  for_each_element(offsets_, 0, start, 0, [&](int64_t p, int64_t q) { plain[p] = packed[q]; });
}

bool BlockedLayout::to_wgrad(native::WgradLayout& layout) const {
  // [O/ob] [h] [w] [I/ip] [ob] [ip], possibly with several blocks along i that are one in effect.
  if (dims_.size() != 4 && dims_.size() != 3) return false;
  const auto offset = [&](size_t axis, int64_t index) {
    return index < dims_[axis] ? offsets_[axis][static_cast<size_t>(index)] : 0;
  };
  int64_t o_block = 1;
  int64_t i_blocks = 1;
  for (size_t b = 0; b < blocks_.size(); ++b) {
    if (block_axes_[b] == 0) o_block *= blocks_[b];
    if (block_axes_[b] == 1) i_blocks *= blocks_[b];
    if (block_axes_[b] > 1) return false;
  }
  const bool paired = !blocks_.empty() && block_axes_.back() == 1 && blocks_.back() == 2;
  layout.o_block = o_block;
  layout.i_pack = paired ? 2 : 1;
  layout.stride_o = strides_[0];
  layout.stride_h = dims_.size() == 4 ? strides_[2] : 0;
  layout.stride_w = strides_.back();
  layout.stride_i = i_blocks > layout.i_pack ? layout.o_block * layout.i_pack : strides_[1];
  const memory::dims padded = desc_.get_padded_dims();
  layout.padded_o = padded[0];
  layout.padded_i = padded[1];
  // What the formula says must be what the tables say.
  for (int64_t o = 0; o < dims_[0]; ++o) {
    if (offset(0, o) != o / o_block * layout.stride_o + o % o_block * layout.i_pack) return false;
  }
  for (int64_t i = 0; i < dims_[1]; ++i) {
    if (offset(1, i) != i / layout.i_pack * layout.stride_i + i % layout.i_pack) return false;
  }
  return true;
}

Layout blocked(const memory::desc& desc) {
  return {Layout::Kind::opaque, std::make_shared<BlockedLayout>(desc)};
}

memory::desc describe_weights(const memory::dims& dims, DType dtype, const Layout& layout) {
  if (layout.kind == Layout::Kind::opaque) {
    const auto& form = dynamic_cast<const BlockedLayout&>(*layout.opaque);
    SYRTOS_CHECK(form.desc().get_data_type() == data_type(dtype), "weights of another type");
    return form.desc();
  }
  return {dims, data_type(dtype), describe({dtype, Shape(dims)}, Layout::plain()).get_strides()};
}

}  // namespace syrtos::ops::cpu
