#pragma once

#include <chrono>
#include <cstdio>
#include <string>

namespace syrtos::cli {

/// One line that says what goes on, redrawn in place; only on a terminal, and gone at the end.
class StatusLine {
 public:
  /// `out` is not owned; nullptr: says nothing.
  explicit StatusLine(std::FILE* out);
  ~StatusLine() { clear(); }
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  void show(const std::string& text);
  void clear();

 private:
  std::FILE* out_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point last_drawn_;
};

}  // namespace syrtos::cli
