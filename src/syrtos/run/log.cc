#include "syrtos/run/log.h"

#include <algorithm>
#include <fstream>

#include "syrtos/run/text_file.h"

namespace syrtos::run {

namespace {
constexpr std::streamoff kMostBytes = 32 * 1024;
}

void append_log(const Directory& directory, std::string_view line) {
  add_line(directory, File::log, line);
}

std::vector<std::string> read_log(const Directory& directory, size_t most_lines) {
  std::vector<std::string> lines;
  std::ifstream in(directory.file(File::log), std::ios::binary);
  if (!in) return lines;
  in.seekg(0, std::ios::end);
  const std::streamoff size = in.tellg();
  in.seekg(std::max<std::streamoff>(0, size - kMostBytes));
  std::string line;
  if (size > kMostBytes) std::getline(in, line);  // begins in its middle
  while (std::getline(in, line)) lines.push_back(line);
  if (lines.size() > most_lines) {
    lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(most_lines));
  }
  return lines;
}

}  // namespace syrtos::run
