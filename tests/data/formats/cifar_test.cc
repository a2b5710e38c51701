#include "syrtos/data/formats/cifar.h"

#include <gmock/gmock.h>

#include "syrtos/data/formats/pickle.h"
#include "tests/data/seeds.h"
#include "tests/support/temporary.h"

namespace syrtos::data {
namespace {

using namespace seeds;
using testing::ElementsAre;
using testing::HasSubstr;

class Cifar : public TemporaryDirectory {
 protected:
  static Files binary() {
    Files files;
    for (int i = 1; i <= 5; ++i) {
      files.emplace_back("data_batch_" + std::to_string(i) + ".bin", cifar10_bin(i));
    }
    files.emplace_back("test_batch.bin", cifar10_bin(4));
    return files;
  }
  static Files pickled() {
    Files files;
    for (int i = 1; i <= 5; ++i) {
      files.emplace_back("data_batch_" + std::to_string(i), cifar_pickle(i));
    }
    files.emplace_back("test_batch", cifar_pickle(4));
    return files;
  }
  static Files sheets() {
    const auto sheet = [](int count) {
      std::string rows;
      for (int k = 0; k < count; ++k) {
        const std::string planes = cifar_planes(k);
        for (size_t i = 0; i < 1024; ++i) {
          for (size_t c = 0; c < 3; ++c) rows += planes[c * 1024 + i];
        }
      }
      return png(1024, static_cast<unsigned>(count), rows);
    };
    Files files;
    for (int i = 1; i <= 5; ++i) {
      files.emplace_back("data_batch_" + std::to_string(i) + ".png", sheet(i));
    }
    files.emplace_back("test_batch.png", sheet(4));
    files.emplace_back("train_lables.json", "[0,0,1,0,1,2,0,1,2,3,0,1,2,3,4]");
    files.emplace_back("test_lables.json", "[0, 1, 2, 3]");
    return files;
  }
  void write_all(const Files& files) const {
    for (const auto& [name, bytes] : files) write(name, bytes);
  }
  std::string refused() {
    return refusal([&] { open_cifar(directory_); });
  }
  // What all forms above hold: batches of 1, 2, .. 5 images, 4 test images.
  static void expect_right(const std::filesystem::path& path) {
    ASSERT_TRUE(has_cifar(path));
    const Splits splits = open_cifar(path);
    ASSERT_EQ(splits.train->size(), 15);
    ASSERT_EQ(splits.test->size(), 4);
    EXPECT_EQ(splits.train->info().name, "cifar10");
    EXPECT_EQ(splits.train->info().shape(), Shape({3, 32, 32}));
    EXPECT_EQ(splits.train->info().classes.size(), 10U);
    Scratch scratch;
    const Sample sample = splits.train->read(5, scratch);  // the third of the third batch
    EXPECT_EQ(sample.target.label, 2);
    EXPECT_THAT(std::vector<int>(sample.bytes(), sample.bytes() + 6),
                ElementsAre(9, 8, 7, 2, 3, 4));
    EXPECT_EQ(sample.bytes()[3071], 4);
    EXPECT_EQ(splits.test->label(3), 3);
  }
};

TEST_F(Cifar, BinaryFiles) {
  write_all(binary());
  expect_right(directory_);
  EXPECT_EQ(open_cifar(directory_).train->info().classes[3], "cat");
  write("batches.meta.txt", "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n\n");
  EXPECT_EQ(open_cifar(directory_).test->info().classes[3], "d");
}

TEST_F(Cifar, PythonFiles) {
  write_all(pickled());
  expect_right(directory_);
}

TEST_F(Cifar, SheetsOfPng) {
  write_all(sheets());
  expect_right(directory_);
}

TEST_F(Cifar, ArchivesOfEach) {
  Files deep;
  for (const auto& [name, bytes] : binary())
    deep.emplace_back("cifar-10-batches-bin/" + name, bytes);
  expect_right(write("a.tar.gz", tar_gz(deep)));
  expect_right(write("b.tgz", tar_gz(sheets())));
  expect_right(write("c.tar", pack(pickled(), Container::tar)));
  expect_right(write("d.zip", pack(pickled(), Container::zip)));
  std::filesystem::rename(directory_ / "a.tar.gz", directory_ / "cifar-10-binary.tar.gz");
  expect_right(directory_);
}

TEST_F(Cifar, With100ClassesHasFineLabels) {
  const auto record = [](int coarse, int fine) {
    return std::string{static_cast<char>(coarse), static_cast<char>(fine)} + cifar_planes(1);
  };
  write("train.bin", record(3, 77) + record(4, 99));
  write("test.bin", record(5, 12));
  Splits splits = open_cifar(directory_);
  EXPECT_EQ(splits.train->label(0), 77);
  EXPECT_EQ(splits.train->label(1), 99);
  EXPECT_EQ(splits.test->label(0), 12);
  EXPECT_EQ(splits.train->info().classes[77], "77");
  write("fine_label_names.txt", "too\nfew\n");
  EXPECT_THAT(refused(), HasSubstr("fine_label_names.txt: expected 100 names, found 2"));
  std::filesystem::remove(directory_ / "train.bin");
  write("train", cifar_pickle(3, "fine_labels"));
  write("test", cifar_pickle(2, "fine_labels"));
  splits = open_cifar(directory_);
  EXPECT_EQ(splits.train->info().name, "cifar100");
  EXPECT_EQ(splits.train->label(2), 2);
}

TEST_F(Cifar, WrongLabelsSizesAndMissingFilesSayWhere) {
  write_all(binary());
  std::string bytes = cifar10_bin(3);
  bytes[3073] = 10;
  write("data_batch_2.bin", bytes);
  EXPECT_THAT(refused(),
              HasSubstr("data_batch_2.bin: at offset 3073 expected a label from 0 to 9, found 10"));
  write("data_batch_2.bin", bytes.substr(0, 4000));
  EXPECT_THAT(refused(), HasSubstr("records of 3073 bytes, found 4000 bytes"));
  write("data_batch_2.bin", "");
  EXPECT_THAT(refused(), HasSubstr("data_batch_2.bin: expected records"));
  std::filesystem::remove(directory_ / "data_batch_2.bin");
  EXPECT_THAT(refused(), HasSubstr("expected data_batch_2.bin with the other files"));
}

TEST_F(Cifar, WrongSheetsAreRefused) {
  write_all(sheets());
  write("train_lables.json", "[0,1]");
  EXPECT_THAT(refused(),
              HasSubstr("train_lables.json: expected a label for each of 15 images, found 2"));
  write("train_lables.json", "[0,1");
  EXPECT_THAT(refused(), HasSubstr("expected a JSON list"));
  write("train_lables.json", "[0,\"cat\"]");
  EXPECT_THAT(refused(), HasSubstr("expected a whole number as label 1, found string"));
  write("train_lables.json", "[0,10]");
  EXPECT_THAT(refused(), HasSubstr("label 1: expected a label from 0 to 9, found 10"));
  write("data_batch_4.png", png(2, 1, "abcdef"));
  EXPECT_THAT(refused(), HasSubstr("data_batch_4.png: expected a sheet 1024 wide"));
}

TEST_F(Cifar, ADamagedArchiveIsRefused) {
  const std::string whole = tar_gz(binary());
  for (const size_t size : {whole.size() - 1, whole.size() - 9, whole.size() / 2, size_t{30}}) {
    const auto file = write("a.tar.gz", whole.substr(0, size));
    EXPECT_THAT(refusal([&] { open_cifar(file); }), HasSubstr("a.tar.gz: expected a tar")) << size;
  }
  std::string damaged = whole;
  damaged[damaged.size() - 6] ^= 1;  // in the checksum
  const auto file = write("a.tar.gz", damaged);
  EXPECT_THAT(refusal([&] { open_cifar(file); }), HasSubstr("incorrect data check"));
  EXPECT_FALSE(has_cifar(write("b.tar", pack({{"readme", "x"}}, Container::tar))));
}

class Pickles : public Cifar {
 protected:
  static std::string refused(const std::string& text) {
    return refusal([&] { Pickle(bytes_of(text), "name"); });
  }
};

TEST_F(Pickles, OfProtocol0AsPython2And3WriteThem) {
  // pickle.dumps({'labels': [1, 20], 'names': ['a\n', "b'"]}, 0) by Python 2
  const std::string two =
      "(dp0\nS'labels'\np1\n(lp2\nI1\naI20\nasS'names'\np3\n(lp4\nS'a\\n'\np5\naS\"b'\"\np6\nas.";
  const Pickle old(bytes_of(two), "n");
  EXPECT_THAT(old.numbers("labels"), ElementsAre(1, 20));
  EXPECT_THAT(old.texts("names"), ElementsAre("a\n", "b'"));
  // pickle.dumps({'x': numpy.arange(4, dtype='u1').reshape(2, 2)}, 0) by Python 3
  const std::string three(
      "(dp0\nVx\np1\ncnumpy._core.multiarray\n_reconstruct\np2\n(cnumpy\nndarray\np3\n(I0\ntp4\n"
      "c_codecs\nencode\np5\n(Vb\np6\nVlatin1\np7\ntp8\nRp9\ntp10\nRp11\n(I1\n(I2\nI2\ntp12\n"
      "cnumpy\ndtype\np13\n(Vu1\np14\nI00\nI01\ntp15\nRp16\n(I3\nV|\np17\nNNNI-1\nI-1\nI0\ntp18\n"
      "bI00\ng5\n(V\\u0000\x01\x02\xff\np19\ng7\ntp20\nRp21\ntp22\nbs.");
  const Pickle pickle(bytes_of(three), "n");
  const Pickle::Array array = pickle.array("x");
  EXPECT_EQ(array.rows, 2);
  EXPECT_EQ(array.columns, 2);
  EXPECT_THAT(array.values, ElementsAre(0, 1, 2, 255));
}

TEST_F(Pickles, CallNothing) {
  EXPECT_THAT(refused("cos\nsystem\n(S'true'\ntR."),
              HasSubstr("found a call of 'os system', which is not done"));
}

TEST_F(Pickles, ThatAreWrongSayWhere) {
  EXPECT_THAT(refused(""), HasSubstr("name: at offset 0 expected 1 more bytes, found 0"));
  EXPECT_THAT(refused("\x80\x04}."), HasSubstr("expected pickle protocol 0 to 2, found 4"));
  EXPECT_THAT(refused("]."), HasSubstr("expected a dictionary"));
  EXPECT_THAT(refused("}(."), HasSubstr("at offset 2 expected a value on the stack"));
  EXPECT_THAT(refused("}h\x05."), HasSubstr("a value that was stored before"));
  EXPECT_THAT(refused("}\x95."), HasSubstr("at offset 1 expected an opcode"));
  EXPECT_THAT(refused("T\xff\xff\xff\x7f"), HasSubstr("expected 2147483647 more bytes, found 0"));
  const std::string small =
      "}U\x01"
      "aK\x01s.";
  const Pickle pickle(bytes_of(small), "name");
  EXPECT_THAT(refusal([&] { pickle.array("data"); }),
              HasSubstr("expected a NumPy array under the key 'data', found no such key"));
  EXPECT_THAT(refusal([&] { pickle.numbers("a"); }), HasSubstr("found something else"));
}

}  // namespace
}  // namespace syrtos::data
