#pragma once

#include <cstdio>
#include <string>

#include "syrtos/cli/status_line.h"
#include "syrtos/search/conduct.h"

namespace syrtos::cli {

/// Says how a search goes: a line for each piece of a trial that ended, and one that is redrawn.
class SearchProgress final : public search::Observer {
 public:
  /// `out` is not owned.
  explicit SearchProgress(std::FILE* out) : out_(out), line_(stderr) {}

  void begin(const search::Plan& plan);
  void happened(const search::Event& event, const search::Ledger& ledger) override;
  void slots(int count, const std::string& note) override;
  void clear() { line_.clear(); }

 private:
  void tell_end(const search::Event& event, const search::Ledger& ledger);
  void print(const std::string& text);

  std::FILE* out_;
  StatusLine line_;
  const run::Metric* metric_ = nullptr;
  int64_t trials_ = 0;
};

}  // namespace syrtos::cli
