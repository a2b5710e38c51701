#pragma once

#include <functional>
#include <map>
#include <queue>
#include <string>
#include <vector>

#include "syrtos/search/slots.h"

namespace syrtos::search {

/// Slots of simulated hosts in virtual time: a piece takes as long as its epochs, and a message
/// its latency.
class VirtualSlots final : public Slots {
 public:
  struct Options {
    int hosts = 1;
    int slots = 1;  ///< of each host
    double latency_s = 0.001;
    std::function<double(const Piece&)> epoch_s = [](const Piece&) { return 1.0; };
    std::function<double(const Piece&, int64_t epoch)> value = {};
    int64_t epochs = 1;  ///< of a whole trial
    bool shares = true;  ///< all hosts see the same files
  };

  explicit VirtualSlots(Options options) : options_(std::move(options)) {
    for (int i = 0; i < options_.hosts * options_.slots; ++i) {
      names_.push_back("h" + std::to_string(i % options_.hosts));
      put(0, {.kind = News::Kind::free, .slot = i});
    }
    busy_.resize(names_.size(), 0);
    running_.resize(names_.size());
  }

  double now() override { return now_; }
  std::vector<News> wait(double seconds) override {
    if (coming_.empty() || coming_.top().at > now_ + seconds) {
      now_ += seconds;
      return {};
    }
    std::vector<News> news;
    now_ = std::max(now_, coming_.top().at);
    while (!coming_.empty() && coming_.top().at <= now_) {
      const Coming next = coming_.top();
      coming_.pop();
      if (next.life != life_[next.news.slot]) continue;
      if (next.before) next.before();
      news.push_back(next.news);
    }
    return news;
  }
  void start(int slot, const Piece& piece) override {
    const int64_t from = done_[where(slot, piece.trial)];
    const int64_t until = piece.until > 0 ? piece.until : options_.epochs;
    double at = now_ + options_.latency_s;
    begun_.push_back({piece.trial, slot, from, piece.force});
    put(at, {.kind = News::Kind::begin, .slot = slot, .epoch = from});
    const double took = options_.epoch_s(piece);
    for (int64_t epoch = from + 1; epoch <= until; ++epoch) {
      at += took;
      const std::string key = where(slot, piece.trial);
      put(at + options_.latency_s,
          {.kind = News::Kind::epoch,
           .slot = slot,
           .epoch = epoch,
           .value = options_.value ? options_.value(piece, epoch) : 0.5},
          [this, key, epoch] { done_[key] = epoch; });
    }
    busy_[static_cast<size_t>(slot)] += at - now_ - options_.latency_s;
    running_[static_cast<size_t>(slot)] = true;
    put(at + options_.latency_s,
        {.kind = News::Kind::end,
         .slot = slot,
         .end = until >= options_.epochs ? PieceEnd::complete : PieceEnd::paused},
        [this, slot] { running_[static_cast<size_t>(slot)] = false; });
  }
  void stop(int slot) override {
    ++life_[slot];
    put(now_, {.kind = News::Kind::end, .slot = slot, .end = PieceEnd::interrupted});
  }
  const std::string& host(int slot) const override { return names_[static_cast<size_t>(slot)]; }
  bool shares(int slot, const std::string& host) const override {
    return options_.shares || this->host(slot) == host || lost_.contains(host);
  }
  std::string none_left() const override { return {}; }

  /// The host is gone from now on, with all that it had; `back_at`: it comes back, if above 0.
  void lose(const std::string& host, double back_at = 0) {
    lost_[host] = true;
    for (int slot = 0; slot < static_cast<int>(names_.size()); ++slot) {
      if (names_[static_cast<size_t>(slot)] != host) continue;
      ++life_[slot];
      put(now_, {.kind = News::Kind::gone, .slot = slot, .message = "cut"});
      if (back_at > 0) {
        put(back_at, {.kind = News::Kind::free, .slot = slot}, [this, host] { lost_.erase(host); });
      }
    }
  }
  void at(double when, std::function<void()> what) {
    coming_.push({when, {.kind = News::Kind::epoch, .slot = -1}, life_[-1], std::move(what)});
  }

  struct Begun {
    int trial, slot;
    int64_t from;
    bool force;
  };
  const std::vector<Begun>& begun() const { return begun_; }
  double busy_s() const {
    double sum = 0;
    for (const double one : busy_) sum += one;
    return sum;
  }

 private:
  struct Coming {
    double at;
    News news;
    int life;
    std::function<void()> before;
    bool operator<(const Coming& other) const { return at > other.at; }
  };
  /// A trial's directory: one of all hosts, or one on each.
  std::string where(int slot, int trial) const {
    return (options_.shares ? "" : host(slot) + "/") + std::to_string(trial);
  }
  void put(double at, News news, std::function<void()> before = {}) {
    // What is told at the same moment is told in the order in which it was put.
    const int slot = news.slot;
    coming_.push({at + 1e-12 * static_cast<double>(++count_), std::move(news), life_[slot],
                  std::move(before)});
  }

  const Options options_;
  double now_ = 0;
  int64_t count_ = 0;
  std::priority_queue<Coming> coming_;
  std::vector<std::string> names_;
  std::vector<double> busy_;
  std::vector<bool> running_;
  std::map<int, int> life_;  // of a slot: what was told in another one does not count
  std::map<std::string, int64_t> done_;
  std::map<std::string, bool> lost_;
  std::vector<Begun> begun_;
};

}  // namespace syrtos::search
