#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "syrtos/data/dataset.h"

namespace syrtos::data {

/// Is told how far work has come, on the calling thread.
class Observer {
 public:
  virtual ~Observer() = default;
  /// A part of the work begins: "downloading https://...", "verifying".
  virtual void stage(const std::string& what) = 0;
  /// So much of it is done; `of` is 0 when nobody knows.
  enum class Unit { bytes, samples };
  virtual void amount(int64_t done, int64_t of, Unit unit) = 0;
  /// A source could not deliver; the next one is tried.
  virtual void failed(const std::string& source, const std::string& reason) = 0;
};

/// Writes both halves as PLACE/{train,test}.pack, with mean and deviation of the training samples
/// (of 100,000 of them at most), and PLACE/origin.json, which says where they come from. The
/// directory appears when it is complete, in exchange for one that is there: see check_replaceable.
/// Throws RunError: no space, stopped.
void store(const Splits& splits, const std::filesystem::path& place, const std::string& source,
           Observer& observer, const std::function<bool()>& should_stop);

/// Throws RequestError when `place` has anything in it but what store() writes: nothing of the
/// user's own may be removed.
void check_replaceable(const std::filesystem::path& place);

}  // namespace syrtos::data
