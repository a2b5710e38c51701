#include "syrtos/data/files/file_bytes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "syrtos/base/descriptor.h"
#include "syrtos/base/error.h"

namespace syrtos::data {

bool is_file(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

void read_bytes(const std::filesystem::path& file, std::vector<uint8_t>& to) {
  const Descriptor descriptor(open(file.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status = {};
  if (!descriptor.valid() || fstat(descriptor.get(), &status) != 0) {
    fail_request("cannot read {}: {}", file.string(), std::strerror(errno));
  }
  if (!S_ISREG(status.st_mode)) {
    fail_request("cannot read {}: expected a file, found something else", file.string());
  }
  to.resize(static_cast<size_t>(status.st_size));
  size_t have = 0;
  while (have < to.size()) {
    const ssize_t got = read(descriptor.get(), to.data() + have, to.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_request("cannot read {}: {}", file.string(), std::strerror(errno));
    if (got == 0) {
      fail_request("{}: expected {} bytes, found the end of the file at offset {}", file.string(),
                   to.size(), have);
    }
    have += static_cast<size_t>(got);
  }
}

std::vector<uint8_t> read_bytes(const std::filesystem::path& file) {
  std::vector<uint8_t> bytes;
  read_bytes(file, bytes);
  return bytes;
}

}  // namespace syrtos::data
