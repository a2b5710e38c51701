#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "syrtos/search/space.h"

namespace syrtos::search {

enum class TrialState {
  waiting,  ///< to be begun, or begun again
  running,
  paused,  ///< halving may let it go on
  done,
  failed,
};
std::string_view to_string(TrialState state);

/// How a piece of a trial's training ended.
enum class PieceEnd {
  paused,         ///< as it was asked to, after the epochs of a rung
  complete,       ///< of all that a trial can be
  stopped_early,  ///< by the job's --early-stop
  hopeless,       ///< by --hopeless
  failed,         ///< it would again
  lost,           ///< with its process or host: it is tried again
  interrupted,    ///< the search ends, and this goes on with it
};
std::string_view to_string(PieceEnd end);
std::optional<PieceEnd> parse_piece_end(std::string_view word);

/// What a trial came to after an epoch, and when, in seconds of the search.
struct Score {
  int64_t epoch = 0;
  double value = 0;
  double at = 0;
};

struct Trial {
  int number = 0;  ///< from 1
  Point point = {};
  TrialState state = TrialState::waiting;
  std::vector<Score> scores = {};        ///< by epoch; those that were evaluated
  int64_t epoch = 0;                     ///< trained so far
  int64_t until = 0;                     ///< what it was last asked to reach; 0: its end
  int lost = 0;                          ///< processes and hosts that it has had and lost
  std::string host = {};                 ///< where it was last
  double begun = 0;                      ///< of the piece that runs
  double seconds = 0;                    ///< that it had a slot, of pieces that ended
  std::string message = {};              ///< why it failed, or was lost last
  PieceEnd end = PieceEnd::interrupted;  ///< of the last piece

  bool has_ended() const { return state == TrialState::done || state == TrialState::failed; }
};

/// Something that happened in a search: a line of trials.jsonl.
struct Event {
  enum class Kind {
    session,  ///< the search begins, or goes on: whatever ran does not any more
    trial,    ///< a new one, with its point
    start,    ///< on a slot of a host, until an epoch (0: its end)
    begin,    ///< it goes on after this epoch; 0: from the start
    epoch,    ///< an epoch and what it came to
    end,      ///< of a piece
  };
  Kind kind = Kind::session;
  double at = 0;  ///< seconds of the search, without those between its sessions
  int trial = 0;  ///< from 1
  Point point = {};
  std::string host = {};
  int slots = 0;                     ///< session: how many there are, 0: not known yet
  int64_t epoch = 0;                 ///< start: until
  std::optional<double> value = {};  ///< none: not evaluated
  PieceEnd end = PieceEnd::complete;
  std::string message = {};
};
std::string to_line(const Event& event);
/// Nothing, if it is no such line.
std::optional<Event> parse_event(const std::string& line);

/// All trials, as the events so far have left them. No more is known of a search.
class Ledger {
 public:
  explicit Ledger(bool higher_is_better) : higher_is_better_(higher_is_better) {}

  void add(const Event& event);

  const std::vector<Trial>& trials() const { return trials_; }
  const Trial& trial(int number) const { return trials_.at(static_cast<size_t>(number) - 1); }
  double last_at() const { return last_at_; }  ///< of the last event
  int running() const { return running_; }
  int count(TrialState state) const;
  int64_t epochs() const;  ///< trained, by all

  bool is_better(double one, double other) const {
    return higher_is_better_ ? one > other : one < other;
  }
  /// The best value of a trial until this epoch (0: any).
  std::optional<Score> best_of(const Trial& trial, int64_t until = 0) const;
  /// nullptr: none has a value yet.
  const Trial* best() const;
  bool was_tried(const Point& point) const;

 private:
  bool higher_is_better_;
  std::vector<Trial> trials_;
  double last_at_ = 0;
  int running_ = 0;
};

}  // namespace syrtos::search
