#include "syrtos/search/conduct.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "syrtos/base/error.h"
#include "syrtos/search/scheduler.h"

namespace syrtos::search {

namespace {

constexpr int kAllFailed = 4;         // trials, after which nobody expects the next to succeed
constexpr int kFailedInARow = 16;     // trials, of a search of which some did not
constexpr int kFailedOfEachSlot = 4;  // ... and so many for each slot: all may fail at one time
constexpr double kStopPatience = 60;  // seconds for pieces to end in good order
constexpr double kTick = 0.2;         // seconds

/// One search, as long as it is conducted.
class Conductor {
 public:
  Conductor(Directory& directory, Slots& slots, Observer& observer)
      : directory_(directory),
        slots_(slots),
        observer_(observer),
        scheduler_(directory.plan()),
        begun_(slots.now()),
        before_(directory.ledger().last_at()) {}

  Outcome run(const std::function<bool()>& should_stop) {
    add({.kind = Event::Kind::session});
    while (true) {
      for (const News& news : slots_.wait(kTick)) take(news);
      if (!ends_ && should_stop()) end(Outcome::End::interrupted);
      if (!ends_ && is_time_over()) end(Outcome::End::complete);
      if (!ends_ && (all_failed() || none_succeeds_now())) end(Outcome::End::hopeless);
      if (!ends_) fill();
      if (ends_ && (pieces_.empty() || slots_.now() - ending_ > kStopPatience)) break;
      if (const std::string none = slots_.none_left(); !none.empty()) {
        directory_.write_best();
        fail_run("no slot is left to run trials on: {}", none);
      }
    }
    directory_.write_best();
    outcome_.seconds = slots_.now() - begun_;
    return outcome_;
  }

 private:
  const Ledger& ledger() const { return directory_.ledger(); }
  double at() const { return before_ + slots_.now() - begun_; }

  void add(Event event) {
    event.at = at();
    directory_.add(event);
    if (event.kind == Event::Kind::end) count_end(ledger().trial(event.trial));
    observer_.happened(event, ledger());
  }

  void count_end(const Trial& trial) {
    if (trial.state == TrialState::failed) {
      ++failed_in_a_row_;
    } else if (trial.state != TrialState::waiting) {
      failed_in_a_row_ = 0;
    }
  }

  void end(Outcome::End how) {
    ends_ = true;
    outcome_.end = how;
    ending_ = slots_.now();
    if (how == Outcome::End::hopeless) outcome_.message = common_cause(ledger());
    for (const auto& [slot, trial] : pieces_) slots_.stop(slot);
  }

  bool is_time_over() const {
    const double hours = directory_.plan().settings.hours;
    return hours > 0 && at() >= 3600 * hours;
  }

  bool all_failed() const {
    int failed = 0;
    for (const Trial& trial : ledger().trials()) {
      if (!trial.scores.empty()) return false;
      failed += trial.state == TrialState::failed ? 1 : 0;
    }
    return failed >= kAllFailed;
  }

  /// A disk that is full, data that is gone: nothing ends a search by hours then but this.
  bool none_succeeds_now() const {
    return failed_in_a_row_ >= std::max(kFailedInARow, kFailedOfEachSlot * there_);
  }

  void take(const News& news) {
    const auto piece = pieces_.find(news.slot);
    if (news.kind == News::Kind::free) {
      free_.push_back(news.slot);
      ++there_;
      observer_.slots(there_, news.message);
      return;
    }
    if (news.kind == News::Kind::gone) {
      const auto was_free = std::find(free_.begin(), free_.end(), news.slot);
      if (was_free != free_.end()) free_.erase(was_free);
      if (piece != pieces_.end()) lose(piece->second, news);
      pieces_.erase(news.slot);
      --there_;
      observer_.slots(there_, news.message);
      return;
    }
    if (piece == pieces_.end()) return;  // of one that was given up
    const int trial = piece->second;
    Event event{.trial = trial, .epoch = news.epoch, .value = news.value};
    if (news.kind == News::Kind::begin) {
      event.kind = Event::Kind::begin;
      add(event);
    } else if (news.kind == News::Kind::epoch) {
      if (news.epoch <= ledger().trial(trial).epoch) return;  // it is known
      event.kind = Event::Kind::epoch;
      add(event);
      if (news.value && !hopeless_.contains(trial) &&
          scheduler_.is_hopeless(ledger(), ledger().trial(trial))) {
        hopeless_[trial] = true;
        slots_.stop(news.slot);
      }
    } else {
      finish(trial, news);
      pieces_.erase(news.slot);
      free_.push_back(news.slot);
    }
  }

