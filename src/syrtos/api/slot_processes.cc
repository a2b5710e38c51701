#include "syrtos/api/slot_processes.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "syrtos/api/piece.h"
#include "syrtos/api/slot_program.h"
#include "syrtos/base/descriptor.h"
#include "syrtos/base/error.h"
#include "syrtos/base/log.h"

namespace syrtos::api {

using nlohmann::json;
using search::News;

namespace {

constexpr int kMostFailures = 8;  // to start, one after the other, of a process of this machine
constexpr double kHostPatience = 600;  // seconds that hosts may all be away
constexpr double kStart = 60;          // seconds for a process to say that it is there
constexpr size_t kShownOfLine = 200;   // bytes of one that is not understood
constexpr size_t kMostLine = 1 << 20;  // bytes; whoever prints so much without an end is no slot

/// Some of what can be read now: whoever prints without an end must not keep us from the others.
/// False: it was closed.
bool read_into(int descriptor, std::string& text) {
  std::array<char, 1 << 14> block;
  const size_t enough = text.size() + 4 * block.size();
  while (true) {
    if (text.size() >= enough) return true;
    const ssize_t got = read(descriptor, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got < 0 && errno == EAGAIN;
    text.append(block.data(), static_cast<size_t>(got));
  }
}

std::string last_line(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  text.erase(0, text.rfind('\n') + 1);  // npos + 1 is 0
  return text.starts_with("error: ") ? text.substr(7) : text;
}

}  // namespace

/// A process that is started, works, ends, and is started again.
class SlotProcesses::Slot {
 public:
  Slot(const SlotProcessOptions& options, const SlotHost& host) : options_(options), host_(host) {}

  const std::string& host() const { return host_.host.name; }
  bool is_there() const { return there_; }
  bool sees() const { return sees_; }
  /// Failures to start it, one after the other, and for how long.
  int failures() const { return failures_; }
  double away_s() const { return there_ ? 0 : seconds_since(left_); }
  const std::string& trouble() const { return trouble_; }

  void watch(std::vector<pollfd>& events) const {
    if (!process_) return;
    for (const Descriptor* from : {&process_->output, &process_->error}) {
      if (from->valid()) events.push_back({.fd = from->get(), .events = POLLIN, .revents = 0});
    }
    events.push_back({.fd = process_->handle(), .events = POLLIN, .revents = 0});
    if (process_->has_more_to_tell()) {
      events.push_back({.fd = process_->input.get(), .events = POLLOUT, .revents = 0});
    }
  }

  void step(int number, std::vector<News>& news) {
    if (!process_) {
      if (Clock::now() >= next_try_) begin();
      return;
    }
    process_->tell_rest();
    if (seconds_since(told_) > kSlotAlive) {
      told_ = Clock::now();
      process_->tell("{\"do\": \"alive\"}\n");
    }
    read_into(process_->error.get(), said_);
    if (said_.size() > 8192) said_.erase(0, said_.size() - 4096);
    if (read_into(process_->output.get(), text_); !text_.empty()) heard_ = Clock::now();
    for (size_t end = text_.find('\n'); end != std::string::npos; end = text_.find('\n')) {
      take(text_.substr(0, end), number, news);
      text_.erase(0, end + 1);
    }
    if (text_.size() > kMostLine) text_.clear();
    if (const auto ending = process_->ended()) {
      lose(number, news, why(*ending));
    } else if (seconds_since(heard_) > (there_ ? kSlotSilence : kStart)) {
      lose(number, news,
           fmt::format("nothing was heard of {} for {:.0f} s", host(), seconds_since(heard_)));
    }
  }

  void start(const search::Piece& piece) {
    search::Piece own = piece;
    own.job.threads = host_.way.threads;
    process_->tell(to_line(own, options_.own));
    log_info("trial {} goes to {}", piece.trial, host());
  }
  void stop() {
    if (process_) process_->tell("{\"do\": \"stop\"}\n");
  }
  /// The end of its input is the end of its work.
  void let_go() {
    if (process_) process_->input.close();
  }
  bool has_ended() { return !process_ || process_->ended(); }

 private:
  void begin() {
    std::vector<std::string> words = options_.command;
    if (options_.remote) words = remote_command(*options_.remote, host_.host, words);
    process_ = std::make_unique<launch::Process>(words);
    heard_ = told_ = Clock::now();
    text_.clear();
    said_.clear();
    process_->tell(
        json{{"do", "hello"}, {"search", options_.search.string()}, {"token", options_.token}}
            .dump() +
        "\n");
  }

  /// A login shell over there may print lines of its own, whatever they look like.
  void take(const std::string& line, int number, std::vector<News>& news) {
    const json message = json::parse(line, nullptr, false);
    if (!message.is_object()) return;
    try {
      understand(message, number, news);
    } catch (const RequestError& error) {
      log_info("slot {} says '{}': {}", number, line.substr(0, kShownOfLine), error.what());
    } catch (const json::exception& error) {
      log_info("slot {} says '{}': {}", number, line.substr(0, kShownOfLine), error.what());
    }
  }

