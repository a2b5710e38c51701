#include "syrtos/launch/visit.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <limits>
#include <nlohmann/json.hpp>

#include "syrtos/base/error.h"
#include "syrtos/launch/reach.h"
#include "syrtos/launch/routes.h"
#include "syrtos/launch/visit_words.h"
#include "syrtos/launch/wait.h"

namespace syrtos::launch {

namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr auto kFactsTime = milliseconds(15000);  // ssh gives up after 5 s; a login may be slow
constexpr auto kReachTime = milliseconds(2500);   // a little longer than hosts try
constexpr int kTick = 20;                         // milliseconds
constexpr int kClockQuestions = 5;
constexpr size_t kMostText = 1 << 20;  // bytes of a host's answers
constexpr int kAnswersBlocks = 4;      // read at a time

/// The conversation with one host.
class Conversation {
 public:
  explicit Conversation(const std::vector<std::string>& command) : process_(command) {}

  /// Reads what has come. False: it has ended.
  bool step() {
    const bool ended = process_.ended().has_value();
    read(process_.output, output_);
    read(process_.error, error_);
    process_.tell_rest();
    for (size_t end = output_.find('\n'); end != std::string::npos; end = output_.find('\n')) {
      hear(output_.substr(0, end));
      output_.erase(0, end + 1);
    }
    return !ended;
  }

  void watch(std::vector<pollfd>& events) const {
    events.push_back({.fd = process_.output.get(), .events = POLLIN, .revents = 0});
    events.push_back({.fd = process_.handle(), .events = POLLIN, .revents = 0});
  }

  void ask_to_reach(const json& peers) { process_.tell(kPeersWord + peers.dump() + "\n"); }

  bool knows_facts() const { return !facts_.empty(); }
  bool knows_clock() const { return clock_answers_ >= kClockQuestions; }
  bool knows_reaches() const { return !reaches_.is_null(); }
  /// What it said is not what our program says.
  bool garbled() const { return garbled_; }
  bool over() { return process_.ended().has_value(); }
  Ending ending() { return process_.ended().value_or(Ending{}); }
  const std::string& error() const { return error_; }
  const std::string& facts() const { return facts_; }
  const json& reaches() const { return reaches_; }
  int port() const { return port_; }
  double clock_ahead() const { return clock_ahead_; }
  double clock_error() const { return clock_error_; }

 private:
  static void read(const Descriptor& from, std::string& text) {
    std::array<char, 4096> block;
    // Whoever prints without an end must not keep us from the others, and fills no memory.
    for (int blocks = 0; blocks < kAnswersBlocks; ++blocks) {
      const ssize_t count = ::read(from.get(), block.data(), block.size());
      if (count <= 0) return;
      if (text.size() < kMostText) text.append(block.data(), static_cast<size_t>(count));
    }
  }

  void hear(const std::string& line) {
    if (line.starts_with(kFactsWord)) {
      facts_ = line.substr(std::string_view(kFactsWord).size());
      const json facts = json::parse(facts_, nullptr, false);
      garbled_ = !facts.is_object() || !facts.value("port", json()).is_number_integer();
      if (!garbled_) port_ = facts["port"];
      ask_for_time();
    } else if (line.starts_with(kClockWord)) {
      // The answer was given in the middle between question and arrival, as far as we can know.
      const double now = wall_clock();
      const double theirs =
          std::strtod(line.c_str() + std::string_view(kClockWord).size(), nullptr);
      if (const double error = (now - asked_at_) / 2; error < clock_error_) {
        clock_error_ = error;
        clock_ahead_ = theirs - (now + asked_at_) / 2;
      }
      if (++clock_answers_ < kClockQuestions) ask_for_time();
    } else if (line.starts_with(kReachesWord)) {
      reaches_ = json::parse(line.substr(std::string_view(kReachesWord).size()), nullptr, false);
      garbled_ = garbled_ || !are_reaches(reaches_);
    }
  }

  static bool are_reaches(const json& text) {
    return text.is_array() && std::all_of(text.begin(), text.end(), [](const json& one) {
             return one.is_object() && one.value("name", json()).is_string() &&
                    one.value("problem", json()).is_string();
           });
  }

  void ask_for_time() {
    asked_at_ = wall_clock();
    process_.tell(std::string(kClockWord) + "\n");
  }

