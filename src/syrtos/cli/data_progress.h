#pragma once

#include <chrono>
#include <cstdio>
#include <string>

#include "syrtos/data/fetch/store.h"

namespace syrtos::cli {

/// Prints how getting and packing go: on a terminal one line that is redrawn, otherwise a plain
/// line for each part of the work.
class DataProgress : public data::Observer {
 public:
  /// `out` is not owned; lines begin with `name`.
  DataProgress(std::FILE* out, std::string name, bool colour);
  ~DataProgress() override { clear(); }

  void stage(const std::string& what) override;
  void amount(int64_t done, int64_t of, Unit unit) override;
  void failed(const std::string& source, const std::string& reason) override;
  /// Takes the line away, before anything else is printed.
  void clear();
  /// The name as it is shown.
  std::string title() const;

 private:
  using Clock = std::chrono::steady_clock;

  std::FILE* out_;
  std::string name_;
  bool terminal_;
  bool colour_;
  bool drawn_ = false;
  std::string stage_;
  Clock::time_point last_drawn_;
};

}  // namespace syrtos::cli
