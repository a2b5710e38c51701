#include "syrtos/ops/native/shortcut.h"

#include <cstring>

#include "syrtos/base/error.h"
#include "syrtos/base/parallel.h"

// Copies of whole pixels: memcpy and memset choose the instructions themselves.

namespace syrtos::ops::native {
namespace {

constexpr int64_t kSerialBelow = 16 << 10;  // elements that are not worth waking threads

struct Plan {
  int64_t height, width;             // of the result of the forward direction
  size_t pixel_bytes, padded_bytes;  // of the input and of the result

  explicit Plan(const ShortcutShape& shape)
      : height((shape.height + shape.stride - 1) / shape.stride),
        width((shape.width + shape.stride - 1) / shape.stride),
        pixel_bytes(static_cast<size_t>(shape.channels) * size_of(shape.dtype)),
        padded_bytes(static_cast<size_t>(shape.output_channels) * size_of(shape.dtype)) {
    SYRTOS_CHECK(shape.stride >= 1 && shape.output_channels >= shape.channels,
                 "stride = {}, channels = {}, output_channels = {}", shape.stride, shape.channels,
                 shape.output_channels);
  }
};

}  // namespace

void shortcut(const ShortcutShape& shape, const void* src, void* dst) {
  const Plan plan(shape);
  const int64_t serial_below = kSerialBelow / (plan.width * shape.output_channels + 1) + 1;
  parallel_for(shape.batch * plan.height, 1, serial_below, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t line = row / plan.height * shape.height + row % plan.height * shape.stride;
      for (int64_t w = 0; w < plan.width; ++w) {
        const int64_t pixel = line * shape.width + w * shape.stride;
        const char* from =
            static_cast<const char*>(src) + static_cast<size_t>(pixel) * plan.pixel_bytes;
        char* to =
            static_cast<char*>(dst) + static_cast<size_t>(row * plan.width + w) * plan.padded_bytes;
        std::memcpy(to, from, plan.pixel_bytes);
        std::memset(to + plan.pixel_bytes, 0, plan.padded_bytes - plan.pixel_bytes);
      }
    }
  });
}

void shortcut_backward(const ShortcutShape& shape, const void* diff_dst, void* diff_src) {
  const Plan plan(shape);
  const int64_t serial_below = kSerialBelow / (shape.width * shape.channels + 1) + 1;
  parallel_for(shape.batch * shape.height, 1, serial_below, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t h = row % shape.height;
      char* line =
          static_cast<char*>(diff_src) + static_cast<size_t>(row * shape.width) * plan.pixel_bytes;
      if (shape.stride > 1) {
        std::memset(line, 0, static_cast<size_t>(shape.width) * plan.pixel_bytes);
      }
      if (h % shape.stride != 0) continue;
      const int64_t output_row = row / shape.height * plan.height + h / shape.stride;
      const char* from = static_cast<const char*>(diff_dst) +
                         static_cast<size_t>(output_row * plan.width) * plan.padded_bytes;
      for (int64_t w = 0; w < plan.width; ++w) {
        std::memcpy(line + static_cast<size_t>(w * shape.stride) * plan.pixel_bytes,
                    from + static_cast<size_t>(w) * plan.padded_bytes, plan.pixel_bytes);
      }
    }
  });
}

}  // namespace syrtos::ops::native
