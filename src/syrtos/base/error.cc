#include "syrtos/base/error.h"

#include <string_view>

namespace syrtos {

void fail_check(const char* file, int line, const char* condition, const std::string& detail) {
  // As includes are written, wherever it was built.
  const std::string_view path = file;
  const size_t root = path.rfind("syrtos/");
  throw InternalError(fmt::format("internal error at {}:{}: {} does not hold{}{}",
                                  root == path.npos ? path : path.substr(root), line, condition,
                                  detail.empty() ? "" : ": ", detail));
}

}  // namespace syrtos
