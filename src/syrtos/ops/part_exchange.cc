#include "syrtos/ops/part_exchange.h"

#include "syrtos/base/error.h"

namespace syrtos::ops {

std::string PartExchange::attributes() const {
  const bool sends = name() == "send";
  std::string text = fmt::format("{} part {} message {}:", sends ? "to" : "from", peer, message);
  for (const TensorType& type : types) text += " " + to_string(type);
  return text;
}

void PartExchange::reference(std::span<const RefTensor> /*inputs*/,
                             std::span<RefTensor> /*outputs*/, const Step& /*step*/) const {
  SYRTOS_CHECK(false, "[{}] has no reference: it is half of something", name());
}

std::vector<TensorType> Send::infer(std::span<const TensorType> inputs) const {
  require_inputs(*this, inputs, types.size());
  for (size_t i = 0; i < types.size(); ++i) require_type(*this, inputs[i], types[i], "src");
  return {};
}

std::vector<TensorType> Receive::infer(std::span<const TensorType> inputs) const {
  require_inputs(*this, inputs, 0);
  return types;
}

}  // namespace syrtos::ops
