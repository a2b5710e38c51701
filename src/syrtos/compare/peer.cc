#include "syrtos/compare/peer.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>

#include "syrtos/base/clock.h"
#include "syrtos/base/format.h"

namespace syrtos::compare {

using nlohmann::json;

namespace {

constexpr size_t kKept = 4000;  // bytes of what it printed, for errors
constexpr size_t kLongestAnswer = 64UL << 20;
constexpr int kLookMs = 100;
constexpr int kLastBlocks = 64;

launch::Process start(const std::string& name, const std::vector<std::string>& command) {
  try {
    return launch::Process(command);
  } catch (const RunError& error) {
    throw PeerFailed(fmt::format("{}: {}", name, error.what()));
  }
}

std::string last_lines(const std::string& text, int lines) {
  size_t from = text.size();
  while (from > 0 && lines > 0) {
    from = text.rfind('\n', from - 1);
    if (from == std::string::npos) return text;
    if (from + 1 < text.size()) --lines;
  }
  return text.substr(std::min(from + 1, text.size()));
}

}  // namespace

std::vector<std::string> peer_command(const PeerProgram& program) {
  return {"/usr/bin/env",
          "PYTHONPATH=" + program.adapters.string(),
          "PYTHONDONTWRITEBYTECODE=1",
          "PYTHONUNBUFFERED=1",
          program.python,
          program.script.string()};
}

Peer::Peer(const PeerProgram& program, std::filesystem::path log, Limits limits)
    : Peer(program.name, peer_command(program), std::move(log), std::move(limits)) {}

Peer::Peer(std::string name, const std::vector<std::string>& command, std::filesystem::path log,
           Limits limits)
    : name_(std::move(name)),
      log_(std::move(log)),
      limits_(std::move(limits)),
      process_(start(name_, command)) {
  say_hello();
}

Peer::~Peer() = default;

void Peer::say_hello() {
  const json answer = ask({{"do", "hello"}});
  understand([&] {
    facts_ = {answer.at("name"), answer.at("version"), answer.at("python"), answer.at("double"),
              answer.at("modes")};
  });
}

void Peer::understand(const std::function<void()>& take) const {
  const auto misunderstood = [&](const std::exception& error) {
    fail(fmt::format("gave an answer to '{}' that is not understood: {}", asked_, error.what()));
  };
  try {
    take();
  } catch (const PeerFailed&) {
    throw;
  } catch (const RunError& error) {
    misunderstood(error);
  } catch (const json::exception& error) {
    misunderstood(error);
  }
}

json Peer::ask(const json& request, std::optional<double> seconds) {
  send(request);
  return receive(seconds);
}

void Peer::send(const json& request) {
  asked_ = request.at("do");
  process_.tell(request.dump() + "\n");
}

json Peer::receive(std::optional<double> seconds) {
  const double limit = seconds.value_or(limits_.seconds);
  const Clock::time_point end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                                   std::chrono::duration<double>(limit));
  for (;;) {
    const size_t newline = answers_.find('\n');
    if (newline != std::string::npos) {
      const std::string line = answers_.substr(0, newline);
      answers_.erase(0, newline + 1);
      return parsed(line);
    }
    if (const auto ending = process_.ended()) {
      // What it left in its pipes, and no more: others that it started may go on to print.
      for (int blocks = 0; blocks < kLastBlocks && take_output(0); ++blocks) continue;
      if (answers_.find('\n') != std::string::npos) continue;
      fail(fmt::format("{} while it was asked for '{}'", ending->text(), asked_));
    }
    if (Clock::now() > end) {
      fail(fmt::format("gave no answer to '{}' within {} (--patience)", asked_,
                       format_duration(limit)));
    }
    if (limits_.should_stop()) fail("was interrupted");
    if (answers_.size() > kLongestAnswer) fail("does not stop to answer");
    take_output(kLookMs);
  }
}

json Peer::parsed(const std::string& line) const {
  json answer = json::parse(line, nullptr, false);
  if (!answer.is_object()) {
    fail(fmt::format("answered '{}' with '{}'; expected one line with a JSON object", asked_,
                     line.substr(0, 200)));
  }
  if (answer.contains("cannot")) {
    throw PeerCannot(fmt::format("{} has no {}", name_,
                                 answer["cannot"].is_string() ? answer["cannot"].get<std::string>()
                                                              : answer["cannot"].dump()));
  }
  if (answer.contains("error")) {
    fail(fmt::format("failed at '{}': {}", asked_, answer["error"].dump().substr(0, 500)));
  }
  return answer;
}

/// A block of each at most, so that whoever prints without an end is asked for its answer and for
/// the time. False: there was none.
bool Peer::take_output(int wait_ms) {
  process_.tell_rest();
  std::array<pollfd, 3> ends = {
      pollfd{process_.output.get(), POLLIN, 0}, pollfd{process_.error.get(), POLLIN, 0},
      pollfd{process_.has_more_to_tell() ? process_.input.get() : -1, POLLOUT, 0}};
  if (poll(ends.data(), ends.size(), wait_ms) <= 0) return false;
  const bool answered = ends[0].revents != 0 && take_block(process_.output.get(), true);
  const bool printed = ends[1].revents != 0 && take_block(process_.error.get(), false);
  return answered || printed;
}

bool Peer::take_block(int descriptor, bool is_answer) {
  std::array<char, 1 << 16> block;
  ssize_t got = -1;
  do {
    got = read(descriptor, block.data(), block.size());
  } while (got < 0 && errno == EINTR);
  if (got == 0) usleep(1000);  // it has closed this end and is about to end
  if (got <= 0) return false;
  const std::string text(block.data(), static_cast<size_t>(got));
  if (is_answer) {
    answers_ += text;
  } else {
    keep(text);
  }
  return true;
}

void Peer::keep(const std::string& printed) {
  if (logged_ < kMostLogged) {
    std::ofstream log(log_, std::ios::app | std::ios::binary);
    log << printed;
    logged_ += printed.size();
    if (logged_ >= kMostLogged) log << "\n(what it printed after this is left out)\n";
  }
  said_ += printed;
  if (said_.size() > kKept) said_.erase(0, said_.size() - kKept);
}

void Peer::fail(const std::string& what) const {
  std::string text = fmt::format("{} {}", name_, what);
  if (!said_.empty()) {
    text += fmt::format("\n  it printed last (all of it: {}):", log_.string());
    std::string lines = last_lines(said_, 6);
    size_t from = 0;
    while (from < lines.size()) {
      const size_t end = std::min(lines.find('\n', from), lines.size());
      text += "\n  | " + lines.substr(from, end - from);
      from = end + 1;
    }
  }
  throw PeerFailed(text);
}

}  // namespace syrtos::compare
