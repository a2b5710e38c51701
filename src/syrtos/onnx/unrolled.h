#pragma once

#include "syrtos/ops/op.h"

namespace syrtos::onnx {

/// GRU whose reset gate meets the state before its product with the weights, which has no kernel of
/// its own: written out step by step. projected [steps,batch,3 * units], weights [3 * units, units]
/// and bias in the order reset, update, new -> [steps,batch,units]:
///   r, z = sigmoid(projected + weights h + bias)
///   n = tanh(projected + weights (r h) + bias), h' = (1 - z) n + z h
ops::ValueId reset_first_gru(ops::GraphBuilder& graph, ops::ValueId projected, ops::ValueId weights,
                             ops::ValueId bias, bool reverse);

}  // namespace syrtos::onnx
