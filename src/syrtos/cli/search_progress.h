#pragma once

#include <cstdio>
#include <string>

#include "syrtos/base/scribe.h"
#include "syrtos/cli/status_line.h"
#include "syrtos/search/conduct.h"

namespace syrtos::cli {

/// Says how a search goes: a line for each piece of a trial that ended, and one that is redrawn. On
/// a thread of its own, since a terminal may stand still and the search does not; of thousands of
/// lines that nobody reads some are left out.
class SearchProgress final : public search::Observer {
 public:
  /// `out` is not owned.
  explicit SearchProgress(std::FILE* out) : out_(out), line_(stderr) {}

  void begin(const search::Plan& plan);
  void happened(const search::Event& event, const search::Ledger& ledger) override;
  void slots(int count, const std::string& note) override;
  /// Prints this too, in its turn.
  void say(const std::string& text);
  /// Returns when everything is printed.
  void clear();

 private:
  void tell_end(const search::Event& event, const search::Ledger& ledger);

  std::FILE* out_;
  StatusLine line_;  // for the scribe's thread
  const run::Metric* metric_ = nullptr;
  int64_t trials_ = 0;
  Scribe scribe_{10'000};
};

}  // namespace syrtos::cli
