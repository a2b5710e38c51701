#include "syrtos/base/process_name.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <sstream>
#include <utility>

#include "syrtos/base/host_name.h"

namespace syrtos {

namespace {

std::string first_line(const char* file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

/// Its state ('Z': it only waits to be buried) and when it started; 0: there is no such process.
std::pair<char, int64_t> look_at(int64_t process) {
  std::ifstream in(fmt::format("/proc/{}/stat", process));
  std::string text;
  if (!std::getline(in, text)) return {'X', 0};
  constexpr int kStartField = 20;  // behind the name, which may have anything in it: see proc(5)
  std::istringstream rest(text.substr(text.rfind(')') + 1));
  std::string state, field;
  rest >> state;
  for (int i = 1; i < kStartField; ++i) rest >> field;
  return {state.empty() ? 'X' : state[0], std::strtoll(field.c_str(), nullptr, 10)};
}

std::string pid_namespace() {
  std::array<char, 64> target{};
  const ssize_t size = readlink("/proc/self/ns/pid", target.data(), target.size() - 1);
  return size > 0 ? std::string(target.data(), static_cast<size_t>(size)) : "";
}

}  // namespace

ProcessName this_process() {
  return {.host = host_name(),
          .machine = first_line("/etc/machine-id"),
          .boot = first_line("/proc/sys/kernel/random/boot_id"),
          .pid_namespace = pid_namespace(),
          .process = getpid(),
          .started = look_at(getpid()).second};
}

Liveness liveness_of(const ProcessName& name) {
  const ProcessName here = this_process();
  if (name.boot.empty() || name.boot != here.boot) {
    const bool started_again =
        !name.machine.empty() && name.machine == here.machine && name.host == here.host;
    return started_again ? Liveness::gone : Liveness::unknown;
  }
  if (name.pid_namespace != here.pid_namespace) return Liveness::unknown;
  const auto [state, started] = look_at(name.process);
  const bool runs = started == name.started && state != 'Z' && state != 'X';
  return runs ? Liveness::alive : Liveness::gone;
}

}  // namespace syrtos
