#include <charconv>
#include <cmath>
#include <fstream>
#include <limits>

#include "syrtos/base/error.h"
#include "syrtos/base/files.h"
#include "syrtos/trace/division_log.h"

namespace syrtos::trace {

namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kMostOfTable = int64_t{1} << 60;

std::string header() {
  std::string text = "rank,step,steps,start";
  for (const std::string_view name : kPartNames) text.append(",").append(name);
  return text + ",hidden_network";
}

/// The fields of one line, one after the other.
class Fields {
 public:
  Fields(std::string_view line, std::string file, int64_t number)
      : rest_(line), file_(std::move(file)), number_(number) {}

  int64_t whole(std::string_view name, int64_t low, int64_t high) {
    const std::string_view field = take(name);
    return parse_whole(field, name, field, low, high);
  }

  // "12.000000345" seconds, in nanoseconds.
  int64_t time(std::string_view name) {
    const std::string_view field = take(name);
    const size_t point = field.find('.');
    if (point == std::string_view::npos || field.size() - point != 10) {
      fail(fmt::format("{} with nine decimals", name), field);
    }
    const int64_t seconds =
        parse_whole(field.substr(0, point), name, field, 0, kMostOfTable / kSecond - 1);
    return seconds * kSecond + parse_whole(field.substr(point + 1), name, field, 0, kSecond - 1);
  }

  float seconds(std::string_view name) {
    const std::string_view field = take(name);
    float value = 0;
    const auto [end, code] = std::from_chars(field.data(), field.data() + field.size(), value);
    if (code != std::errc() || end != field.data() + field.size() || !std::isfinite(value) ||
        value < 0) {
      fail(fmt::format("{} in seconds, 0 or more", name), field);
    }
    return value;
  }

  void end() const {
    if (left_) fail("the end of the line", rest_);
  }

 private:
  [[noreturn]] void fail(std::string_view expected, std::string_view found) const {
    fail_request("{}, line {}: expected {}, found '{:.60}'", file_, number_, expected, found);
  }

  int64_t parse_whole(std::string_view text, std::string_view name, std::string_view field,
                      int64_t low, int64_t high) const {
    int64_t value = -1;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc() || end != text.data() + text.size() || text[0] == '-' || value < low ||
        value > high) {
      fail(fmt::format("{}, a number from {} to {}", name, low, high), field);
    }
    return value;
  }

  std::string_view take(std::string_view name) {
    if (!left_) fail(name, "the end of the line");
    const size_t comma = rest_.find(',');
    const std::string_view field = rest_.substr(0, comma);
    left_ = comma != std::string_view::npos;
    rest_ = left_ ? rest_.substr(comma + 1) : std::string_view();
    return field;
  }

  std::string_view rest_;
  bool left_ = true;
  std::string file_;
  int64_t number_;
};

DivisionRecord parse_record(Fields& fields) {
  DivisionRecord record;
  record.step = fields.whole("step", 0, kMostOfTable);
  record.steps = fields.whole("steps", 1, kMostOfTable);
  record.start = fields.time("start");
  for (size_t i = 0; i < kParts; ++i) record.seconds[i] = fields.seconds(kPartNames[i]);
  record.hidden_network = fields.seconds("hidden_network");
  fields.end();
  return record;
}

}  // namespace

void write_divisions(const std::filesystem::path& file, std::span<const RankDivision> ranks) {
  AtomicFile out(file);
  std::string text = header() + '\n';
  for (const RankDivision& rank : ranks) {
    for (const DivisionRecord& record : rank.records) {
      text += fmt::format("{},{},{},{}.{:09}", rank.rank, record.step, record.steps,
                          record.start / kSecond, record.start % kSecond);
      for (const float seconds : record.seconds) text += fmt::format(",{}", seconds);
      text += fmt::format(",{}\n", record.hidden_network);
    }
    out.write(text);
    text.clear();
  }
  out.write(text);
  out.commit();
}

DivisionContents salvage_divisions(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string line;
  DivisionContents contents;
  if (!in || !std::getline(in, line)) {
    fail_request("cannot read {}: expected a table of where the steps' time went", file.string());
  }
  try {
    if (line != header()) {
      fail_request("{}, line 1: expected '{}', found '{:.60}'", file.string(), header(), line);
    }
    contents.lines = 1;
    for (; std::getline(in, line); ++contents.lines) {
      const int64_t number = contents.lines + 1;
      // A line without its end may have lost digits too.
      if (in.eof()) {
        contents.cut_off = true;
        fail_request("{}, line {}: expected its end, found the file's", file.string(), number);
      }
      Fields fields(line, file.string(), number);
      const auto rank = static_cast<int>(fields.whole("rank", 0, 1 << 20));
      const DivisionRecord record = parse_record(fields);
      std::vector<RankDivision>& ranks = contents.ranks;
      if (ranks.empty() || ranks.back().rank != rank) ranks.push_back({rank, {}});
      ranks.back().records.push_back(record);
    }
  } catch (const RequestError& error) {
    contents.problem = error.what();
  }
  return contents;
}

std::vector<RankDivision> read_divisions(const std::filesystem::path& file) {
  DivisionContents contents = salvage_divisions(file);
  if (!contents.problem.empty()) throw RequestError(contents.problem);
  return std::move(contents.ranks);
}

}  // namespace syrtos::trace
