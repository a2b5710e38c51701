#include "syrtos/base/error.h"

#include <cstring>

namespace syrtos {

void fail_check(const char* file, int line, const char* condition, const std::string& detail) {
  const char* rooted = std::strstr(file, "syrtos/");
  throw InternalError(fmt::format("internal error at {}:{}: {} does not hold{}{}",
                                  rooted != nullptr ? rooted : file, line, condition,
                                  detail.empty() ? "" : ": ", detail));
}

}  // namespace syrtos
