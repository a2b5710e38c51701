#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "syrtos/trace/division.h"

namespace syrtos::trace {

/// Where the time of some neighbouring steps went. What a rank does between two steps, such as
/// saving, evaluating and meeting the others at the end of an epoch, belongs to the step before; so
/// a rank's records follow each other without gaps, from its first step on.
struct DivisionRecord {
  int64_t step = 0;   // the first of them; a run's first step is 1
  int64_t steps = 1;  // how many
  int64_t start = 0;  // of the first, in nanoseconds of the rank's steady clock
  std::array<float, kParts> seconds = {};  // sums over the steps
  float hidden_network = 0;

  StepDivision division() const;
  /// The steps that follow.
  DivisionRecord& operator+=(const DivisionRecord& next);
  bool operator==(const DivisionRecord&) const = default;
};

/// One step's.
DivisionRecord record_of_step(int64_t step, int64_t start, const StepDivision& division);

/// The steps of one rank in bounded memory: when it is full, neighbours are added up, so that a
/// record stands for 1, 2, 4, ... steps. Always on: adding costs a few stores. One thread at a
/// time.
class DivisionLog {
 public:
  /// Keeps up to `capacity` records (of 64 bytes), an even number.
  explicit DivisionLog(int rank, size_t capacity = 20'000);

  void add(int64_t step, int64_t start, const StepDivision& division);

  int rank() const { return rank_; }
  std::span<const DivisionRecord> records() const { return records_; }
  /// Of all steps.
  StepDivision total() const;

 private:
  void halve();

  int rank_;
  size_t capacity_;
  int64_t steps_per_record_ = 1;
  std::vector<DivisionRecord> records_;
};

/// What a log holds, as others get it.
struct RankDivision {
  int rank = 0;
  std::vector<DivisionRecord> records;
  bool operator==(const RankDivision&) const = default;
};

/// To be sent to rank 0, about 50 bytes per record, and back; other bytes are refused with RunError
/// that says where. `sender` says whose they are.
std::string to_bytes(const DivisionLog& log);
RankDivision division_from_bytes(std::string_view bytes, std::string_view sender);

/// A table of all ranks as a text file: rank,step,steps,start,load,...,hidden_network, a line per
/// record, start in seconds with nine decimals, in a
/// run's table on rank 0's clock. Writing throws RunError. What is read is exactly
/// what was written, in the order of the file; anything else throws RequestError with the line.
void write_divisions(const std::filesystem::path& file, std::span<const RankDivision> ranks);
std::vector<RankDivision> read_divisions(const std::filesystem::path& file);

struct DivisionContents {
  std::vector<RankDivision> ranks;
  int64_t lines = 0;  // that could be used, the header among them
  /// Empty, or why the lines from the next one on could not be used.
  std::string problem;
  bool cut_off = false;  // the problem is that the last of them does not end
};
/// The same from a file that may be damaged. Throws RequestError only when it cannot be opened.
DivisionContents salvage_divisions(const std::filesystem::path& file);

}  // namespace syrtos::trace
