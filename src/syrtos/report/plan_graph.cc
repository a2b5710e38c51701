#include "syrtos/report/plan_graph.h"

#include <fmt/format.h>

#include <algorithm>

#include "syrtos/base/format.h"
#include "syrtos/planner/units.h"

namespace syrtos::report {

using planner::CutView;

namespace {

constexpr double kMargin = 16;
constexpr double kTitle = 36;
constexpr double kRow = 34;
constexpr double kBoxHeight = 22;
constexpr double kText = 11;
constexpr double kGap = 24;     // between boxes beside each other
constexpr double kDetour = 6;   // between lines that go around boxes
constexpr size_t kDetours = 8;  // beside each other

struct Spot {
  size_t row = 0;
  size_t column = 0;
};

/// Each below all that it uses, as far to the left as there is room.
std::vector<Spot> spots_of(const CutView& view) {
  std::vector<Spot> spots(view.units.size());
  for (const CutView::Edge& edge : view.edges) {  // in the order of their ends
    spots[edge.to].row = std::max(spots[edge.to].row, spots[edge.from].row + 1);
  }
  std::vector<size_t> used(spots.size() + 1);
  for (Spot& spot : spots) spot.column = used[spot.row]++;
  return spots;
}

std::string text_of(const CutView::Unit& unit) {
  return fmt::format("{}  {}", unit.layer.empty() ? "input" : unit.layer,
                     planner::format_short_time(unit.seconds));
}

Ink ink_of(int part) { return {Ink::series, part % kSeriesColours}; }

/// Boxes and lines at their places.
class Picture {
 public:
  explicit Picture(const CutView& view) : view_(view), spots_(spots_of(view)) {
    for (const CutView::Unit& unit : view.units) {
      box_width_ = std::max(box_width_, text_width(text_of(unit), kText) + 12);
    }
    for (const Spot& spot : spots_) {
      columns_ = std::max(columns_, spot.column + 1);
      rows_ = std::max(rows_, spot.row + 1);
    }
  }

  Layout make(const std::string& title) {
    layout_.shapes.push_back(Label{.at = {kMargin, kMargin + 10},
                                   .text = title,
                                   .ink = {Ink::text},
                                   .size = 14,
                                   .strong = true});
    for (const CutView::Edge& edge : view_.edges) draw(edge);
    for (size_t unit = 0; unit < view_.units.size(); ++unit) draw(unit);
    const double right = draw_legend();
    layout_.width = std::max(right, 2 * kMargin + text_width(title, 14) * kStrong);
    layout_.height =
        kTitle + static_cast<double>(std::max(rows_, view_.busy.size())) * kRow + kMargin;
    return std::move(layout_);
  }

 private:
  Box box(size_t unit) const {
    const Spot& spot = spots_[unit];
    const double left = kMargin + static_cast<double>(spot.column) * (box_width_ + kGap);
    const double top = kTitle + static_cast<double>(spot.row) * kRow;
    return {left, top, left + box_width_, top + kBoxHeight};
  }
  double right_of_boxes() const {
    return kMargin + static_cast<double>(columns_) * (box_width_ + kGap);
  }

  void draw(size_t number) {
    const CutView::Unit& unit = view_.units[number];
    const Box at = box(number);
    const std::vector<Place> corners = {
        {at.left, at.top}, {at.right, at.top}, {at.right, at.bottom}, {at.left, at.bottom}};
    layout_.shapes.push_back(Path{.places = corners, .ink = ink_of(unit.part), .filled = true});
    std::vector<Place> around = corners;
    around.push_back(corners[0]);
    layout_.shapes.push_back(Path{.places = around, .ink = ink_of(unit.part)});
    layout_.shapes.push_back(Label{.at = {at.left + 6, at.bottom - 7},
                                   .text = text_of(unit),
                                   .ink = {Ink::text},
                                   .size = kText});
  }

  void draw(const CutView::Edge& edge) {
    const Box from = box(edge.from);
    const Box to = box(edge.to);
    const bool crosses = view_.units[edge.from].part != view_.units[edge.to].part;
    Path path{.places = {}, .ink = {crosses ? Ink::text : Ink::quiet}, .dashed = crosses};
    const double middle = (from.left + from.right) / 2;
    if (spots_[edge.to].row == spots_[edge.from].row + 1) {
      path.places = {{middle, from.bottom}, {(to.left + to.right) / 2, to.top}};
    } else {  // around what is in between
      const double x =
          right_of_boxes() - kGap + kDetour * static_cast<double>(1 + detours_++ % kDetours);
      const double beside = kRow - kBoxHeight;  // between rows
      const double out = from.bottom + beside / 3;
      const double in = to.top - beside / 3;
      const double from_x = from.right - 10;
      const double to_x = to.right - 10;
      path.places = {{from_x, from.bottom}, {from_x, out}, {x, out}, {x, in}, {to_x, in},
                     {to_x, to.top}};
    }
    layout_.shapes.push_back(path);
    if (!crosses) return;
    layout_.shapes.push_back(Label{.at = {middle + 6, from.bottom + 10},
                                   .text = format_bytes(edge.bytes),
                                   .ink = {Ink::text},
                                   .size = 10});
  }

  /// What each part comes to; returns where it ends.
  double draw_legend() {
    const double left = right_of_boxes() + kDetour * kDetours;
    double right = left;
    for (size_t part = 0; part < view_.busy.size(); ++part) {
      const std::string text = fmt::format("part {}: {} of computing a step, {}", part + 1,
                                           planner::format_short_time(view_.busy[part]),
                                           format_bytes(view_.memory[part]));
      const double y = kTitle + static_cast<double>(part) * 22 + 12;
      layout_.shapes.push_back(Marker{.at = {left, y - 4},
                                      .shape = MarkerShape::square,
                                      .ink = ink_of(static_cast<int>(part))});
      layout_.shapes.push_back(Label{.at = {left + 12, y}, .text = text, .ink = {Ink::text}});
      right = std::max(right, left + 12 + text_width(text, 12));
    }
    return right + kMargin;
  }

  const CutView& view_;
  const std::vector<Spot> spots_;
  double box_width_ = 80;
  size_t columns_ = 1;
  size_t rows_ = 1;
  size_t detours_ = 0;
  Layout layout_;
};

}  // namespace

Layout graph_layout(const CutView& view, const std::string& title) {
  return Picture(view).make(title);
}

}  // namespace syrtos::report
