#include "syrtos/report/layout.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "syrtos/report/text.h"
#include "syrtos/report/ticks.h"

namespace syrtos::report {

namespace {

constexpr double kWidth = 720, kPlotHeight = 320;
constexpr double kSquareWidth = 560;
constexpr double kEdge = 16;       // around everything
constexpr double kRightEdge = 30;  // half of the last tick's label stands there
constexpr double kInset = 12;      // of points that would stand on the left or right axis
constexpr double kPerTickX = 64, kPerTickY = 42;
constexpr double kText = 12, kTitle = 15, kNote = 11;
constexpr double kLine = 1.45;  // of a line's height to its size
constexpr double kSwatch = 26, kSwatchGap = 7, kEntryGap = 20;
constexpr size_t kMostMarkers = 64;  // on one line

/// Puts the parts of a chart from top to bottom.
class Layouter {
 public:
  explicit Layouter(const Chart& chart) : chart_(chart) {
    layout_.width = chart.square ? kSquareWidth : kWidth;
  }

  Layout make() {
    double at = put_lines({chart_.title}, kEdge, kTitle, {Ink::text}, true);
    at = put_legend(at + 2) + 12;
    choose_ranges(at);
    put_axes();
    for (const bool guide : {true, false}) {
      for_series(guide, [this](const Series& s, int i) { put_band(s, i); });
      for_series(guide, [this](const Series& s, int i) { put_line(s, i); });
      for_series(guide, [this](const Series& s, int i) { put_points(s, i); });
    }
    at = layout_.plot.bottom + 8 + kText * kLine;
    if (!chart_.x.label.empty()) {
      put(Label{.at = {middle_x(), at + kText * kLine},
                .text = shortened(clean_text(chart_.x.label), columns_in(plot_width(), kText)),
                .ink = {Ink::text},
                .size = kText,
                .anchor = Anchor::middle});
      at += kText * kLine;
    }
    at = put_lines(chart_.notes, at + 8, kNote, {Ink::quiet}, false);
    layout_.height = std::ceil(at + kEdge);
    return std::move(layout_);
  }

 private:
  template <typename Shape>
  void put(Shape shape) {
    layout_.shapes.emplace_back(std::move(shape));
  }

  double plot_width() const { return layout_.plot.right - layout_.plot.left; }
  double middle_x() const { return (layout_.plot.left + layout_.plot.right) / 2; }

  /// Colours go to the series in their order; guides have their own.
  void for_series(bool guide, const std::function<void(const Series&, int)>& call) const {
    int index = 0;
    for (const Series& series : chart_.series) {
      if (series.guide == guide) call(series, index);
      if (!series.guide) ++index;
    }
  }
  static Ink ink_of(const Series& series, int index) {
    return series.guide ? Ink{Ink::quiet} : Ink{Ink::series, index % kSeriesColours};
  }
  static Marker marker_of(const Series& series, int index, Place at) {
    return {at, static_cast<MarkerShape>(index % 4), ink_of(series, index)};
  }
  static double line_width(const Series& series) { return series.guide ? 1 : 2; }

  double put_lines(const std::vector<std::string>& texts, double at, double size, Ink ink,
                   bool strong) {
    const double space = layout_.width - 2 * kEdge;
    const size_t columns = columns_in(strong ? space / kStrong : space, size);
    for (const std::string& text : texts) {
      for (const std::string& line : wrapped(clean_text(text), columns)) {
        at += size * kLine;
        put(Label{.at = {kEdge, at - size * 0.3},
                  .text = line,
                  .ink = ink,
                  .size = size,
                  .strong = strong});
      }
    }
    return at;
  }

  double put_legend(double at) {
    double x = kEdge;
    double row = at;
    int index = 0;
    for (const Series& series : chart_.series) {
      const int mine = series.guide ? 0 : index++;
      if (series.name.empty()) continue;
      const double space = layout_.width - 2 * kEdge - kSwatch - kSwatchGap;
      const std::string name = shortened(clean_text(series.name), columns_in(space, kText));
      const double width = kSwatch + kSwatchGap + text_width(name, kText);
      if (x > kEdge && x + width > layout_.width - kEdge) {
        x = kEdge;
        row += kText * kLine;
      }
      put_swatch(series, mine, {x, row + kText * 0.8});
      put(Label{.at = {x + kSwatch + kSwatchGap, row + kText * 1.15},
                .text = name,
                .ink = {Ink::text},
                .size = kText});
      x += width + kEntryGap;
      at = row + kText * kLine;
    }
    return at;
  }

  void put_swatch(const Series& series, int index, Place at) {
    const Ink ink = ink_of(series, index);
    if (series.spread == Spread::band && has_spread(series)) {
      put(Path{{{at.x, at.y - 6},
                {at.x + kSwatch, at.y - 6},
                {at.x + kSwatch, at.y + 6},
                {at.x, at.y + 6}},
               ink,
               0,
               false,
               true});
    }
    if (series.line != LineStyle::none) {
      put(Path{
          {at, {at.x + kSwatch, at.y}}, ink, line_width(series), series.line == LineStyle::dashed});
    }
    if (has_markers(series)) put(marker_of(series, index, {at.x + kSwatch / 2, at.y}));
  }

