#include "syrtos/data/fetch/get.h"

#include <gmock/gmock.h>
#include <sys/file.h>

#include <fstream>

#include "syrtos/data/fetch/contents.h"
#include "syrtos/data/files/workplace.h"
#include "syrtos/data/open.h"
#include "syrtos/data/sets/table.h"
#include "tests/data/file_limit.h"
#include "tests/support/temporary.h"

namespace syrtos::data {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

const auto kNever = [] { return false; };

class Silent : public Observer {
 public:
  void stage(const std::string&) override {}
  void amount(int64_t, int64_t, Unit) override {}
  void failed(const std::string&, const std::string&) override {}
};

std::string big_endian(uint32_t value) {
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(value >> shift & 0xff);
  return text;
}

class Get : public TemporaryDirectory {
 protected:
  // MNIST's files with the right counts and nothing but zeros in them.
  fs::path zeros() const {
    fs::create_directories(directory_ / "zeros");
    const auto half = [&](const std::string& name, uint32_t count) {
      write("zeros/" + name + "-images-idx3-ubyte",
            big_endian(0x803) + big_endian(count) + big_endian(28) + big_endian(28) +
                std::string(static_cast<size_t>(count) * 28 * 28, '\0'));
      write("zeros/" + name + "-labels-idx1-ubyte",
            big_endian(0x801) + big_endian(count) + std::string(count, '\0'));
    };
    half("train", 60000);
    half("t10k", 10000);
    return directory_ / "zeros";
  }
  std::vector<std::string> found(const fs::path& in) const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(in)) names.push_back(entry.path().filename());
    return names;
  }
  static Splits small(size_t samples) {
    const auto half = [&](size_t count) {
      std::vector<uint8_t> values(count * 100);
      for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint8_t>(i * 7 % 251);
      return std::make_unique<Table>(
          DatasetInfo{
              .name = "small", .channels = 1, .height = 10, .width = 10, .classes = {"x", "y"}},
          values, std::vector<int32_t>(count, 1));
    };
    return {half(samples), half(samples / 2)};
  }
  Silent silent_;
};

TEST_F(Get, OtherContentsAreRefusedWithBothChecksumsAndLeaveNothing) {
  const std::string text = refusal([&] {
    get("mnist", {.directory = directory_ / "to", .from = zeros().string()}, silent_, kNever);
  });
  EXPECT_THAT(text, HasSubstr("expected SHA-256 " + find_known("mnist")->train_sha256));
  EXPECT_THAT(text, HasSubstr("found "));
  EXPECT_FALSE(fs::exists(directory_ / "to")) << "nothing is left of what failed";
}

TEST_F(Get, AnotherDataSetIsRefusedByItsSize) {
  EXPECT_THAT(refusal([&] {
                get("cifar10", {.directory = directory_ / "to", .from = zeros().string()}, silent_,
                    kNever);
              }),
              HasSubstr("expected 50000 training samples of 3x32x32 in 10 classes, found 60000"));
}

TEST_F(Get, ANameThatIsNotKnownGetsASuggestion) {
  EXPECT_THAT(refusal([&] { get("cifar11", {.directory = directory_}, silent_, kNever); }),
              HasSubstr("did you mean 'cifar10'"));
}

TEST_F(Get, ADirectoryWithOtherThingsInItStays) {
  fs::create_directories(directory_ / "mnist");
  write("mnist/thesis.txt", "mine");
  EXPECT_THAT(refusal([&] {
                get("mnist", {.directory = directory_, .from = ".", .force = true}, silent_,
                    kNever);
              }),
              HasSubstr("thesis.txt"));
  EXPECT_EQ(read(directory_ / "mnist/thesis.txt"), "mine");
}

TEST_F(Get, WhatIsNotTheDataSetIsReplacedOnlyByForce) {
  store(small(100), directory_ / "mnist", "here", silent_, kNever);
  EXPECT_THAT(
      refusal([&] { get("mnist", {.directory = directory_, .from = "."}, silent_, kNever); }),
      AllOf(HasSubstr("expected mnist with 60000 training"), HasSubstr("--force")));
  EXPECT_EQ(open((directory_ / "mnist").string(), {}).train->size(), 100);
}

TEST_F(Get, OriginalFilesCountAsHereAndAreNeverReplaced) {
  fs::rename(zeros(), directory_ / "mnist");
  EXPECT_TRUE(get("mnist", {.directory = directory_}, silent_, kNever).was_there);
  EXPECT_THAT(refusal([&] {
                get("mnist", {.directory = directory_, .from = ".", .force = true}, silent_,
                    kNever);
              }),
              HasSubstr("ubyte in it"));
  EXPECT_THAT(refusal([&] { store(small(100), directory_ / "mnist", "here", silent_, kNever); }),
              HasSubstr("ubyte in it"));
  EXPECT_EQ(found(directory_ / "mnist").size(), 4U);
}