  Process process_;
  std::string output_;
  std::string error_;
  std::string facts_;
  json reaches_ = nullptr;
  int port_ = 0;
  bool garbled_ = false;
  double asked_at_ = 0;
  int clock_answers_ = 0;
  double clock_ahead_ = 0;
  double clock_error_ = std::numeric_limits<double>::max();
};

/// All of them at once.
class Visiting {
 public:
  Visiting(const std::vector<Host>& hosts, const RemoteShell& shell,
           const std::vector<std::string>& command, const std::function<bool()>& should_stop)
      : hosts_(hosts), shell_(shell), command_(command), should_stop_(should_stop), answering_("") {
    for (const Host& host : hosts) {
      std::vector<std::string> words = command;
      words.push_back(host.address);
      talks_.push_back(std::make_unique<Conversation>(remote_command(shell, host, words)));
    }
  }

  std::vector<Visit> run() {
    wait(kFactsTime, [](Conversation& talk) { return talk.knows_clock(); });
    ask_to_reach();
    wait(kReachTime,
         [](Conversation& talk) { return talk.knows_reaches() || !talk.knows_clock(); });
    std::vector<Visit> visits;
    for (size_t i = 0; i < hosts_.size(); ++i) visits.push_back(result(i));
    return visits;
  }

 private:
  template <typename Condition>
  void wait(milliseconds time, const Condition& enough) {
    const Clock::time_point deadline = Clock::now() + time;
    while (Clock::now() < deadline) {
      if (should_stop_ && should_stop_()) fail_run("interrupted while looking at the hosts");
      std::vector<pollfd> events;
      bool waiting = false;
      for (const auto& talk : talks_) {
        const bool lives = talk->step();
        if (!lives || enough(*talk)) continue;
        talk->watch(events);
        waiting = true;
      }
      if (!waiting) return;
      answering_.step();
      answering_.watch(events);
      poll(events.data(), events.size(), kTick);
    }
  }

  void ask_to_reach() {
    const std::vector<std::string> addresses = addresses_for_others(hosts_);
    for (size_t i = 0; i < hosts_.size(); ++i) {
      if (!talks_[i]->knows_clock() || talks_[i]->over()) continue;
      json peers = json::array();
      for (size_t other = 0; other < hosts_.size(); ++other) {
        if (other == i || !talks_[other]->knows_clock()) continue;
        peers.push_back({{"name", hosts_[other].name},
                         {"address", addresses[other]},
                         {"port", talks_[other]->port()}});
      }
      const std::string here = world::own_address_towards(hosts_[i].address);
      peers.push_back({{"name", kLauncher}, {"address", here}, {"port", answering_.port()}});
      talks_[i]->ask_to_reach(peers);
    }
  }

  Visit result(size_t i) {
    Conversation& talk = *talks_[i];
    Visit visit;
    if (!talk.knows_clock()) {
      const std::string& program = hosts_[i].program.empty() ? command_.front() : hosts_[i].program;
      visit.problem = talk.over()
                          ? explain_remote(shell_, hosts_[i], program, talk.ending(), talk.error())
                          : fmt::format("host {} did not answer within {} s; is it up?",
                                        hosts_[i].name, kFactsTime / seconds(1));
      return visit;
    }
    if (talk.garbled()) {
      visit.problem = fmt::format(
          "host {} said something else than this program's answers: is the program there another "
          "one?",
          hosts_[i].name);
      return visit;
    }
    visit.facts = talk.facts();
    visit.clock_ahead_s = talk.clock_ahead();
    visit.clock_error_s = talk.clock_error();
    if (!talk.knows_reaches()) {
      visit.problem =
          fmt::format("host {} fell silent while it tried to reach the others", hosts_[i].name);
      return visit;
    }
    for (const json& one : talk.reaches()) {
      visit.reaches.emplace_back(one.at("name"), one.at("problem"));
    }
    return visit;
  }

  const std::vector<Host>& hosts_;
  const RemoteShell& shell_;
  const std::vector<std::string>& command_;
  const std::function<bool()>& should_stop_;
  Answering answering_;
  std::vector<std::unique_ptr<Conversation>> talks_;
};

}  // namespace

std::vector<Visit> visit_hosts(const std::vector<Host>& hosts, const RemoteShell& shell,
                               const std::vector<std::string>& command,
                               const std::function<bool()>& should_stop) {
  return Visiting(hosts, shell, command, should_stop).run();
}

}  // namespace syrtos::launch
