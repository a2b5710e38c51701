#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "syrtos/job/request.h"
#include "syrtos/search/ledger.h"

namespace syrtos::search {

/// A piece of a trial's training, which a slot does.
struct Piece {
  int trial = 0;
  job::JobRequest job = {};
  std::filesystem::path run = {};  ///< the trial's directory: it goes on with what is there
  int64_t until = 0;               ///< epochs after which it pauses; 0: at its end
  bool force = false;              ///< another process may still have the directory
};

/// What a slot has to say.
struct News {
  enum class Kind {
    free,   ///< the slot is there, and has nothing to do
    begin,  ///< the piece goes on after `epoch`
    epoch,  ///< and came to `value`
    end,    ///< of the piece; interrupted with a message: it cannot be kept
    gone,   ///< the slot takes no more work for now; a piece that it had is lost
  };
  Kind kind = Kind::free;
  int slot = 0;
  int64_t epoch = 0;
  std::optional<double> value = {};
  PieceEnd end = PieceEnd::complete;
  std::string message = {};
};

/// Places where trials run, some on each host: processes, threads, or simulated ones. All calls
/// from one thread.
class Slots {
 public:
  virtual ~Slots() = default;

  /// Seconds on a clock that never goes back.
  virtual double now() = 0;
  /// Waits for something to happen, for so many seconds at most.
  virtual std::vector<News> wait(double seconds) = 0;
  virtual void start(int slot, const Piece& piece) = 0;
  /// Asks for the end of what it does, in good order; it says so.
  virtual void stop(int slot) = 0;

  virtual const std::string& host(int slot) const = 0;
  /// A trial that was on that host can go on here: both see the search's directory.
  virtual bool shares(int slot, const std::string& host) const = 0;
  /// Why there is no slot any more and none will come; empty: there are, or some may come.
  virtual std::string none_left() const = 0;
};

}  // namespace syrtos::search
