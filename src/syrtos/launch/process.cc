#include "syrtos/launch/process.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "syrtos/base/error.h"

namespace syrtos::launch {

struct Process::Ends {
  Ends() {
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
      fail_run("cannot make a socket: {}; too many open files?", std::strerror(errno));
    }
    input = Descriptor(ends[0]);
    its_input = Descriptor(ends[1]);
  }
  Descriptor input;
  Descriptor its_input;
  Pipe output;
  Pipe error;
};

Process::Process(const std::vector<std::string>& arguments) : Process(arguments, Ends()) {}

Process::Process(const std::vector<std::string>& arguments, Ends ends)
    : Child(arguments, {ends.its_input.get(), ends.output.writing.get(), ends.error.writing.get()}),
      input(std::move(ends.input)),
      output(std::move(ends.output.reading)),
      error(std::move(ends.error.reading)),
      handle_(static_cast<int>(syscall(SYS_pidfd_open, id(), 0))) {
  for (const Descriptor* end : {&input, &output, &error}) fcntl(end->get(), F_SETFL, O_NONBLOCK);
}

void Process::tell(const std::string& text) {
  rest_ += text;
  tell_rest();
}

void Process::tell_rest() {
  while (!rest_.empty()) {
    const ssize_t sent = send(input.get(), rest_.data(), rest_.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) return;
    // Whoever is gone hears nothing any more.
    rest_.erase(0, sent < 0 ? rest_.size() : static_cast<size_t>(sent));
  }
}

}  // namespace syrtos::launch
