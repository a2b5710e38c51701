#pragma once

#include <cstdint>
#include <span>

#include "syrtos/data/pipeline/mixing.h"

namespace syrtos::data {

/// Samples of a batch, one after the other, as the first layer reads them.
struct TeacherImages {
  void* images = nullptr;
  MixedShape shape = {};
  int64_t count = 0;
  int64_t room = 0;  ///< samples for which there is memory: those behind `count` may be read
};

/// Somebody who knows the classes of samples that were varied, and so has to look at each anew.
class Teacher {
 public:
  virtual ~Teacher() = default;
  /// Softened probabilities of the classes, sample by sample. Blocks; uses all threads of the
  /// pool. Workers of one process may ask at the same time.
  virtual void answer(const TeacherImages& images, std::span<float> probabilities) = 0;
};

}  // namespace syrtos::data