  static bool has_spread(const Series& series) {
    return std::any_of(series.points.begin(), series.points.end(),
                       [](const Point& point) { return point.low && point.high; });
  }
  static bool has_markers(const Series& series) {
    if (series.guide) return false;
    if (series.line == LineStyle::none) return true;
    return series.markers && series.points.size() <= kMostMarkers;
  }

  void choose_ranges(double top) {
    const Extent extent = extent_of(chart_);
    const double roughly = layout_.width - 2 * kEdge - 60;
    const double high = chart_.square ? roughly : kPlotHeight;
    y_ = range_of(chart_.y, extent.ys,
                  static_cast<int>(high / (chart_.square ? kPerTickX : kPerTickY)), false);
    double widest = 0;
    for (const Tick& tick : y_.ticks) widest = std::max(widest, text_width(tick.label, kText));
    const double left = kEdge + (chart_.y.label.empty() ? 0 : kText * kLine + 4) + widest + 8;
    const double right = layout_.width - kRightEdge;
    layout_.plot = {left, top, right, top + (chart_.square ? right - left : kPlotHeight)};
    const bool tight = extent.lines && chart_.x.scale == Scale::linear;
    x_ = range_of(chart_.x, extent.xs, static_cast<int>(plot_width() / kPerTickX), tight);
    inset_ = tight ? kInset : 0;
  }

  double x_of(double value) const {
    return layout_.plot.left + inset_ + x_.position(value) * (plot_width() - 2 * inset_);
  }
  double y_of(double value) const {
    const Box& plot = layout_.plot;
    return plot.bottom - y_.position(value) * (plot.bottom - plot.top);
  }
  Place place_of(const Point& point) const { return {x_of(point.x), y_of(point.y)}; }

  void put_axes() {
    const Box& plot = layout_.plot;
    for (const Tick& tick : y_.ticks) {
      const double y = y_of(tick.value);
      put(Path{{{plot.left, y}, {plot.right, y}}, {Ink::grid}});
      put(Label{{plot.left - 8, y + kText * 0.35}, tick.label, {Ink::quiet}, kText, Anchor::end});
    }
    for (const Tick& tick : x_.ticks) {
      const double x = x_of(tick.value);
      put(Path{{{x, plot.top}, {x, plot.bottom}}, {Ink::grid}});
      put(Label{{x, plot.bottom + 6 + kText}, tick.label, {Ink::quiet}, kText, Anchor::middle});
    }
    put(Path{{{plot.left, plot.top}, {plot.left, plot.bottom}, {plot.right, plot.bottom}},
             {Ink::frame}});
    if (chart_.y.label.empty()) return;
    const double height = plot.bottom - plot.top;
    put(Label{.at = {kEdge + kText, (plot.top + plot.bottom) / 2},
              .text = shortened(clean_text(chart_.y.label), columns_in(height, kText)),
              .ink = {Ink::text},
              .size = kText,
              .anchor = Anchor::middle,
              .upwards = true});
  }

  void put_band(const Series& series, int index) {
    if (series.spread != Spread::band) return;
    std::vector<Place> upper;
    std::vector<Place> lower;
    auto close = [&] {
      if (upper.size() > 1) {
        upper.insert(upper.end(), lower.rbegin(), lower.rend());
        put(Path{upper, ink_of(series, index), 0, false, true});
      }
      upper.clear();
      lower.clear();
    };
    for (const Point& point : series.points) {
      if (!spread_visible(chart_, point)) {
        close();
        continue;
      }
      upper.push_back({x_of(point.x), y_of(*point.high)});
      lower.push_back({x_of(point.x), y_of(*point.low)});
    }
    close();
  }

  void put_line(const Series& series, int index) {
    if (series.line == LineStyle::none) return;
    const bool dashed = series.line == LineStyle::dashed;
    std::vector<Place> places;
    auto close = [&] {
      if (places.size() > 1) {
        put(Path{places, ink_of(series, index), line_width(series), dashed});
      }
      places.clear();
    };
    for (const Point& point : series.points) {
      if (visible(chart_, point)) {
        places.push_back(place_of(point));
      } else {
        close();
      }
    }
    close();
  }

  void put_points(const Series& series, int index) {
    const Ink ink = ink_of(series, index);
    for (const Point& point : series.points) {
      if (series.spread != Spread::bars || !spread_visible(chart_, point)) continue;
      const double x = x_of(point.x);
      const double low = y_of(*point.low);
      const double high = y_of(*point.high);
      put(Path{{{x, low}, {x, high}}, ink, 1.2});
      for (const double end : {low, high}) put(Path{{{x - 4, end}, {x + 4, end}}, ink, 1.2});
    }
    if (!has_markers(series)) return;
    for (const Point& point : series.points) {
      if (visible(chart_, point)) put(marker_of(series, index, place_of(point)));
    }
  }

  const Chart& chart_;
  Layout layout_;
  Range x_, y_;
  double inset_ = 0;
};

}  // namespace

Layout layout_of(const Chart& chart) { return Layouter(chart).make(); }

}  // namespace syrtos::report