  void understand(const json& message, int number, std::vector<News>& news) {
    if (message.value("is", "") == "alive") return;
    const bool sees = message.value("sees", false);
    const bool leaves = message.value("leaves", false);
    News one = parse_news(message);
    one.slot = number;
    if (one.kind == News::Kind::gone) fail_request("whether it is gone is not for it to say");
    if (one.kind == News::Kind::free) {
      if (there_) return;  // said twice
      sees_ = sees;
      there_ = true;
      failures_ = 0;
    } else if (!there_) {
      fail_request("it has not said that it is free");
    }
    news.push_back(std::move(one));
    if (leaves) leave(number, news, fmt::format("its process on {} was asked to end", host()));
  }

  void leave(int number, std::vector<News>& news, const std::string& reason) {
    left_ = Clock::now();
    news.push_back({.kind = News::Kind::gone, .slot = number, .message = reason});
    there_ = false;
  }

  std::string why(const Ending& ending) const {
    const std::string said = last_line(said_);
    if (options_.remote && ending.code == launch::kRemoteShellFailed) {
      return explain_remote(*options_.remote, host_.host, options_.command.front(), ending, said_);
    }
    const Ending own = options_.remote ? launch::remote_ending(ending) : ending;
    return fmt::format("its process on {} {}{}{}", host(), own.text(), said.empty() ? "" : ": ",
                       said);
  }

  void lose(int number, std::vector<News>& news, const std::string& reason) {
    log_info("slot {} is lost: {}", number, reason);
    process_.reset();
    trouble_ = reason;
    if (there_) leave(number, news, reason);
    ++failures_;
    constexpr double kLongest = 30;
    const double pause =
        std::min(kLongest, 0.25 * static_cast<double>(1 << std::min(failures_, 8)));
    next_try_ = Clock::now() + std::chrono::milliseconds(static_cast<int>(1000 * pause));
  }

  const SlotProcessOptions& options_;
  const SlotHost& host_;
  std::unique_ptr<launch::Process> process_;
  std::string text_, said_, trouble_;
  Clock::time_point heard_ = {}, told_ = {}, next_try_ = {}, left_ = Clock::now();
  bool there_ = false;
  bool sees_ = false;
  int failures_ = 0;
};

SlotProcesses::SlotProcesses(SlotProcessOptions options) : options_(std::move(options)) {
  // One of each host first, so that the first trials are everywhere.
  int most = 0;
  for (const SlotHost& host : options_.hosts) most = std::max(most, host.way.slots);
  for (int round = 0; round < most; ++round) {
    for (const SlotHost& host : options_.hosts) {
      if (round < host.way.slots) slots_.push_back(std::make_unique<Slot>(options_, host));
    }
  }
}

SlotProcesses::~SlotProcesses() {
  constexpr double kGrace = 5;  // whoever still trains then is ended
  for (const auto& slot : slots_) slot->let_go();
  const Clock::time_point since = Clock::now();
  while (seconds_since(since) < kGrace &&
         !std::all_of(slots_.begin(), slots_.end(),
                      [](const auto& one) { return one->has_ended(); })) {
    poll(nullptr, 0, 10);
  }
}

std::vector<News> SlotProcesses::wait(double seconds) {
  std::vector<News> news;
  const auto step = [&] {
    for (size_t i = 0; i < slots_.size(); ++i) slots_[i]->step(static_cast<int>(i), news);
  };
  step();
  if (!news.empty()) return news;
  std::vector<pollfd> events;
  for (const auto& slot : slots_) slot->watch(events);
  poll(events.data(), events.size(), static_cast<int>(1000 * seconds));
  step();
  return news;
}

void SlotProcesses::start(int slot, const search::Piece& piece) {
  slots_[static_cast<size_t>(slot)]->start(piece);
}
void SlotProcesses::stop(int slot) { slots_[static_cast<size_t>(slot)]->stop(); }

const std::string& SlotProcesses::host(int slot) const {
  return slots_[static_cast<size_t>(slot)]->host();
}

bool SlotProcesses::shares(int number, const std::string& host) const {
  const Slot& here = *slots_[static_cast<size_t>(number)];
  if (here.host() == host) return true;
  bool is_there = false;
  for (const auto& slot : slots_) {
    if (slot->host() != host || !slot->is_there()) continue;
    is_there = true;
    if (slot->sees() && here.sees()) return true;
  }
  return !is_there;  // what it had is lost, or here too
}

std::string SlotProcesses::none_left() const {
  const bool local = !options_.remote;
  for (const auto& slot : slots_) {
    const bool given_up =
        local ? slot->failures() >= kMostFailures : slot->away_s() > kHostPatience;
    if (!given_up) return {};
  }
  return slots_.empty() ? "there was none" : slots_.front()->trouble();
}

}  // namespace syrtos::api
