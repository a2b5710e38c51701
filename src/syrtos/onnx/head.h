#pragma once

#include <string>

#include "syrtos/onnx/document.h"

namespace syrtos::onnx {

/// The last layer of a classifier: its outputs are the classes.
struct Head {
  std::string logits;       ///< The value that is the network's result, before a softmax.
  std::string scores = {};  ///< The same before a sigmoid at the end.
  std::string kernel = {};  ///< Names of its weights; empty: no such layer was found.
  std::string bias = {};    ///< Empty: it has none.
  int classes_axis = 0;     ///< Of the kernel.
  int64_t classes = 0;      ///< In the file; 0: not known.
};

/// Looks from the file's first output back to the last layer with weights. A softmax at the end
/// belongs to whoever uses the network: training has one in its loss; so does a sigmoid, where
/// labels are learnt.
Head find_head(const Document& document);

}  // namespace syrtos::onnx