TEST_F(Get, ASourceThatIsNotUtf8IsStored) {
  store(small(100), directory_ / "small", "caf\xe9", silent_, kNever);
  EXPECT_THAT(read(directory_ / "small/origin.json"), HasSubstr("caf"));
}

TEST_F(Get, WithoutExchangeTheOldDirectoryIsReplacedOrPutBack) {
  for (const char* name : {"new", "place"}) {
    fs::create_directories(directory_ / name);
    write(std::string(name) + "/file", name);
  }
  EXPECT_FALSE(replace_in_steps(directory_ / "none", directory_ / "place"));
  EXPECT_EQ(read(directory_ / "place/file"), "place");
  EXPECT_THAT(found(directory_), UnorderedElementsAre("new", "place"));
  EXPECT_FALSE(replace_in_steps(directory_ / "new", directory_ / "none"));
  EXPECT_THAT(found(directory_), UnorderedElementsAre("new", "place"));
  EXPECT_TRUE(replace_in_steps(directory_ / "new", directory_ / "place"));
  EXPECT_EQ(read(directory_ / "place/file"), "new");
  EXPECT_EQ(read(directory_ / "new/file"), "place");
  EXPECT_THAT(found(directory_), UnorderedElementsAre("new", "place"));
}

TEST_F(Get, WhatIsStoredOpensByItsNameWithTheSameContents) {
  const Splits splits = small(100);
  store(splits, data_directory(directory_) / "small", "here", silent_, kNever);
  const Splits opened = open("small", directory_);
  EXPECT_EQ(contents_sha256(*opened.train, {}), contents_sha256(*splits.train, {}));
  EXPECT_EQ(contents_sha256(*opened.test, {}), contents_sha256(*splits.test, {}));
  EXPECT_EQ(opened.train->info().classes, splits.train->info().classes);
}

TEST_F(Get, StoringAgainReplacesAndLeavesNothingElse) {
  store(small(100), directory_ / "small", "here", silent_, kNever);
  store(small(60), directory_ / "small", "here", silent_, kNever);
  EXPECT_EQ(open((directory_ / "small").string(), {}).train->size(), 60);
  EXPECT_THAT(found(directory_), UnorderedElementsAre("small"));
}

TEST_F(Get, AFullDiskLeavesNothing) {
  {
    const FileLimit limit(20000);
    EXPECT_THAT(refusal<RunError>(
                    [&] { store(small(1000), directory_ / "small", "here", silent_, kNever); }),
                HasSubstr("cannot write"));
  }
  EXPECT_TRUE(found(directory_).empty());
}

TEST_F(Get, StoppingLeavesNothing) {
  EXPECT_THROW(store(small(100), directory_ / "small", "here", silent_, [] { return true; }),
               RunError);
  EXPECT_TRUE(found(directory_).empty());
}

TEST_F(Get, ANameOfTheCatalogueThatIsNotHereSaysHowToGetIt) {
  EXPECT_THAT(refusal([&] { open("cifar10", directory_); }), HasSubstr("syrtos data get cifar10"));
}

TEST_F(Get, AWorkplaceIsGoneWithItsOwnerAndWhatDeadOnesLeftToo) {
  fs::create_directories(directory_ / ".work-dead" / "ready");
  write(".work-dead.lock", "");
  {
    const Workplace one(directory_);
    const Workplace two(directory_);  // does not take the first for dead
    EXPECT_TRUE(fs::is_directory(one.path()));
    EXPECT_TRUE(fs::is_directory(two.path()));
    EXPECT_NE(one.path(), two.path());
    EXPECT_FALSE(fs::exists(directory_ / ".work-dead"));
  }
  EXPECT_TRUE(found(directory_).empty());
}

TEST(Catalogue, EverySetHasNamesForItsClassesAndSumsToBeVerifiedWith) {
  for (const KnownSet& known : catalogue()) {
    EXPECT_EQ(known.classes.size(), known.name == "cifar100" ? 100U : 10U) << known.name;
    EXPECT_TRUE(known.train_sha256.size() == 64 || !known.published.empty()) << known.name;
    EXPECT_FALSE(known.sources.empty()) << known.name;
  }
}

}  // namespace
}  // namespace syrtos::data
