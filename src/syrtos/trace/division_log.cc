#include "syrtos/trace/division_log.h"

#include <bit>
#include <cmath>

#include "syrtos/base/error.h"
#include "syrtos/trace/bytes.h"

namespace syrtos::trace {

namespace {

constexpr std::string_view kMagic = "syrtos division 1\n";
constexpr int64_t kMostOfLog = int64_t{1} << 60;

float take_seconds(ByteReader& from) {
  const auto value = std::bit_cast<float>(from.fixed32("seconds"));
  if (!std::isfinite(value) || value < 0) {
    from.fail("seconds, 0 or more", fmt::to_string(value));
  }
  return value;
}

}  // namespace

StepDivision DivisionRecord::division() const {
  StepDivision division;
  for (size_t i = 0; i < kParts; ++i) division.seconds[i] = seconds[i];
  division.hidden_network = hidden_network;
  return division;
}

DivisionRecord& DivisionRecord::operator+=(const DivisionRecord& next) {
  steps += next.steps;
  for (size_t i = 0; i < kParts; ++i) seconds[i] += next.seconds[i];
  hidden_network += next.hidden_network;
  return *this;
}

DivisionLog::DivisionLog(int rank, size_t capacity) : rank_(rank), capacity_(capacity) {
  SYRTOS_CHECK(capacity >= 2 && capacity % 2 == 0, "{}", capacity);
}

DivisionRecord record_of_step(int64_t step, int64_t start, const StepDivision& division) {
  DivisionRecord record{step, 1, start, {}, 0};
  // What is computed as a difference of times may come out a little below nothing.
  const auto seconds = [](double value) { return value > 0 ? static_cast<float>(value) : 0.0F; };
  for (size_t i = 0; i < kParts; ++i) record.seconds[i] = seconds(division.seconds[i]);
  record.hidden_network = seconds(division.hidden_network);
  return record;
}

void DivisionLog::add(int64_t step, int64_t start, const StepDivision& division) {
  const DivisionRecord record = record_of_step(step, start, division);
  if (!records_.empty() && records_.back().steps < steps_per_record_) {
    records_.back() += record;
    return;
  }
  if (records_.size() == capacity_) halve();
  records_.push_back(record);
}

void DivisionLog::halve() {
  for (size_t i = 0; i < records_.size() / 2; ++i) {
    records_[i] = records_[2 * i];
    records_[i] += records_[2 * i + 1];
  }
  records_.resize(records_.size() / 2);
  steps_per_record_ *= 2;
}

StepDivision DivisionLog::total() const {
  StepDivision total;
  for (const DivisionRecord& record : records_) total += record.division();
  return total;
}

std::string to_bytes(const DivisionLog& log) {
  ByteWriter to;
  to.raw(kMagic);
  to.number(log.rank());
  to.unsigned_number(log.records().size());
  for (const DivisionRecord& record : log.records()) {
    to.number(record.step);
    to.number(record.steps);
    to.number(record.start);
    for (const float seconds : record.seconds) to.fixed32(std::bit_cast<uint32_t>(seconds));
    to.fixed32(std::bit_cast<uint32_t>(record.hidden_network));
  }
  return to.take();
}

RankDivision division_from_bytes(std::string_view bytes, std::string_view sender) {
  ByteReader from(bytes, fmt::format("division of time of {}", sender));
  from.magic(kMagic);
  RankDivision division;
  division.rank = static_cast<int>(from.number_within("a rank", 0, 1 << 20));
  division.records.resize(from.count("the number of records", 3 + 4 * (kParts + 1)));
  for (DivisionRecord& record : division.records) {
    record.step = from.number_within("a step", 0, kMostOfLog);
    record.steps = from.number_within("a number of steps", 1, kMostOfLog);
    record.start = from.number_within("a time", 0, kMostOfLog);
    for (float& seconds : record.seconds) seconds = take_seconds(from);
    record.hidden_network = take_seconds(from);
  }
  from.end();
  return division;
}

}  // namespace syrtos::trace
