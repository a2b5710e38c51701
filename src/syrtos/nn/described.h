#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "syrtos/nn/network.h"

namespace syrtos::nn {

/// A network that comes as data, as other languages and processes give it:
///
///   {"name": "small", "input": [1, 28, 28],
///    "layers": [{"op": "conv", "name": "c1", "of": ["input"], "out": 8, "kernel": 3},
///               {"op": "relu", "name": "r1", "of": ["c1"]}, ...],
///    "output": "fc"}
///
/// Layers stand in the order in which they are computed; "of" names the layers, or "input", whose
/// results they take. "input" of a sample is [channels, height, width], [channels, length] or
/// [features]; without it, whatever the data has. A dense layer at the output is the classifier;
/// without "out" it has as many units as there are classes. Throws RequestError that names the
/// layer; shapes are looked at when it is built. "weights": "c1" of a later layer of the same kind
/// and attributes means that it has the weights of c1, which learn from both. The network keeps the
/// text as its file().
///
/// Several inputs are "inputs": [{"name": "image", "shape": [1, 28, 28]}, {"name": "age", "shape":
/// [1]}], whose values stand one behind the other in samples of packed_shape(). Several outputs are
/// "outputs": ["fc1", "fc2"], names of layers: what the network gives is their values, and so is
/// what it is trained with.
Network described_network(std::string_view json);

/// How so many numbers of several inputs lie in a sample: [1, 1, elements], or rows of equal length
/// with zeros at the end.
Shape packed_shape(int64_t elements);

/// The words that "op" may be.
std::vector<std::string> described_operations();

}  // namespace syrtos::nn
