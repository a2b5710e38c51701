#include "syrtos/tensor/extents.h"

namespace syrtos {

bool is_countable(const Shape& shape) {
  int64_t product = 1;
  for (const int64_t extent : shape) {
    if (extent < 0 || extent > kMaxElements) return false;
    if (extent > 0 && product > kMaxElements / extent) return false;
    if (extent > 0) product *= extent;
  }
  return true;
}

}  // namespace syrtos
