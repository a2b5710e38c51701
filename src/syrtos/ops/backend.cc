#include "syrtos/ops/backend.h"

#include "syrtos/base/error.h"

namespace syrtos::ops {

void Kernel::move_input(size_t input, void* /*address*/) {
  SYRTOS_CHECK(false, "{}: input {} cannot move", implementation(), input);
}

void Kernel::run_first(const Step& /*step*/) {
  SYRTOS_CHECK(false, "{}: has no halves", implementation());
}

size_t Layout::bytes(const TensorType& type) const {
  SYRTOS_CHECK(kind != Kind::any, "a layout that is not decided has no size");
  if (kind == Kind::opaque) return opaque->bytes(type.dtype);
  return static_cast<size_t>(type.bytes());
}

std::string Layout::name() const {
  switch (kind) {
    case Kind::any:
      return "any";
    case Kind::plain:
      return "plain";
    case Kind::channels_last:
      return "channels_last";
    case Kind::opaque:
      return opaque->name();
  }
  return "?";
}

bool same_bytes(const Layout& a, const Layout& b, const TensorType& type) {
  using Kind = Layout::Kind;
  if (a.kind == Kind::any || b.kind == Kind::any) return false;
  if (a.kind == Kind::opaque || b.kind == Kind::opaque) {
    return a.kind == b.kind && a.opaque->equals(*b.opaque);
  }
  if (a.kind == b.kind || type.shape.rank() < 3) return true;
  return type.shape[1] == 1 || type.shape.elements_from(2) == 1;
}

int64_t offset_in(const Layout& layout, const Shape& shape, int64_t index) {
  if (layout.kind != Layout::Kind::channels_last) return index;
  const int64_t channels = shape[1];
  const int64_t pixels = shape.elements_from(2);
  const int64_t channel = index / pixels % channels;
  const int64_t sample = index / (pixels * channels);
  return (sample * pixels + index % pixels) * channels + channel;
}

void pack(const Layout& layout, const Shape& shape, const float* plain, float* packed) {
  if (layout.kind == Layout::Kind::opaque) {
    layout.opaque->pack(plain, packed);
    return;
  }
  for (int64_t i = 0; i < shape.elements(); ++i) packed[offset_in(layout, shape, i)] = plain[i];
}

void unpack(const Layout& layout, const Shape& shape, const float* packed, float* plain) {
  if (layout.kind == Layout::Kind::opaque) {
    layout.opaque->unpack(packed, plain);
    return;
  }
  for (int64_t i = 0; i < shape.elements(); ++i) plain[i] = packed[offset_in(layout, shape, i)];
}

Layout activation_layout(const Shape& shape) {
  return shape.rank() >= 3 ? Layout::channels_last() : Layout::plain();
}

}  // namespace syrtos::ops
