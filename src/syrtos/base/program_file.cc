#include "syrtos/base/program_file.h"

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>

#include "syrtos/base/error.h"

namespace syrtos {

std::filesystem::path program_file() {
  const auto here = reinterpret_cast<uintptr_t>(&program_file);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    // "begin-end rights offset device inode   path", see proc(5); a path may have blanks in it.
    std::istringstream words(line);
    uintptr_t begin = 0;
    uintptr_t end = 0;
    char dash = 0;
    std::string rights, offset, device, inode, path;
    words >> std::hex >> begin >> dash >> end >> rights >> offset >> device >> inode >> std::ws;
    if (here < begin || here >= end || !std::getline(words, path)) continue;
    return path;
  }
  fail_run("/proc/self/maps does not say where this program lies: is /proc mounted?");
}

}  // namespace syrtos
