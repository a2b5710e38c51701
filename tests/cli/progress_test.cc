#include "syrtos/cli/progress.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "syrtos/cli/terminal.h"

namespace syrtos::cli {
namespace {

TEST(Bar, IsAsWideAsAskedAndFilledInProportion) {
  EXPECT_EQ(bar(0, 4), "    ");
  EXPECT_EQ(bar(1, 4), "████");
  EXPECT_EQ(bar(0.5, 4), "██  ");
  EXPECT_EQ(bar(0.375, 4), "█▌  ");
  EXPECT_EQ(bar(-1, 2), "  ");
  EXPECT_EQ(bar(7, 2), "██");
}

train::StepProgress in_the_middle() {
  return {.epoch = 2,
          .epochs = 10,
          .step_in_epoch = 123,
          .steps_per_epoch = 938,
          .step = 1061,
          .total_steps = 9380,
          .loss = 0.12345,
          .images_per_s = 12345};
}

TEST(ProgressLine, IsNeverWiderThanTheTerminal) {
  for (int columns = 0; columns <= 120; ++columns) {
    const std::string line = progress_line(in_the_middle(), 61, "image", columns, true);
    EXPECT_LE(width_of(line), columns) << line;
  }
  EXPECT_EQ(progress_line(in_the_middle(), 61, "image", 80, false),
            "epoch 2/10  step 123/938  loss 0.1235  12,345 images/s  1:01 min left");
  EXPECT_EQ(progress_line(in_the_middle(), 61, "image", 40, true),
            "step 123/938  loss 0.1235  1:01 min left");
  EXPECT_EQ(progress_line(in_the_middle(), 61, "image", 12, true), "step 123/938");
  EXPECT_EQ(progress_line(in_the_middle(), 61, "sample", 200, true).find("images"),
            std::string::npos);
}

TEST(Terminal, TextsAreCutBetweenCharacters) {
  EXPECT_EQ(width_of("äöü…"), 4);
  EXPECT_EQ(cut("äöü", 3), "äöü");
  EXPECT_EQ(cut("äöüß", 3), "äö…");
  EXPECT_EQ(cut("abc", 0), "");
  EXPECT_EQ(width_of("日本"), 4);
  EXPECT_EQ(cut("日本語", 5), "日本…");
  EXPECT_EQ(cut("日本語", 4), "日…");
}

/// What a run prints to a file.
std::string printed(const ProgressPlace& like) {
  std::FILE* file = std::tmpfile();
  {
    ProgressPlace place = like;
    place.out = file;
    Progress progress(place);
    progress.step(in_the_middle());
    progress.step(in_the_middle());
  }
  std::rewind(file);
  std::string text;
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) text += static_cast<char>(c);
  std::fclose(file);
  return text;
}

TEST(ProgressInFiles, IsAPlainLineNowAndThen) {
  const std::string text = printed({.colour = true, .plain_every = std::chrono::milliseconds(0)});
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
  EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
  EXPECT_EQ(text.find('\r'), std::string::npos) << text;
}

TEST(ProgressInFiles, IsPlainWhereAPlaceOnlyLooksLikeATerminal) {
  EXPECT_NE(printed({.columns = 80}).find('\x1b'), std::string::npos);
  EXPECT_EQ(printed({.colour = true, .columns = 80, .may_be_file = true}).find('\x1b'),
            std::string::npos);
}

}  // namespace
}  // namespace syrtos::cli
