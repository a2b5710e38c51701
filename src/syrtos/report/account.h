#pragma once

#include <optional>
#include <string>
#include <vector>

#include "syrtos/run/parts.h"
#include "syrtos/trace/division_log.h"

namespace syrtos::report {

/// One account of the time that a person waits: from the command to its end, of a run that went on
/// of all its commands together, as rank 0 saw it. Seconds; every moment is in one of them.
struct TimeAccount {
  double start = 0;       ///< starting processes, reaching hosts
  double data = 0;        ///< opening and preparing it
  double set_up = 0;      ///< compiling the network, looking at the machine
  double meeting = 0;     ///< until the ranks have met and have the first weights
  double steps = 0;       ///< with what was waited for in them
  double evaluation = 0;  ///< at the ends of epochs
  double saving = 0;
  double end = 0;  ///< gathering and writing what was measured, ending

  double sum() const { return start + data + set_up + meeting + steps + evaluation + saving + end; }
  /// Before the first step and after the last.
  double around() const { return start + data + set_up + meeting + end; }
};

/// `first`: rank 0's records of all parts. Nothing where a part does not say where its time went.
std::optional<TimeAccount> account_of(const std::vector<run::TrainedPart>& parts,
                                      const std::vector<trace::DivisionRecord>& first);

/// "start-up 0.4 s (4 %), data 1.2 s (12 %), ..." without what took nothing worth a word.
std::string account_text(const TimeAccount& account);

/// The account's parts with the names that people and programs see, in order.
std::vector<std::pair<const char*, double>> account_parts(const TimeAccount& account);

}  // namespace syrtos::report
