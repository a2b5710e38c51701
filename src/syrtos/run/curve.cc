#include "syrtos/run/curve.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <fstream>
#include <optional>

#include "syrtos/run/text_file.h"

namespace syrtos::run {

namespace {

constexpr std::string_view kHeader = "step,time,loss,accuracy,images_per_s";

std::string to_line(const CurvePoint& point) {
  return fmt::format("{},{:.3f},{:.6g},{:.6g},{:.6g}", point.step, point.time, point.loss,
                     point.accuracy, point.images_per_s);
}

/// Takes a number and what follows it from the front of the text.
template <typename Number>
bool take(std::string_view& rest, Number& number, std::string_view behind) {
  const char* last = rest.data() + rest.size();
  const auto [end, error] = std::from_chars(rest.data(), last, number);
  if (error != std::errc()) return false;
  rest.remove_prefix(static_cast<size_t>(end - rest.data()));
  if (!rest.starts_with(behind)) return false;
  rest.remove_prefix(behind.size());
  return true;
}

std::optional<CurvePoint> point_of(std::string_view line) {
  CurvePoint point;
  const bool whole = take(line, point.step, ",") && take(line, point.time, ",") &&
                     take(line, point.loss, ",") && take(line, point.accuracy, ",") &&
                     take(line, point.images_per_s, "") && line.empty();
  const bool finite = std::isfinite(point.time) && std::isfinite(point.loss) &&
                      std::isfinite(point.accuracy) && std::isfinite(point.images_per_s);
  if (!whole || !finite || point.step <= 0) return std::nullopt;
  return point;
}

}  // namespace

void rewind_curve(const Directory& directory, int64_t step) {
  std::string kept = std::string(kHeader) + '\n';
  for (const CurvePoint& point : read_curve(directory)) {
    if (point.step <= step) kept += to_line(point) + '\n';
  }
  replace_text(directory, File::curve, kept);
}

void append(const Directory& directory, const CurvePoint& point) {
  add_line(directory, File::curve, to_line(point));
}

std::vector<CurvePoint> read_curve(const Directory& directory) {
  std::vector<CurvePoint> points;
  std::ifstream in(directory.file(File::curve), std::ios::binary);
  for (std::string line; std::getline(in, line);) {
    if (in.eof()) break;  // a line without its end may have lost digits too
    const std::optional<CurvePoint> point = point_of(line);
    if (point && (points.empty() || point->step > points.back().step)) points.push_back(*point);
  }
  return points;
}

}  // namespace syrtos::run
