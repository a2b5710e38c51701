#include "syrtos/run/directory.h"

#include <gmock/gmock.h>

#include <set>

#include "syrtos/run/about.h"
#include "syrtos/run/metrics.h"
#include "tests/support/temporary.h"

namespace syrtos::run {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class RunDirectories : public TemporaryDirectory {
 protected:
  std::set<std::string> names() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory_ / "run")) {
      names.insert(entry.path().filename().string());
    }
    return names;
  }
  Directory create() const { return Directory::create(directory_ / "run", "mlp", "batch = 3\n"); }
};

TEST_F(RunDirectories, BeginWithTheirFormatAndTheirJob) {
  const Directory made = create();
  EXPECT_EQ(names(),
            std::set<std::string>({"run.json", "owner.json", "job.toml", "metrics.jsonl"}));
  EXPECT_EQ(read(made.file(File::job)), "batch = 3\n");
  Notes notes;
  const About about = read_about(Directory::open(made.path()), notes).value();
  EXPECT_EQ(about.format, kFormat);
  EXPECT_EQ(about.program, "syrtos " SYRTOS_VERSION);
  EXPECT_THAT(notes, IsEmpty());
}

TEST_F(RunDirectories, OfANewerFormatAreRefusedByWhateverReadsThem) {
  const Directory made = create();
  std::filesystem::create_directories(directory_);
  write("run/last.ckpt", "x");
  write("run/run.json", R"({"format": 99, "program": "syrtos 7.5"})");
  for (const auto& look : std::vector<std::function<void()>>{
           [&] { Directory::open(made.path()); }, [&] { Directory::open_to_resume(made.path()); },
           [&] { find_checkpoint(made.path()); }}) {
    EXPECT_THAT(
        refusal(look),
        HasSubstr("expected a run of format 1 or older, found format 99, made by syrtos 7.5"));
  }
  EXPECT_EQ(find_checkpoint(made.last()), made.last()) << "a checkpoint says itself what it is";
}

TEST_F(RunDirectories, OfAnEarlierVersionAreReadAndThatIsNoted) {
  const Directory made = create();
  for (const char* damaged : {"", "{", "[]", R"({"format": "one"})", R"({"format": -1})"}) {
    write("run/run.json", damaged);
    Notes notes;
    EXPECT_FALSE(read_about(Directory::open(made.path()), notes).has_value()) << damaged;
    EXPECT_THAT(notes, ElementsAre(HasSubstr("run.json: "))) << damaged;
  }
  std::filesystem::remove(made.file(File::about));
  Notes notes;
  EXPECT_FALSE(read_about(Directory::open_to_resume(made.path()), notes).has_value());
  EXPECT_THAT(notes, ElementsAre(HasSubstr("run.json is missing: the run is of an earlier")));
}

TEST_F(RunDirectories, AreMadeOnlyWhereNothingIs) {
  create();
  EXPECT_THAT(refusal([&] { create(); }), HasSubstr("expected a new or an empty directory"));
  write("file", "");
  EXPECT_THAT(refusal([&] { Directory::create(directory_ / "file", "mlp", ""); }),
              HasSubstr("expected a new or an empty directory"));
  EXPECT_THAT(refusal([&] { Directory::create("/proc/run", "mlp", ""); }),
              HasSubstr("cannot create the run directory"));
}

TEST_F(RunDirectories, WhatNeverBeganIsAsGoodAsNothing) {
  const Directory made = Directory::at(create().path());
  std::filesystem::remove(made.file(File::job));
  std::filesystem::remove(made.file(File::metrics));
  write("run/job.toml.part", "bat");
  EXPECT_NO_THROW(create());
  std::filesystem::remove(made.file(File::job));
  made.remove_if_unused();
  EXPECT_TRUE(made.has(File::metrics)) << "there is something in it";
  std::filesystem::remove(made.file(File::metrics));
  made.remove_if_unused();
  EXPECT_FALSE(std::filesystem::exists(made.path()));
}

TEST_F(RunDirectories, ReservedOnesAreThereAndStillNew) {
  const auto path = Directory::reserve(directory_ / "run", "mlp");
  EXPECT_TRUE(path.is_absolute());
  EXPECT_TRUE(std::filesystem::is_empty(path));
  EXPECT_NO_THROW(Directory::create(path, "mlp", ""));
}

TEST_F(RunDirectories, WhatIsNoRunIsRefused) {
  write("file", "");
  std::filesystem::create_directory(directory_ / "empty");
  EXPECT_THAT(refusal([&] { Directory::open(directory_ / "none"); }), HasSubstr("found nothing"));
  EXPECT_THAT(refusal([&] { Directory::open(directory_ / "file"); }), HasSubstr("found a file"));
  EXPECT_THAT(refusal([&] { Directory::open(directory_ / "empty"); }),
              HasSubstr("expected job.toml, metrics.jsonl or steps.csv in it"));
  EXPECT_THAT(refusal([&] { Directory::open_to_resume(directory_ / "empty"); }),
              HasSubstr("is not a run: expected the file "));
  EXPECT_THAT(refusal([&] { find_checkpoint(directory_ / "empty"); }),
              HasSubstr("expected best.ckpt or last.ckpt in it"));
}

TEST_F(RunDirectories, ForgetWhatWasMeasuredAndNothingElse) {
  const Directory made = create();
  for (const FileInfo& info : all_files()) {
    if (info.file != File::owner) write("run/" + std::string(info.name), "x");
  }
  made.forget_measures();
  EXPECT_EQ(names(), std::set<std::string>({"run.json", "owner.json", "job.toml", "network.onnx",
                                            "network.json", "metrics.jsonl", "last.ckpt",
                                            "previous.ckpt", "best.ckpt", "events.out.tfevents.",
                                            "progress.json", "curve.csv", "log.txt", "live.json"}));
}

TEST_F(RunDirectories, StampsChangeWithWhatIsShown) {
  const Directory made = create();
  const std::string before = made.stamp();
  write("run/last.ckpt", "x");
  EXPECT_EQ(made.stamp(), before);
  append(made, EpochMetrics{.epoch = 1});
  EXPECT_NE(made.stamp(), before);
}

TEST_F(RunDirectories, TheBestCheckpointIsTheLastOfThen) {
  const Directory made = create();
  write("run/last.ckpt", "one");
  made.keep_as_best();
  EXPECT_EQ(find_checkpoint(made.path()), made.best());
  std::filesystem::remove(made.last());
  write("run/last.ckpt", "two");
  EXPECT_EQ(read(made.best()), "one");
}

/// docs/run-directory.md is what readers of others rely on.
TEST(RunFormat, IsDescribed) {
  std::ifstream in(SYRTOS_RUN_DIRECTORY_PAGE);
  const std::string page{std::istreambuf_iterator<char>(in), {}};
  for (const FileInfo& info : all_files()) {
    EXPECT_THAT(page, HasSubstr("`" + std::string(info.name))) << "in docs/run-directory.md";
    EXPECT_FALSE(info.what.empty() || info.writer.empty()) << info.name;
  }
  EXPECT_THAT(page, HasSubstr("format " + std::to_string(kFormat)));
}

}  // namespace
}  // namespace syrtos::run
