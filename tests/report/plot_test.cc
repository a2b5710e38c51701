#include "syrtos/report/plot.h"

#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <sstream>

#include "syrtos/base/error.h"
#include "syrtos/report/layout.h"
#include "syrtos/report/text.h"
#include "tests/support/temporary.h"

namespace syrtos::report {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

constexpr double kAlmost = 1e-6;

Series line(std::string name, std::vector<Point> points) {
  return {.name = std::move(name), .points = std::move(points)};
}

Chart two_lines() {
  return {.title = "Speed of <two> & more",
          .x = {.label = "workers", .whole = true},
          .y = {.label = "images/s", .from = 0},
          .series = {line("ring", {{1, 10, 9, 11}, {2, 19, 17, 20}, {4, 36, 30, 41}}),
                     line("server", {{1, 9}, {2, 14}, {4, 15}})},
          .notes = {"bars: \"lowest\" & highest"}};
}

std::vector<Chart> many_charts() {
  Chart log = two_lines();
  log.x.scale = log.y.scale = Scale::log;
  Chart band = two_lines();
  band.series[0].spread = Spread::band;
  Chart single = {.title = "one", .x = {.whole = true}, .y = {}, .series = {line("", {{1, 0.5}})}};
  Chart negative = {.series = {line("a", {{-5, -3e6}, {7, 2e7}})}};
  Chart tiny = {.series = {line("a", {{0, 1e-5}, {1e-7, 7e-5}})}};
  Chart flat = {.series = {line("a", {{0, 3}, {1, 3}})}};
  Chart empty;
  const Chart truth = compare_chart("Truth", "measured", "predicted",
                                    {line("a", {{0.013, 0.012}, {2.7, 3.1}}), line("b", {{9, 9}})});
  return {two_lines(), log, band, single, negative, tiny, flat, empty, truth};
}

template <typename Shape>
std::vector<Shape> all(const Layout& layout) {
  std::vector<Shape> shapes;
  for (const auto& shape : layout.shapes) {
    if (const auto* one = std::get_if<Shape>(&shape)) shapes.push_back(*one);
  }
  return shapes;
}

std::vector<std::string> texts(const Layout& layout) {
  std::vector<std::string> result;
  for (const Label& label : all<Label>(layout)) result.push_back(label.text);
  return result;
}

bool inside(const Place& place, const Box& box) {
  return place.x >= box.left - kAlmost && place.x <= box.right + kAlmost &&
         place.y >= box.top - kAlmost && place.y <= box.bottom + kAlmost;
}

/// Tick labels below the plot or left of it.
std::vector<std::string> ticks(const Layout& layout, bool below) {
  std::vector<std::string> result;
  for (const Label& label : all<Label>(layout)) {
    if (label.ink.kind == Ink::quiet && !label.strong && label.size == 12 &&
        (label.anchor == Anchor::middle) == below) {
      result.push_back(label.text);
    }
  }
  return result;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(Layout, EveryPointStandsInThePlot) {
  for (const Chart& chart : many_charts()) {
    const Layout layout = layout_of(chart);
    ASSERT_LT(layout.plot.left, layout.plot.right);
    ASSERT_LT(layout.plot.top, layout.plot.bottom);
    for (const Marker& marker : all<Marker>(layout)) {
      const bool legend = marker.at.y < layout.plot.top;
      EXPECT_TRUE(legend || inside(marker.at, layout.plot)) << marker.at.x << " " << marker.at.y;
    }
    for (const Path& path : all<Path>(layout)) {
      const bool legend = path.places.front().y < layout.plot.top - kAlmost;
      const bool cap = path.width == 1.2;  // ends of bars stand out to the sides
      for (const Place& place : path.places) {
        EXPECT_TRUE(legend || cap || inside(place, layout.plot)) << place.x << " " << place.y;
      }
    }
  }
}

TEST(Layout, ValuesStandWhereTheTicksSay) {
  const Layout layout = layout_of(two_lines());
  double forty = 0;
  double four = 0;
  for (const Label& label : all<Label>(layout)) {
    if (label.text == "40") forty = label.at.y - 12 * 0.35;
    if (label.text == "4") four = label.at.x;
  }
  // (4, 36) is the last point of the first line: a tenth of 40 below 40 counts from the bottom.
  const double expected = layout.plot.bottom - (layout.plot.bottom - forty) * 0.9;
  EXPECT_THAT(all<Marker>(layout), Contains(testing::Truly([&](const Marker& marker) {
                return std::abs(marker.at.x - four) < kAlmost &&
                       std::abs(marker.at.y - expected) < kAlmost;
              })));
}

TEST(Layout, TitleLabelsLegendAndNotesAreThere) {
  EXPECT_THAT(texts(layout_of(two_lines())),
              IsSupersetOf({"Speed of <two> & more", "workers", "images/s", "ring", "server",
                            "bars: \"lowest\" & highest"}));
}

TEST(Layout, LabelsDoNotOverlapAndStayOnThePaper) {
  Chart crowded = two_lines();
  for (int i = 0; i < 9; ++i) crowded.series.push_back(line("a series with a long name", {{1, 2}}));
  crowded.series.push_back(line(std::string(400, 'w'), {{1, 2}}));
  crowded.title = "A title that goes on and on and on and on and on and on and on and on and on on";
  crowded.notes.push_back(std::string(300, 'n') + " and " + std::string(90, 'm'));
  std::vector<Chart> charts = many_charts();
  charts.push_back(crowded);
  for (const Chart& chart : charts) {
    const Layout layout = layout_of(chart);
    const std::vector<Label> labels = all<Label>(layout);
    for (size_t i = 0; i < labels.size(); ++i) {
      const Box a = box_of(labels[i]);
      EXPECT_TRUE(a.left >= 0 && a.top >= 0 && a.right <= layout.width && a.bottom <= layout.height)
          << labels[i].text;
      for (size_t j = 0; j < i; ++j) {
        const Box b = box_of(labels[j]);
        const bool apart =
            a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top;
        EXPECT_TRUE(apart) << labels[i].text << " and " << labels[j].text;
      }
    }
  }
}

TEST(Ticks, StandAtRoundNumbers) {
  Chart chart = {
      .x = {.whole = true}, .y = {.from = 0}, .series = {line("", {{1, 0.13}, {8, 1.87}})}};
  EXPECT_THAT(ticks(layout_of(chart), true),
              testing::ElementsAre("1", "2", "3", "4", "5", "6", "7", "8"));
  EXPECT_THAT(ticks(layout_of(chart), false), testing::ElementsAre("0", "0.5", "1", "1.5", "2"));
  chart.x = {.label = {}, .scale = Scale::log};
  chart.y = {.label = {}, .scale = Scale::log};
  chart.series = {line("", {{0.003, 12000}, {40, 3e5}})};
  EXPECT_THAT(ticks(layout_of(chart), true), testing::ElementsAre("0.01", "0.1", "1", "10"));
  EXPECT_THAT(ticks(layout_of(chart), false),
              testing::ElementsAre("10k", "20k", "50k", "100k", "200k", "500k"));
}

TEST(Layout, PointsThatCannotBeShownBreakTheLine) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinite = std::numeric_limits<double>::infinity();
  Chart chart;
  chart.series = {line("a", {{1, 1}, {2, 2}, {3, nan}, {4, infinite}, {5, 5}, {6, 6}})};
  auto lines_in = [](const Chart& drawn) {
    std::vector<Path> lines;
    const Layout layout = layout_of(drawn);
    for (const Path& path : all<Path>(layout)) {
      if (path.ink.kind == Ink::series && path.places.front().y >= layout.plot.top) {
        lines.push_back(path);
      }
    }
    return lines;
  };
  EXPECT_THAT(lines_in(chart), SizeIs(2));
  chart.series[0].points[2].y = 3;
  chart.series[0].points[3].y = 4;
  EXPECT_THAT(lines_in(chart), SizeIs(1));
  chart.series[0].points[2].y = 0;
  chart.y.scale = Scale::log;
  EXPECT_THAT(lines_in(chart), SizeIs(2));
}

TEST(CompareChart, HasTheDiagonalAndTheLinesBesideItOverEqualAxes) {
  const Chart chart = compare_chart("t", "x", "y", {line("a", {{0.3, 0.4}, {70, 60}})}, 0.1);
  ASSERT_THAT(chart.series, SizeIs(4));
  EXPECT_EQ(chart.series[0].line, LineStyle::none);
  const double factors[] = {1, 1.1, 0.9};
  for (size_t i = 0; i < 3; ++i) {
    for (const Point& point : chart.series[i + 1].points) {
      EXPECT_NEAR(point.y / point.x, factors[i], 1e-12);
    }
  }
  EXPECT_EQ(chart.x.from, chart.y.from);
  EXPECT_EQ(chart.x.to, chart.y.to);
  const Layout layout = layout_of(chart);
  EXPECT_NEAR(layout.plot.right - layout.plot.left, layout.plot.bottom - layout.plot.top, kAlmost);
  EXPECT_EQ(ticks(layout, true), ticks(layout, false));
}

TEST(Svg, EscapesWhatXmlReserves) {
  Chart chart = two_lines();
  chart.series[0].name = std::string("bell\x07 and broken \xff utf-8");
  const std::string svg = to_svg(chart);
  EXPECT_THAT(svg, AllOf(StartsWith("<svg "), HasSubstr("Speed of &lt;two&gt; &amp; more"),
                         HasSubstr("&quot;lowest&quot;"), HasSubstr("bell  and broken ? utf-8"),
                         HasSubstr("prefers-color-scheme:dark"), Not(HasSubstr("<two>")),
                         Not(HasSubstr("nan")), Not(HasSubstr("inf"))));
}

TEST(Svg, IsTheSameForTheSameChart) { EXPECT_EQ(to_svg(two_lines()), to_svg(two_lines())); }

uint32_t big_endian(const std::string& bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = at; i < at + 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

TEST(Png, HasTwiceThePixelsOfTheLayout) {
  for (const Chart& chart : many_charts()) {
    const Layout layout = layout_of(chart);
    const std::string png = to_png(chart);
    ASSERT_THAT(png, StartsWith("\x89PNG\r\n"));
    EXPECT_EQ(big_endian(png, 16), 2 * layout.width);
    EXPECT_EQ(big_endian(png, 20), 2 * layout.height);
  }
}

TEST(Text, PlainOutputIsAsciiWithinTheColumns) {
  std::vector<Chart> charts = many_charts();
  charts[0].title = "größer als alles andere " + std::string(300, 'x');
  charts[0].series[1].name = std::string(200, 'y');
  for (const Chart& chart : charts) {
    for (const int columns : {40, 57, 80, 200}) {
      for (const std::string& line : lines_of(to_text(chart, {.columns = columns}))) {
        EXPECT_LE(line.size(), static_cast<size_t>(columns)) << line;
        EXPECT_THAT(line, Each(testing::AllOf(testing::Ge(' '), testing::Le('~'))));
        EXPECT_FALSE(line.ends_with(' ')) << line;
      }
    }
  }
}

TEST(Text, HasLabelsLegendAndASymbolForEachLine) {
  const std::string text = to_text(two_lines(), {});
  EXPECT_THAT(
      text, AllOf(HasSubstr("Speed of <two> & more\n"), HasSubstr("images/s\n"),
                  HasSubstr("workers\n"), HasSubstr("** ring   oo server\n"), HasSubstr("lowest")));
  EXPECT_THAT(text, AllOf(HasSubstr("50 +"), HasSubstr(" 0 +")));
}

TEST(Text, ATerminalGetsDotsAndColours) {
  const std::string text = to_text(two_lines(), {.unicode = true, .colour = true});
  EXPECT_THAT(text,
              AllOf(HasSubstr("\x1b[36m"), HasSubstr("\x1b[33m"), HasSubstr("⠉"), HasSubstr("└")));
  // Without colours, symbols tell the lines apart.
  EXPECT_THAT(to_text(two_lines(), {.unicode = true}),
              AllOf(HasSubstr("** ring"), HasSubstr("└"), Not(HasSubstr("\x1b"))));
  for (const std::string& line : lines_of(to_text(two_lines(), {.columns = 60, .unicode = true}))) {
    EXPECT_LE(length_of(line), 60U) << line;
  }
}

TEST(Text, ALineRisesFromTheLowerLeft) {
  const Chart chart = {.series = {line("", {{0, 0}, {1, 1}})}};
  const std::vector<std::string> lines = lines_of(to_text(chart, {.columns = 60, .rows = 20}));
  size_t before = std::string::npos;
  for (const std::string& line : lines) {
    const size_t at = line.find('*');
    if (at == std::string::npos) continue;
    EXPECT_LT(at, before);
    before = at;
  }
  EXPECT_EQ(before, lines[0].find_first_of("+|") + 1);
}

TEST(CleanText, ReplacesWhatIsNoText) {
  EXPECT_EQ(clean_text("größe\n\t\x01"), "größe   ");
  EXPECT_EQ(clean_text("\xc0\xaf \xed\xa0\x80 \xf5 \xe2\x82"), "?? ??? ? ??");
  EXPECT_EQ(ascii_text("größe"), "gr??e");
  EXPECT_EQ(length_of("größe 模型"), 10U);
  EXPECT_EQ(shortened("größe und mehr", 8), "größe ..");
  EXPECT_EQ(shortened("short", 5), "short");
  EXPECT_THAT(wrapped("one two three", 7), testing::ElementsAre("one two", "three"));
}

class WriteChart : public TemporaryDirectory {};

TEST_F(WriteChart, KnowsTheFormatByTheName) {
  write_chart(two_lines(), directory_ / "a.svg");
  write_chart(two_lines(), directory_ / "a.PNG");
  EXPECT_EQ(read(directory_ / "a.svg"), to_svg(two_lines()));
  EXPECT_EQ(read(directory_ / "a.PNG"), to_png(two_lines()));
}

TEST_F(WriteChart, RefusesOtherNamesAndLeavesNothing) {
  for (const char* name : {"a.pdf", "svg", "a.svg.gz", ".svg"}) {
    EXPECT_THAT(refusal([&] { write_chart(two_lines(), directory_ / name); }),
                HasSubstr(".svg or .png"));
  }
  EXPECT_THAT(refusal<RunError>([&] { write_chart(two_lines(), directory_ / "no" / "a.svg"); }),
              HasSubstr("a.svg"));
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
}

}  // namespace
}  // namespace syrtos::report
