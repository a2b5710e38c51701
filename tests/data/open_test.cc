#include "syrtos/data/open.h"

#include <gmock/gmock.h>

#include "tests/data/seeds.h"
#include "tests/support/temporary.h"

namespace syrtos::data {
namespace {

using namespace seeds;
using testing::HasSubstr;

class Open : public TemporaryDirectory {
 protected:
  void put(const std::string& name, const std::string& bytes) const {
    std::filesystem::create_directories((directory_ / name).parent_path());
    write(name, bytes);
  }
  void put_all_but_folders(const std::string& where) const {
    put(where + "mnist/train-images-idx3-ubyte.gz", gzip(idx_images(3)));
    put(where + "mnist/train-labels-idx1-ubyte", idx_labels(3));
    put(where + "mnist/t10k-images-idx3-ubyte", idx_images(2));
    put(where + "mnist/t10k-labels-idx1-ubyte", idx_labels(2));
    for (const char* file : {"data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4",
                             "data_batch_5", "test_batch"}) {
      put(where + "cifar/" + file + ".bin", cifar10_bin(1));
    }
    put(where + "signals/train.csv", "1,2\n0,3\n");
    put(where + "signals/test.csv", "1,2\n");
    for (const char* part : {"train", "test"}) {
      put(where + "arrays/x_" + part + ".npy", npy("|u1", "(1, 2)", "ab"));
      put(where + "arrays/y_" + part + ".npy", npy("|u1", "(1,)", "\x01"));
      put(where + "folder/" + part + "/a/1.pgm", "P5 1 1 255\nx");
      put(where + "folder/" + part + "/b/1.pgm", "P5 1 1 255\nx");
    }
  }
};

TEST_F(Open, FindsOutTheFormatOfPathsAndOfFetchedData) {
  put_all_but_folders("");
  put_all_but_folders("home/syrtos/data/");
  const std::vector<std::pair<std::string, int64_t>> sizes = {
      {"mnist", 3}, {"cifar", 5}, {"signals", 2}, {"arrays", 1}, {"folder", 2}};
  for (const auto& [name, size] : sizes) {
    EXPECT_EQ(open((directory_ / name).string(), "none").train->size(), size) << name;
    EXPECT_EQ(open(name, directory_ / "home").train->size(), size) << name;
  }
}

TEST_F(Open, WhatIsNotThereIsSuggested) {
  put("shapes/train/a/1.pgm", "x");
  EXPECT_THAT(refusal([&] { open("fashion-mnits", "none"); }),
              HasSubstr("did you mean 'fashion-mnist'?"));
  EXPECT_THAT(refusal([&] { open((directory_ / "shpaes").string(), "none"); }),
              HasSubstr("did you mean '" + (directory_ / "shapes").string() + "'?"));
}

TEST_F(Open, FoldersAboveAndBelowTheDataLeadToIt) {
  put("around/shapes/a/1.pgm", "P5 1 1 255\nx");
  put("around/shapes/b/1.pgm", "P5 1 1 255\nx");
  EXPECT_THAT(refusal([&] { open((directory_ / "around/shapes/a").string(), "none"); }),
              HasSubstr("name the folder above, " + (directory_ / "around/shapes").string()));
  EXPECT_THAT(refusal([&] { open((directory_ / "around").string(), "none"); }),
              HasSubstr("use " + (directory_ / "around/shapes").string()));
}

TEST_F(Open, ALastingNameMeansTheSameFromElsewhere) {
  put("a.csv", "1,2\n");
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(directory_);
  const std::string name = lasting_name("./a.csv", "none");
  std::filesystem::create_directories("home/syrtos/data/mnist");
  EXPECT_EQ(lasting_name("mnist", directory_ / "home"), "mnist");
  std::filesystem::current_path(before);
  EXPECT_EQ(name, (std::filesystem::canonical(directory_) / "a.csv").string());
}

// Runs in the directory, so that names may be taken for paths.
TEST_F(Open, APathIsAPathAndANameOfTheCatalogueTheFetchedSet) {
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(directory_);
  for (const char* name : {"mnist", "waves"}) {
    put(std::string(name) + "/train.csv", "1,2\n0,3\n");
    put(std::string(name) + "/test.csv", "1,2\n");
    put(std::string("home/syrtos/data/") + name + "/train.csv", "1,2\n0,3\n1,3\n");
    put(std::string("home/syrtos/data/") + name + "/test.csv", "1,2\n");
  }
  EXPECT_EQ(open("mnist", "home").train->size(), 3);
  EXPECT_EQ(open("./mnist", "home").train->size(), 2);
  EXPECT_EQ(open("waves", "home").train->size(), 2);
  std::filesystem::remove_all("waves");
  EXPECT_EQ(open("waves", "home").train->size(), 3);
  EXPECT_THAT(refusal([&] { open("waves", {}); }), HasSubstr("set HOME or XDG_CACHE_HOME"));
  std::filesystem::current_path(before);
}

TEST_F(Open, ASinglePackAndTrainingPicturesAloneSayWhatIsMissing) {
  EXPECT_THAT(refusal([&] { open(write("a.pack", "SYRTOSPKxxxx").string(), {}); }),
              HasSubstr("found a single pack"));
  put("alone/train/a/1.pgm", "P5 1 1 255\nx");
  put("alone/train/b/1.pgm", "P5 1 1 255\nx");
  EXPECT_THAT(refusal([&] { open((directory_ / "alone").string(), {}); }),
              HasSubstr("expected test/, val/ or validation/ beside train/"));
}

TEST_F(Open, SaysWhatItLookedFor) {
  const std::string text = refusal([&] { open(directory_.string(), "none"); });
  EXPECT_THAT(text, HasSubstr(directory_.string()));
  for (const char* format : {"MNIST", "CIFAR", ".npz", ".csv", "folder of pictures"}) {
    EXPECT_THAT(text, HasSubstr(format));
  }
  EXPECT_THAT(refusal([&] { open("nothing-like-this", "none"); }),
              HasSubstr("found 'nothing-like-this', which is neither"));
  EXPECT_THAT(refusal([&] { open(write("a.bin", "x").string(), "none"); }),
              HasSubstr("looked for"));
}

}  // namespace
}  // namespace syrtos::data
