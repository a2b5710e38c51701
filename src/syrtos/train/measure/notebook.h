#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "syrtos/base/scribe.h"

namespace syrtos::train {

/// Where worker 0 writes what it measured, without waiting for a disk and without depending on it:
/// what cannot be written is said once, and training goes on. All calls are safe from any thread.
class Notebook {
 public:
  /// Writes after all that was asked for before. `what`: of what people are told that it is
  /// missing.
  void write(const std::string& what, std::function<void()> work);
  /// The same for what is replaced again and again: only the newest of a kind counts.
  void replace(int kind, const std::string& what, std::function<void()> work);
  /// Does it here and now, and blocks.
  void write_here(const std::string& what, const std::function<void()>& work);
  /// Waits until all is written.
  void drain() { scribe_.drain(); }

  /// For people: what went wrong since the last time, each kind of file once.
  std::vector<std::string> take_complaints();
  void complain(std::string text);

 private:
  std::atomic<bool> has_complaints_ = false;
  std::mutex mutex_;
  std::vector<std::string> complaints_;
  std::set<std::string> missing_;  // what was complained of
  Scribe scribe_;                  // the last: it ends first
};

}  // namespace syrtos::train
