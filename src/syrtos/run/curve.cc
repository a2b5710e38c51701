#include "syrtos/run/curve.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <fstream>
#include <optional>

#include "syrtos/run/text_file.h"

namespace syrtos::run {

namespace {

constexpr std::string_view kBefore = "step,time,loss,";
constexpr std::string_view kBehind = ",images_per_s";

/// "step,time,loss,accuracy,images_per_s"
const Metric* metric_of(std::string_view header) {
  if (!header.starts_with(kBefore) || !header.ends_with(kBehind)) return nullptr;
  header.remove_prefix(kBefore.size());
  header.remove_suffix(std::min(header.size(), kBehind.size()));
  return find_metric(header);
}

std::string to_line(const CurvePoint& point) {
  return fmt::format("{},{:.3f},{:.6g},{:.6g},{:.6g}", point.step, point.time, point.loss,
                     point.score, point.images_per_s);
}

/// Takes a number and what follows it from the front of the text.
template <typename Number>
bool take_number(std::string_view& rest, Number& number, std::string_view behind) {
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
  const bool whole = take_number(line, point.step, ",") && take_number(line, point.time, ",") &&
                     take_number(line, point.loss, ",") && take_number(line, point.score, ",") &&
                     take_number(line, point.images_per_s, "") && line.empty();
  const bool finite = std::isfinite(point.time) && std::isfinite(point.loss) &&
                      std::isfinite(point.score) && std::isfinite(point.images_per_s);
  if (!whole || !finite || point.step <= 0) return std::nullopt;
  return point;
}

}  // namespace

void rewind_curve(const Directory& directory, int64_t step, const Metric& metric) {
  std::string kept = fmt::format("{}{}{}\n", kBefore, metric.name, kBehind);
  for (const CurvePoint& point : read_curve(directory).points) {
    if (point.step <= step) kept += to_line(point) + '\n';
  }
  replace_text(directory, File::curve, kept);
}

void append(const Directory& directory, const CurvePoint& point) {
  add_line(directory, File::curve, to_line(point));
}

Curve read_curve(const Directory& directory) {
  Curve curve;
  std::vector<CurvePoint>& points = curve.points;
  std::ifstream in(directory.file(File::curve), std::ios::binary);
  for (std::string line; std::getline(in, line);) {
    if (in.eof()) break;  // a line without its end may have lost digits too
    if (points.empty() && curve.metric == nullptr) curve.metric = metric_of(line);
    const std::optional<CurvePoint> point = point_of(line);
    if (point && (points.empty() || point->step > points.back().step)) points.push_back(*point);
  }
  return curve;
}

}  // namespace syrtos::run
