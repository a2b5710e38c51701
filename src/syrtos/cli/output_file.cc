#include "syrtos/cli/output_file.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "syrtos/base/error.h"

namespace syrtos::cli {

void check_file_to_write(std::string_view option, const std::filesystem::path& file,
                         std::initializer_list<std::string_view> endings) {
  const std::string ending = file.extension().string();
  if (endings.size() > 0 && std::find(endings.begin(), endings.end(), ending) == endings.end()) {
    fail_request("{}: expected a file that ends with {}, found {}", option,
                 fmt::join(endings, " or "), file.string());
  }
  std::error_code ignored;
  const std::filesystem::path folder = file.parent_path();
  if (folder.empty() || std::filesystem::is_directory(folder, ignored)) return;
  fail_request("{}: expected a file in a directory that is there, found {}, and no directory {}",
               option, file.string(), folder.string());
}

}  // namespace syrtos::cli
