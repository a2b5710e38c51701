#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "syrtos/base/clock.h"
#include "syrtos/launch/launch.h"
#include "syrtos/world/socket.h"

namespace syrtos::launch {

/// Processes that have the word in their command line, other than this one.
inline std::vector<pid_t> processes_with(const std::string& word) {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const int id = std::atoi(entry.path().filename().c_str());
    std::ostringstream words;
    words << std::ifstream(entry.path() / "cmdline", std::ios::binary).rdbuf();
    if (id > 0 && id != getpid() && words.str().find(word) != std::string::npos) {
      found.push_back(id);
    }
  }
  return found;
}

/// Whether the condition comes true; never a matter of speed.
inline bool eventually(const std::function<bool()>& condition) {
  const Clock::time_point deadline = Clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    if (Clock::now() > deadline) return false;
    poll(nullptr, 0, 2);
  }
  return true;
}

inline bool port_is_open(uint16_t port) {
  const Descriptor socket = world::begin_connect(world::resolve("127.0.0.1", port));
  pollfd event{.fd = socket.get(), .events = POLLOUT, .revents = 0};
  return socket.valid() && poll(&event, 1, 5000) == 1 && world::connect_error(socket.get()) == 0;
}

/// What a rank of the test program says when it is up.
struct Up {
  pid_t process = 0;
  uint16_t port = 0;
  uint16_t scheduler_port = 0;
};

/// From output of any number of ranks: lines with "up RANK PROCESS PORT PORT".
inline std::map<Rank, Up> ups_in(const std::string& output) {
  std::map<Rank, Up> ups;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    const size_t at = line.find("up ");
    Rank rank = 0;
    Up up;
    if (at == std::string::npos) continue;
    std::istringstream words(line.substr(at + 3));
    if (words >> rank >> up.process >> up.port >> up.scheduler_port) ups[rank] = up;
  }
  return ups;
}

/// None of those that the ranks named. A process that is ending has no command line any more, but
/// may still hold its port for a moment.
inline bool no_port_is_open(const std::string& output) {
  return std::ranges::none_of(ups_in(output), [](const auto& rank) {
    return port_is_open(rank.second.port) || port_is_open(rank.second.scheduler_port);
  });
}

/// A word that no other test's processes have.
inline std::string unique_word() {
  static int count = 0;
  return fmt::format("mark-{}-{}-{}", getpid(), ++count, Clock::now().time_since_epoch().count());
}

/// Launches ranks of the test program here and keeps what they print.
class Launching : public testing::Test {
 protected:
  LaunchEnd launch(int workers, int servers, std::vector<std::string> words) {
    if (options_.hosts.empty()) options_.hosts = {this_machine(2, workers + servers)};
    options_.placements = place(workers, servers, options_.hosts);
    options_.command = {SYRTOS_RANK_PROGRAM};
    options_.command.insert(options_.command.end(), words.begin(), words.end());
    options_.command.push_back(mark_);
    options_.write = [this](Stream stream, std::string_view text) {
      (stream == Stream::output ? output_ : error_) += text;
    };
    options_.should_stop = [this] { return should_stop_ && should_stop_(); };
    LaunchEnd end = syrtos::launch::launch(options_);
    EXPECT_TRUE(processes_with(mark_).empty()) << "something is left behind";
    EXPECT_TRUE(no_port_is_open(output_));
    return end;
  }
  /// Once all are up, for launching that many.
  bool all_up(size_t ranks) const { return ups_in(output_).size() == ranks; }

  LaunchOptions options_;
  std::string mark_ = unique_word();
  std::string output_;
  std::string error_;
  std::function<bool()> should_stop_;
};

}  // namespace syrtos::launch
