#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "syrtos/launch/reach.h"
#include "syrtos/launch/visit.h"
#include "syrtos/launch/visit_words.h"

namespace syrtos::launch {

namespace {

using nlohmann::json;

constexpr auto kReachTime = std::chrono::milliseconds(2000);
constexpr auto kLongest = std::chrono::seconds(30);  // a visitor that has gone may leave no end
constexpr int kLookEvery = 20;                       // milliseconds

void say(const std::string& line) {
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

/// One host's part in a visit.
class Visited {
 public:
  explicit Visited(const std::string& address) : answering_(address) {}

  void run(json facts) {
    facts["port"] = answering_.port();
    say(kFactsWord + facts.dump());
    const Clock::time_point until = Clock::now() + kLongest;
    while (!ended_ && Clock::now() < until) {
      std::vector<pollfd> events = {{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0}};
      answering_.watch(events);
      for (const Calling& call : calls_) call.watch(events);
      poll(events.data(), events.size(), kLookEvery);
      if (events.front().revents != 0) hear();
      answering_.step();
      for (Calling& call : calls_) call.step();
      tell_reaches();
    }
  }

 private:
  void hear() {
    std::array<char, 65536> block;
    const ssize_t count = read(STDIN_FILENO, block.data(), block.size());
    if (count <= 0) {
      ended_ = true;
      return;
    }
    heard_.append(block.data(), static_cast<size_t>(count));
    for (size_t end = heard_.find('\n'); end != std::string::npos; end = heard_.find('\n')) {
      answer(heard_.substr(0, end));
      heard_.erase(0, end + 1);
    }
  }

  void answer(const std::string& line) {
    if (line.starts_with(kClockWord)) say(fmt::format("{}{:.6f}", kClockWord, wall_clock()));
    if (!line.starts_with(kPeersWord)) return;
    for (const json& peer : json::parse(line.substr(std::string_view(kPeersWord).size()))) {
      calls_.emplace_back(Peer{peer.at("name"), peer.at("address"), peer.at("port")});
    }
    calls_until_ = Clock::now() + kReachTime;
  }

  void tell_reaches() {
    if (!calls_until_) return;
    bool all = true;
    for (const Calling& call : calls_) all = all && call.done();
    if (!all && Clock::now() < *calls_until_) return;
    json results = json::array();
    for (const Calling& call : calls_) {
      results.push_back({{"name", call.peer().name}, {"problem", call.problem()}});
    }
    say(kReachesWord + results.dump());
    calls_.clear();
    calls_until_.reset();
  }

  Answering answering_;
  std::vector<Calling> calls_;
  std::optional<Clock::time_point> calls_until_;
  std::string heard_;
  bool ended_ = false;
};

}  // namespace

void be_visited(const std::string& address, const json& facts) { Visited(address).run(facts); }

}  // namespace syrtos::launch
