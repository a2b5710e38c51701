#include "syrtos/api/slot_program.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <iostream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "syrtos/api/piece.h"
#include "syrtos/api/settle.h"
#include "syrtos/api/slot_choice.h"
#include "syrtos/api/task.h"
#include "syrtos/base/clock.h"
#include "syrtos/base/error.h"
#include "syrtos/run/owner.h"

namespace syrtos::api {

using nlohmann::json;

namespace {

/// Empty: there is none, or something else.
std::string word_in(const json& message, const char* key) {
  if (!message.is_object()) return {};
  const auto found = message.find(key);
  return found != message.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// The search, as its slot hears and tells it. Reads on a thread of its own.
class SearchLine {
 public:
  explicit SearchLine(std::function<void()> end_process)
      : end_process_(std::move(end_process)), reader_([this] { listen(); }) {}
  ~SearchLine() {
    over_ = true;
    reader_.join();
  }
  SearchLine(const SearchLine&) = delete;
  SearchLine& operator=(const SearchLine&) = delete;

  /// What is to be done next; nothing: the search is over, or this process is to end.
  std::optional<json> next(const std::function<bool()>& should_stop) {
    constexpr auto kLook = std::chrono::milliseconds(100);
    std::unique_lock lock(mutex_);
    while (!gone_ && !should_stop()) {
      if (!changed_.wait_for(lock, kLook, [&] { return gone_ || !work_.empty(); })) continue;
      if (gone_) break;
      json work = std::move(work_.front());
      work_.pop_front();
      return work;
    }
    return std::nullopt;
  }

  bool stops() const { return stops_ || gone_; }

  void tell(const json& message) {
    const std::string line = message.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
    const std::lock_guard lock(writing_);
    for (size_t done = 0; done < line.size();) {
      const ssize_t sent = write(STDOUT_FILENO, line.data() + done, line.size() - done);
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0) return;  // whoever is gone hears nothing: listen() notices too
      done += static_cast<size_t>(sent);
    }
  }

 private:
  void listen() {
    std::string text;
    Clock::time_point heard = Clock::now();
    Clock::time_point told = Clock::now();
    while (!over_) {
      pollfd event{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
      const int found = poll(&event, 1, 200);
      if (found > 0) {
        std::array<char, 1 << 16> block;
        const ssize_t got = read(STDIN_FILENO, block.data(), block.size());
        if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)) return leave();
        if (got > 0) text.append(block.data(), static_cast<size_t>(got));
        heard = Clock::now();
        for (size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n')) {
          take(text.substr(0, end));
          text.erase(0, end + 1);
        }
      }
      if (seconds_since(heard) > kSlotSilence) return leave();
      if (seconds_since(told) > kSlotAlive) {
        told = Clock::now();
        tell({{"is", "alive"}});
      }
    }
  }

  void take(const std::string& line) {
    json message = json::parse(line, nullptr, false);
    const std::string what = word_in(message, "do");
    if (what == "stop") stops_ = true;
    if (what != "train" && what != "hello") return;
    // Stops are about what was said to be trained before them, whether that has begun or not.
    if (what == "train") stops_ = false;
    const std::lock_guard lock(mutex_);
    work_.push_back(std::move(message));
    changed_.notify_one();
  }

  /// What is trained just now is saved, if that does not take for ever.
  void leave() {
    constexpr double kGrace = 20;
    {
      const std::lock_guard lock(mutex_);
      gone_ = true;
      changed_.notify_one();
    }
    const Clock::time_point since = Clock::now();
    while (!over_ && seconds_since(since) < kGrace) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    if (!over_) end_process_();
  }

  const std::function<void()> end_process_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<json> work_;
  std::atomic<bool> gone_ = false;
  std::atomic<bool> stops_ = false;
  std::atomic<bool> over_ = false;
  std::mutex writing_;
  std::thread reader_;
};

bool sees(const json& hello) {
  const auto owner = run::read_owner(word_in(hello, "search"));
  return owner && owner->token == word_in(hello, "token");
}

}  // namespace

void serve_slot(const Surroundings& surroundings, const std::function<void()>& end_process) {
  SearchLine line(end_process);
  Surroundings own = surroundings;
  own.should_stop = [&] { return line.stops() || surroundings.should_stop(); };
  // Who was asked to end does so: another process takes its place, and what it had goes on there.
  while (const std::optional<json> message = line.next(surroundings.should_stop)) {
    if (word_in(*message, "do") == "hello") {
      json news = to_json(search::News{.kind = search::News::Kind::free});
      news["sees"] = sees(*message);
      line.tell(news);
      continue;
    }
    const TravelledPiece travelled = parse_piece(*message);
    train_piece(travelled.piece, own, travelled.own, [&](const search::News& news) {
      json told = to_json(news);
      if (news.kind == search::News::Kind::end) told["leaves"] = surroundings.should_stop();
      line.tell(told);
    });
  }
}

std::string measure_slots_here(const Surroundings& surroundings) {
  std::string line;
  std::getline(std::cin, line);
  const TrainRequest request = parse_task(line);
  job::Job job = job::resolve(request.job, surroundings.cpu, surroundings.cache_home, request.own);
  settle(request.job, surroundings, job);
  return to_json(measure_slots(job, surroundings)).dump();
}

}  // namespace syrtos::api
