#include "syrtos/ops/literal.h"

#include <fmt/format.h>

namespace syrtos::ops {

namespace {

/// FNV-1a.
uint64_t hash_of(const Tensor& tensor) {
  uint64_t hash = 0xcbf29ce484222325U;
  const auto* bytes = static_cast<const unsigned char*>(tensor.data());
  for (int64_t i = 0; i < tensor.type().bytes(); ++i) {
    hash = (hash ^ bytes[i]) * 0x100000001b3U;
  }
  return hash;
}

}  // namespace

Literal::Literal(Tensor v) : value(std::move(v)), hash_(hash_of(value)) {}

std::string Literal::attributes() const {
  return fmt::format("{} {:016x}", to_string(value.type()), hash_);
}

std::vector<TensorType> Literal::infer(std::span<const TensorType> inputs) const {
  require_inputs(*this, inputs, 0);
  return {value.type()};
}

}  // namespace syrtos::ops
