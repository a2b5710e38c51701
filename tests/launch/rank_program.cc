// A rank without training, for the launcher's tests: `launch_rank MODE [ARGUMENT...] --join WORD`.
// As `launch_rank launcher WORKERS REMOTE_SHELL MODE...` it is the launcher itself, to be killed;
// an empty remote shell: its ranks are processes of its own.

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <thread>

#include "syrtos/base/error.h"
#include "syrtos/launch/invitation.h"
#include "syrtos/launch/launch.h"
#include "syrtos/launch/membership.h"
#include "syrtos/launch/token.h"
#include "syrtos/world/socket.h"

namespace {

using namespace syrtos;
using namespace syrtos::launch;

volatile std::sig_atomic_t interrupted = 0;

void say(const std::string& text) {
  fmt::print("{}\n", text);
  std::fflush(stdout);
}

void pause_until(const auto& condition) {
  while (!condition()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

// Lines in pieces that do not end where the lines do, on both streams.
void chatter(Rank rank) {
  for (int i = 0; i < 300; ++i) {
    const std::string line = fmt::format("line {} of {} {}\n", i, rank, std::string(90, 'x'));
    std::FILE* stream = i % 2 == 0 ? stdout : stderr;
    for (size_t at = 0; at < line.size(); at += 17) {
      fmt::print(stream, "{}", line.substr(at, 17));
      std::fflush(stream);
    }
  }
  fmt::print("unfinished {}", rank);
  std::fflush(stdout);
}

int act(const std::vector<std::string>& words, Membership& membership, Rank own) {
  const std::string& mode = words[0];
  const Rank chosen = words.size() > 1 ? std::atoi(words[1].c_str()) : -1;
  if (mode == "task") return 0;
  if (mode == "table") {
    for (const Member& member : membership.assignment().members) {
      say(fmt::format("{} {} {} {}", to_string(member.role), member.host, member.address,
                      member.port > 0));
    }
  } else if (mode == "chatter") {
    chatter(own);
  } else if (mode == "exit" && own == chosen) {
    return std::atoi(words[2].c_str());
  } else if (mode == "blame" && own != chosen) {
    membership.blame(chosen);
    return 1;
  } else if (mode == "workers" &&
             membership.assignment().members[static_cast<size_t>(own)].role == Role::worker) {
    return 0;
  } else {
    pause_until([&] { return membership.stop_requested(); });
    if (mode == "wait") return 1;  // as an interrupted training does
  }
  return 0;
}

int run_rank(const std::vector<std::string>& words, const std::string& word) {
  const Invitation invitation = parse_invitation(word);
  if (words[0] == "early") return invitation.rank == 1 ? 3 : (pause(), 0);
  if (words[0] == "absent" && invitation.rank == 1) {
    signal(SIGTERM, SIG_IGN);
    for (;;) pause();
  }
  const std::string token = read_token(STDIN_FILENO, std::chrono::seconds(10));
  const std::string task = read_task(STDIN_FILENO, std::chrono::seconds(10));
  if (words[0] == "task")
    say(fmt::format("task {} {}", task.size(), std::hash<std::string>()(task)));
  const syrtos::world::Listener listener(invitation.address);
  JoinOptions options{.invitation = invitation,
                      .token = token,
                      .port = listener.port(),
                      .timeout = std::chrono::seconds(60),
                      .input = STDIN_FILENO,
                      .ended = [](const std::string& why) { say("ended: " + why); },
                      .overdue = [] { _exit(1); }};
  options.grace = words[0] == "deaf" ? std::chrono::hours(1) : std::chrono::milliseconds(200);
  const auto membership = join(options);
  membership->report(fmt::format("step {}", 10 + invitation.rank));
  if (invitation.rank == 0) membership->begun();
  say(fmt::format("up {} {} {} {}", invitation.rank, getpid(), listener.port(),
                  invitation.scheduler_port));
  const int code = act(words, *membership, invitation.rank);
  if (code == 0) membership->leave();
  return code;
}

int run_launcher(const std::string& program, const std::vector<std::string>& words) {
  signal(SIGTERM, [](int) { interrupted = 1; });
  const int workers = std::atoi(words[1].c_str());
  LaunchOptions options;
  options.hosts = {this_machine(2, workers)};
  options.placements = place(workers, 0, options.hosts);
  if (!words[2].empty()) options.remote = RemoteShell{.command = words[2], .directory = {}};
  options.command = {program};
  options.command.insert(options.command.end(), words.begin() + 3, words.end());
  options.should_stop = [] { return interrupted != 0; };
  const LaunchEnd end = syrtos::launch::launch(options);
  if (!end.failure.empty()) fmt::print(stderr, "error: {}\n", end.failure);
  return end.code;
}

int run_check(const std::string& program, const std::vector<std::string>& words) {
  std::vector<Host> hosts;
  for (size_t i = 2; i < words.size(); ++i) {
    hosts.push_back({.name = words[i], .slots = 1, .address = "127.0.0.1"});
  }
  check_hosts(hosts, {.command = words[1], .directory = {}}, {program, "identity"}, {});
  for (const Host& host : hosts) say(fmt::format("{} {}", host.name, host.cores));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  try {
    if (words.at(0) == "identity") {
      say(identity_line(3));
      return 0;
    }
    if (words[0] == "check") return run_check(argv[0], words);
    if (words[0] == "launcher") return run_launcher(argv[0], words);
    if (words.size() < 3 || words[words.size() - 2] != kJoinOption) return 2;
    const std::string word = words.back();
    words.resize(words.size() - 2);
    return run_rank(words, word);
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}
