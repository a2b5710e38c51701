#pragma once

#include <functional>
#include <string>

#include "syrtos/search/directory.h"
#include "syrtos/search/slots.h"

namespace syrtos::search {

/// Told what happens, on the thread that conducts.
class Observer {
 public:
  virtual ~Observer() = default;
  /// After each event; the ledger has it already.
  virtual void happened(const Event& /*event*/, const Ledger& /*ledger*/) {}
  /// A slot came or went; so many are there.
  virtual void slots(int /*count*/, const std::string& /*note*/) {}
};

/// How a search ended.
struct Outcome {
  enum class End {
    complete,     ///< all trials that there were to be, or the limit of epochs or hours
    interrupted,  ///< `should_stop` said so; it can go on
    hopeless,     ///< the first trials have all failed, or many in a row, or all there are
    no_room,      ///< what is trained cannot be kept, as on a full disk; it can go on
  };
  End end = End::complete;
  std::string message = {};  ///< hopeless: why they have failed; no_room: what cannot be kept
  double seconds = 0;        ///< of this session
};

/// Runs trials on slots, as the directory's plan says, until it is over: every slot that is free
/// gets work as long as there is some. What is lost is tried again, elsewhere if need be. Blocks.
/// Throws RunError when the directory cannot be written or no slot is left; nothing is lost then.
Outcome conduct(Directory& directory, Slots& slots, Observer& observer,
                const std::function<bool()>& should_stop);

/// What most of the failed trials say, and how many.
std::string common_cause(const Ledger& ledger);

}  // namespace syrtos::search
