#pragma once

#include <cstdint>

#include "syrtos/tensor/dtype.h"

namespace syrtos::ops::native {

/// The parameterless shortcut of residual networks on channels-last tensors: takes each stride-th
/// pixel of [batch][height][width][channels] and pads the channels with zeros at the end to
/// output_channels >= channels. The result is ceil(height / stride) x ceil(width / stride).
struct ShortcutShape {
  int64_t batch = 0;
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 0;
  int64_t output_channels = 0;
  int64_t stride = 1;
  DType dtype = DType::f32;  ///< only its size matters
};

/// Both block until done, use the threads of syrtos/base/parallel.h and allocate nothing.
void shortcut(const ShortcutShape& shape, const void* src, void* dst);
void shortcut_backward(const ShortcutShape& shape, const void* diff_dst, void* diff_src);

}  // namespace syrtos::ops::native