  void finish(int trial, const News& news) {
    Event event{.kind = Event::Kind::end, .trial = trial, .end = news.end, .message = news.message};
    // Whoever was asked to stop says that it was interrupted, and not why.
    if (news.end == PieceEnd::interrupted && hopeless_.contains(trial)) {
      event.end = PieceEnd::hopeless;
    }
    hopeless_.erase(trial);
    add(event);
    // That is no trial's fault, and the next ones would end in the same way.
    if (news.end == PieceEnd::interrupted && !news.message.empty() && !ends_) {
      outcome_.message = news.message;
      end(Outcome::End::no_room);
    }
    const Trial* best = ledger().best();
    if (best != nullptr && best->number == trial) directory_.write_best();
  }

  void lose(int trial, const News& news) {
    const bool again = ledger().trial(trial).lost + 1 < directory_.plan().settings.attempts;
    hopeless_.erase(trial);
    add({.kind = Event::Kind::end,
         .trial = trial,
         .end = again ? PieceEnd::lost : PieceEnd::failed,
         .message =
             again ? news.message
                   : fmt::format("{} times: {}", ledger().trial(trial).lost + 1, news.message)});
  }

  /// Gives every free slot work, while there is some.
  void fill() {
    std::vector<int> idle;
    bool over = false;
    for (const int slot : free_) {
      const auto may_go_on = [&](const Trial& trial) {
        return trial.host.empty() || slots_.shares(slot, trial.host);
      };
      const Decision decision =
          over ? Decision{.kind = Decision::Kind::wait} : scheduler_.next(ledger(), may_go_on);
      if (decision.kind == Decision::Kind::over || decision.kind == Decision::Kind::wait) {
        over |= decision.kind == Decision::Kind::over;
        idle.push_back(slot);
        continue;
      }
      start(slot, decision);
    }
    free_ = std::move(idle);
    if (!over || !pieces_.empty()) return;
    const int failed = ledger().count(TrialState::failed);
    const bool none = failed > 0 && failed == static_cast<int>(ledger().trials().size());
    end(none ? Outcome::End::hopeless : Outcome::End::complete);
  }

  void start(int slot, const Decision& decision) {
    int number = decision.trial;
    if (decision.kind == Decision::Kind::begin) {
      add({.kind = Event::Kind::trial, .point = decision.point});
      number = static_cast<int>(ledger().trials().size());
    }
    const Trial& trial = ledger().trial(number);
    // Who owns the search owns its trials: a slot of before, which may still be there after a
    // search that was killed, loses them.
    const Piece piece{.trial = number,
                      .job = directory_.plan().job_at(trial.point),
                      .run = directory_.trial(number),
                      .until = decision.until,
                      .force = true};
    add({.kind = Event::Kind::start,
         .trial = number,
         .host = slots_.host(slot),
         .epoch = decision.until});
    pieces_[slot] = number;
    slots_.start(slot, piece);
  }

  Directory& directory_;
  Slots& slots_;
  Observer& observer_;
  const Scheduler scheduler_;
  const double begun_;
  const double before_;
  std::vector<int> free_;
  std::map<int, int> pieces_;     // slot -> trial
  std::map<int, bool> hopeless_;  // trials that were asked to stop
  int there_ = 0;
  int failed_in_a_row_ = 0;
  bool ends_ = false;
  double ending_ = 0;
  Outcome outcome_;
};

/// Messages that differ in numbers alone say the same.
std::string without_numbers(const std::string& text) {
  std::string plain;
  for (const char c : text) {
    if (std::isdigit(static_cast<unsigned char>(c)) == 0) {
      plain += c;
    } else if (plain.empty() || plain.back() != '#') {
      plain += '#';
    }
  }
  return plain;
}

}  // namespace

std::string common_cause(const Ledger& ledger) {
  std::map<std::string, std::pair<int, std::string>> causes;
  int failed = 0;
  for (const Trial& trial : ledger.trials()) {
    if (trial.state != TrialState::failed) continue;
    ++failed;
    auto& [count, example] = causes[without_numbers(trial.message)];
    if (++count == 1) example = trial.message;
  }
  const auto most = std::max_element(
      causes.begin(), causes.end(),
      [](const auto& a, const auto& b) { return a.second.first < b.second.first; });
  if (most == causes.end()) return {};
  const auto& [count, example] = most->second;
  return fmt::format(
      "{} of {} trials failed{}: {}", failed, ledger.trials().size(),
      count == failed ? " for the same reason" : fmt::format(", {} of them so", count), example);
}

Outcome conduct(Directory& directory, Slots& slots, Observer& observer,
                const std::function<bool()>& should_stop) {
  return Conductor(directory, slots, observer).run(should_stop);
}

}  // namespace syrtos::search
