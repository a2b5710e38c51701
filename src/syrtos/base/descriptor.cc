#include "syrtos/base/descriptor.h"

#include <fcntl.h>
#include <sys/resource.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "syrtos/base/error.h"

namespace syrtos {

Pipe::Pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    fail_run("cannot make a pipe: {}; too many open files?", std::strerror(errno));
  }
  reading = Descriptor(ends[0]);
  writing = Descriptor(ends[1]);
}

void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace syrtos
