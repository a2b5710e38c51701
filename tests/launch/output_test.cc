#include "syrtos/launch/output.h"

#include <gmock/gmock.h>

namespace syrtos::launch {
namespace {

struct Screen {
  std::string output;
  std::string error;
  Printer::Write write() {
    return [this](Stream stream, std::string_view text) {
      (stream == Stream::output ? output : error) += text;
    };
  }
};

TEST(Output, HoldsLinesBackUntilTheyAreComplete) {
  Screen screen;
  Printer printer(screen.write(), {false, false});
  RankOutput first(printer, Stream::output, "", true);
  RankOutput second(printer, Stream::output, "[rank 1 on b] ", false);
  first.add("one ");
  second.add("two\nthr");
  EXPECT_EQ(screen.output, "[rank 1 on b] two\n");
  first.add("more\n");
  second.add("ee\n\n");
  EXPECT_EQ(screen.output, "[rank 1 on b] two\none more\n[rank 1 on b] three\n[rank 1 on b] \n");
  second.add("last words");
  second.finish();
  second.finish();
  EXPECT_TRUE(screen.output.ends_with("\n[rank 1 on b] last words\n"));
}

TEST(Output, CutsEndlessLinesBetweenCharactersAndLosesNothing) {
  Screen screen;
  Printer printer(screen.write(), {false, false});
  RankOutput rank(printer, Stream::output, "> ", false);
  std::string endless;
  while (endless.size() < 100000) endless += "\u20ac";
  rank.add(endless);
  EXPECT_GT(screen.output.size(), 90000u) << "it is not kept until the end";
  rank.finish();
  std::string joined;
  for (size_t at = 0; at < screen.output.size();) {
    const size_t end = screen.output.find('\n', at);
    std::string line = screen.output.substr(at + 2, end - at - 2);
    if (line.ends_with(" ...")) line.resize(line.size() - 4);
    EXPECT_LE(line.size(), 8192u);
    EXPECT_EQ(line.size() % 3, 0u);
    joined += line;
    at = end + 1;
  }
  EXPECT_EQ(joined, endless);
}

TEST(Output, ShowsTheEndOfALineThatWasRedrawn) {
  Screen screen;
  Printer printer(screen.write(), {false, false});
  RankOutput rank(printer, Stream::output, "> ", false);
  rank.add("10 %\r20 %\r\n");
  EXPECT_EQ(screen.output, "> 20 %\n");
}

TEST(Output, PutsLinesAboveTheBarOfTheFirstRank) {
  Screen screen;
  {
    Printer printer(screen.write(), {true, true});
    RankOutput first(printer, Stream::output, "", true);
    RankOutput second(printer, Stream::error, "> ", false);
    first.add("start\n\r\x1b[Kbar 1");
    EXPECT_EQ(screen.output, "start\n\r\x1b[Kbar 1") << "a bar is not held back";
    second.add("warning\n");
    EXPECT_EQ(screen.error, "> warning\n");
    EXPECT_EQ(screen.output, "start\n\r\x1b[Kbar 1\r\x1b[K\x1b[Kbar 1");
    first.add("\r\x1b[K");
    screen.output.clear();
    second.add("again\n");
    EXPECT_EQ(screen.output, "") << "there is no bar any more";
    first.add("\r\x1b[Kbar 2");
  }
  EXPECT_EQ(screen.output, "\r\x1b[Kbar 2\n") << "what comes next begins on a new line";
}

}  // namespace
}  // namespace syrtos::launch
