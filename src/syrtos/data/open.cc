#include "syrtos/data/open.h"

#include "syrtos/base/error.h"
#include "syrtos/data/mnist.h"

namespace syrtos::data {

namespace fs = std::filesystem;

fs::path data_directory(const fs::path& cache_home) { return cache_home / "syrtos" / "data"; }

Splits open(const std::string& name_or_path, const fs::path& cache_home) {
  std::error_code ignored;
  const fs::path fetched = data_directory(cache_home) / name_or_path;
  if (fs::is_directory(fetched, ignored)) return open_mnist(fetched);
  if (fs::is_directory(name_or_path, ignored)) return open_mnist(name_or_path);
  fail_request("--data: expected a data set or a path, found '{}', which is neither", name_or_path);
}

}  // namespace syrtos::data
