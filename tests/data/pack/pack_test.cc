#include "syrtos/data/pack/pack_files.h"

#include <gmock/gmock.h>

#include <cstring>
#include <optional>
#include <thread>

#include "syrtos/base/crc32.h"
#include "syrtos/base/philox.h"
#include "syrtos/data/files/mapped_file.h"
#include "syrtos/data/pack/pack_format.h"
#include "syrtos/data/sets/picture_files.h"
#include "syrtos/data/sets/table.h"
#include "tests/data/file_limit.h"
#include "tests/support/temporary.h"

namespace syrtos::data {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

uint32_t random_word(uint32_t seed, uint32_t index) {
  return philox({seed, 7}, {index, 0, 0, 0})[0];
}

/// Samples of random bytes; every third has label 2, and so on.
std::unique_ptr<Table> table(int64_t size, DType dtype = DType::u8, int64_t height = 5) {
  DatasetInfo info{.name = "toys", .dtype = dtype, .channels = 3, .height = height, .width = 7};
  info.classes = {"ball", "car", "doll"};
  std::vector<uint8_t> values(static_cast<size_t>(size * 3 * height * 7) * size_of(dtype));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<uint8_t>(random_word(1, static_cast<uint32_t>(i)));
  }
  std::vector<int32_t> labels;
  for (int64_t i = 0; i < size; ++i) labels.push_back(static_cast<int32_t>(i % 3));
  return std::make_unique<Table>(info, values, labels);
}

/// Not a picture format, but like one: height, width and the values of one channel.
void decode_plain(std::span<const uint8_t> bytes, const std::string& name, int channels,
                  std::vector<uint8_t>& values, int64_t& height, int64_t& width) {
  if (bytes.size() < 2 || bytes.size() != size_t{2} + bytes[0] * bytes[1]) {
    fail_request("{}: not a picture", name);
  }
  height = bytes[0];
  width = bytes[1];
  values.clear();
  for (const uint8_t byte : bytes.subspan(2)) values.insert(values.end(), channels, byte);
}

std::vector<uint8_t> picture(uint32_t index, uint32_t most = 200) {
  std::vector<uint8_t> bytes{static_cast<uint8_t>(random_word(2, index) % most + 1),
                             static_cast<uint8_t>(random_word(3, index) % most + 1)};
  bytes.resize(size_t{2} + bytes[0] * bytes[1], static_cast<uint8_t>(index));
  return bytes;
}

class Packs : public TemporaryDirectory {
 protected:
  fs::path pack_table(int64_t size, DType dtype = DType::u8, const char* name = "a.pack") {
    write_pack(*table(size, dtype), directory_ / name);
    return directory_ / name;
  }
  fs::path pack_pictures(uint32_t size, uint32_t most = 200) {
    DatasetInfo info{.name = "photos", .channels = 3};
    info.classes = {"cat", "dog"};
    PackWriter writer(directory_ / "p.pack", info, PackPayload::pictures);
    for (uint32_t i = 0; i < size; ++i)
      writer.add(picture(i, most), Target{.label = static_cast<int32_t>(i % 2)});
    writer.finish();
    return directory_ / "p.pack";
  }
  static void expect_same(const Dataset& found, const Dataset& expected) {
    ASSERT_EQ(found.size(), expected.size());
    EXPECT_EQ(found.info().name, expected.info().name);
    EXPECT_EQ(found.info().classes, expected.info().classes);
    EXPECT_EQ(found.info().shape(), expected.info().shape());
    EXPECT_EQ(found.info().dtype, expected.info().dtype);
    Scratch scratch, other;
    for (int64_t i = 0; i < found.size(); ++i) {
      const Sample a = found.read(i, scratch);
      const Sample b = expected.read(i, other);
      ASSERT_EQ(a.target.label, b.target.label);
      ASSERT_EQ(a.elements(), b.elements());
      ASSERT_EQ(
          std::memcmp(a.values, b.values, static_cast<size_t>(a.elements()) * size_of(a.dtype)), 0);
    }
  }
  /// Opens a file and reads all of it; what it says when it is refused.
  static std::string use(const fs::path& file) {
    try {
      const auto set = open_pack(file, decode_plain);
      Scratch scratch;
      for (int64_t i = 0; i < set->size(); ++i) set->read(i, scratch);
      return "was accepted";
    } catch (const Error& error) {
      return error.what();
    }
  }
  /// Puts all checksums but those of blocks right again.
  static std::string signed_again(std::string bytes) {
    PackTrailer trailer{};
    const size_t at = bytes.size() - sizeof trailer;
    std::memcpy(&trailer, bytes.data() + at, sizeof trailer);
    if (trailer.directory <= at) {
      trailer.directory_crc = crc32(0, bytes.data() + trailer.directory, at - trailer.directory);
    }
    trailer.crc = crc32(0, &trailer, kPackTrailerCrc);
    std::memcpy(bytes.data() + at, &trailer, sizeof trailer);
    return bytes;
  }
};

TEST_F(Packs, AreReadBackBitForBit) {
  for (const DType dtype : {DType::u8, DType::f32}) {
    for (const int64_t size : {1, 2, 33}) {
      expect_same(*open_pack(pack_table(size, dtype)), *table(size, dtype));
    }
  }
}

TEST_F(Packs, OfSeveralBlocksAreReadBackAndAligned) {
  // 15 kB each: 69 to a block, not a multiple of 64 bytes.
  const auto set = table(200, DType::u8, 731);
  write_pack(*set, directory_ / "a.pack");
  EXPECT_GT(fs::file_size(directory_ / "a.pack"), 2 * kPackBlockBytes);
  const auto pack = open_pack(directory_ / "a.pack");
  expect_same(*pack, *set);
  Scratch scratch;
  int aligned = 0;
  for (int64_t i = 0; i < 200; ++i) {
    aligned += reinterpret_cast<uintptr_t>(pack->read(i, scratch).values) % 64 == 0 ? 1 : 0;
  }
  EXPECT_GE(aligned, 3);
  // In place: nothing was copied.
  EXPECT_TRUE(scratch.values.empty() && scratch.file.empty());
}

TEST_F(Packs, WithSamplesLargerThanABlockAreReadBack) {
  const auto set = table(3, DType::u8, 60'000);
  write_pack(*set, directory_ / "a.pack");
  expect_same(*open_pack(directory_ / "a.pack"), *set);
}

TEST_F(Packs, OfPicturesHoldTheirFilesUnchanged) {
  const auto pack = open_pack(pack_pictures(300), decode_plain);
  EXPECT_GT(fs::file_size(directory_ / "p.pack"), 2 * kPackBlockBytes);
  EXPECT_FALSE(pack->info().same_size());
  Scratch scratch;
  for (uint32_t i = 0; i < 300; ++i) {
    const auto bytes = pack->encoded(i, scratch);
    const auto expected = picture(i);
    ASSERT_TRUE(std::equal(bytes.begin(), bytes.end(), expected.begin(), expected.end()));
    const Sample sample = pack->read(i, scratch);
    ASSERT_EQ(sample.height, expected[0]);
    ASSERT_EQ(sample.width, expected[1]);
    ASSERT_EQ(sample.bytes()[sample.elements() - 1], static_cast<uint8_t>(i));
    ASSERT_EQ(sample.target.label, static_cast<int32_t>(i % 2));
  }
  // Packed once more it is the same file.
  write_pack(*pack, directory_ / "again.pack");
  EXPECT_EQ(read(directory_ / "again.pack"), read(directory_ / "p.pack"));
}

TEST_F(Packs, ReportProgress) {
  std::vector<int64_t> done;
  write_pack(*table(600), directory_ / "a.pack",
             [&](int64_t i, int64_t of) { done.push_back(i * of); });
  EXPECT_EQ(done, (std::vector<int64_t>{256 * 600, 512 * 600, 600 * 600}));
}

TEST_F(Packs, LeaveNothingBehindWhenTheyAreNotFinished) {
  {
    PackWriter writer(directory_ / "b.pack", table(1)->info(), PackPayload::raw);
    Scratch scratch;
    writer.add(table(1)->read(0, scratch));
  }
  EXPECT_TRUE(fs::is_empty(directory_));
  EXPECT_THROW(write_pack(*table(0), directory_ / "b.pack"), RequestError);
  EXPECT_TRUE(fs::is_empty(directory_));
}

TEST_F(Packs, OnAFullDiskSaySoAndLeaveWhatWasThere) {
  const auto file = pack_table(3);
  const std::string before = read(file);
  const auto large = table(200, DType::u8, 731);
  {
    const FileLimit full(1 << 20);
    EXPECT_THAT(refusal<RunError>([&] { write_pack(*large, file); }), HasSubstr("cannot write"));
  }
  EXPECT_EQ(read(file), before);
  EXPECT_EQ(std::distance(fs::directory_iterator(directory_), {}), 1);
}

TEST_F(Packs, CutAnywhereAreRefused) {
  for (const auto& file : {pack_table(3), pack_pictures(2, 10)}) {
    const std::string whole = read(file);
    for (size_t length = 0; length < whole.size(); ++length) {
      EXPECT_THROW(open_pack(write("cut.pack", whole.substr(0, length)), decode_plain),
                   RequestError)
          << length;
    }
    EXPECT_THROW(open_pack(write("long.pack", whole + "x"), decode_plain), RequestError);
  }
}

TEST_F(Packs, WithAnyBitChangedAreRefused) {
  const std::string whole = read(pack_table(3));
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const int bit : {0, 3, 7}) {
      std::string changed = whole;
      changed[at] = static_cast<char>(changed[at] ^ (1 << bit));
      ASSERT_NE(use(write("changed.pack", changed)), "was accepted") << at;
    }
  }
}

TEST_F(Packs, SayWhereTheyAreDamaged) {
  std::string whole = read(pack_table(3));
  const auto changed = [&](size_t at, char byte) {
    std::string bytes = whole;
    bytes[at] = byte;
    return use(write("x.pack", bytes));
  };
  EXPECT_THAT(use(write("x.pack", "")), HasSubstr("expected at least 128 bytes, found 0"));
  EXPECT_THAT(use(write("x.pack", std::string(1000, '\0'))), HasSubstr("not a pack"));
  EXPECT_THAT(use(directory_ / "none.pack"), HasSubstr("cannot open"));
  EXPECT_THAT(changed(0, 'x'), HasSubstr("\"SYRTOSPK\" at offset 0"));
  EXPECT_THAT(changed(8, 3), HasSubstr("at offset 8 expected version 1 or 2, found 3"));
  EXPECT_THAT(changed(20, 2), HasSubstr("at offset 12 expected zeros"));
  EXPECT_THAT(changed(whole.size() - 1, 'x'), HasSubstr("truncated or damaged"));
  EXPECT_THAT(changed(whole.size() - 60, 'x'), HasSubstr("the trailer's checksum"));
  EXPECT_THAT(changed(whole.size() - 70, 'x'), HasSubstr("the directory's checksum"));
  EXPECT_THAT(changed(70, 'x'),
              HasSubstr("in block 0 at offset 64 (320 bytes) expected the checksum"));
}

TEST_F(Packs, WithADamagedBlockGiveTheSamplesOfTheOthers) {
  write_pack(*table(200, DType::u8, 731), directory_ / "a.pack");
  std::string bytes = read(directory_ / "a.pack");
  bytes[100] = static_cast<char>(bytes[100] ^ 1);
  const auto pack = open_pack(write("a.pack", bytes));
  Scratch scratch;
  EXPECT_NO_THROW(pack->read(199, scratch));
  for (int round = 0; round < 2; ++round) {
    EXPECT_THAT(refusal<RunError>([&] { pack->read(5, scratch); }), HasSubstr("block 0"));
  }
}

TEST_F(Packs, CutWhileTheyAreReadSaySoWithAndWithoutGuard) {
  for (const bool guarded : {true, false}) {
    std::optional<CutFileGuard> guard;
    if (guarded) guard.emplace();
    for (const uint64_t left : {0, 100, 1'200'000}) {
      write_pack(*table(200, DType::u8, 731), directory_ / "a.pack");
      const auto pack = open_pack(directory_ / "a.pack");
      const auto size = fs::file_size(directory_ / "a.pack");
      Scratch scratch;
      pack->read(0, scratch);
      fs::resize_file(directory_ / "a.pack", left);
      for (const int64_t index : {0, 199}) {
        const auto use = [&] {
          pack->read(index, scratch);
          pack->check();
        };
        EXPECT_THAT(refusal<RunError>(use),
                    HasSubstr(fmt::format("expected {} bytes, found {}: it was cut", size, left)));
      }
      EXPECT_THROW(pack->check(), RunError);
    }
  }
}

TEST_F(Packs, OfPicturesCutWhileTheyAreDecodedSaySo) {
  const CutFileGuard guard;
  const auto file = pack_pictures(3);
  bool cut = false;
  const auto pack = open_pack(file, [&](auto bytes, const auto&... rest) {
    if (cut) fs::resize_file(file, 64);
    std::vector<uint8_t> values;
    int64_t height = 0, width = 0;
    decode_plain(bytes, "inner", 3, values, height, width);
    (void)sizeof...(rest);
  });
  Scratch scratch;
  EXPECT_NO_THROW(pack->read(1, scratch));
  cut = true;
  EXPECT_THAT(refusal<RunError>([&] { pack->read(1, scratch); }), HasSubstr("it was cut"));
}

TEST_F(Packs, MayBeReadByThreadsAtOnce) {
  const auto set = table(400, DType::u8, 731);
  write_pack(*set, directory_ / "a.pack");
  const auto pack = open_pack(directory_ / "a.pack");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) threads.emplace_back([&] { expect_same(*pack, *set); });
  for (auto& thread : threads) thread.join();
}

TEST_F(Packs, WithAHostileDirectoryAreRefused) {
  const std::string whole = read(pack_table(3));
  const size_t end = whole.size() - 64;
  // D, samples, blocks and bytes of meta, one after the other.
  for (const size_t at : {end, end + 8, end + 16, end + 24}) {
    for (const uint64_t value : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 31, uint64_t{1} << 62,
                                 ~uint64_t{0}, ~uint64_t{63}, uint64_t{whole.size()}}) {
      std::string bytes = whole;
      if (std::memcmp(bytes.data() + at, &value, 8) == 0) continue;  // there is one block
      std::memcpy(bytes.data() + at, &value, 8);
      EXPECT_THROW(open_pack(write("x.pack", signed_again(bytes)), decode_plain), RequestError)
          << at << " " << value;
    }
  }
}

TEST_F(Packs, WithHostileMetaAreRefused) {
  const std::string whole = read(pack_table(3));
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string bytes = whole;
    const size_t at = bytes.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    bytes.replace(at, from.size(), to);
    uint64_t meta = 0;
    std::memcpy(&meta, bytes.data() + bytes.size() - 40, 8);
    meta += to.size() - from.size();
    std::memcpy(bytes.data() + bytes.size() - 40, &meta, 8);
    return use(write("x.pack", signed_again(bytes)));
  };
  EXPECT_EQ(with("\"toys\"", "\"\""), "was accepted");
  EXPECT_THAT(with("\"toys\"", "7"), HasSubstr("'name'"));
  EXPECT_THAT(with("{\"", "[\""), HasSubstr("JSON"));
  EXPECT_THAT(with("\"u8\"", "\"u9\""), HasSubstr("'dtype'"));
  EXPECT_THAT(with("\"u8\"", "\"f32\""), HasSubstr("expected 3 samples of 420 bytes"));
  EXPECT_THAT(with("\"height\":5", "\"height\":0"), HasSubstr("'height'"));
  EXPECT_THAT(with("\"height\":5", "\"height\":-5"), HasSubstr("'height'"));
  EXPECT_THAT(with("\"height\":5", "\"height\":2147483647"), HasSubstr("'height'"));
  EXPECT_THAT(with("\"height\":5", "\"height\":18446744073709551615"), HasSubstr("'height'"));
  EXPECT_THAT(with("\"height\":5", "\"height\":6"), HasSubstr("expected 3 samples of 126 bytes"));
  EXPECT_THAT(with("\"channels\":3", "\"channels\":0"), HasSubstr("'channels'"));
  EXPECT_THAT(with("\"channels\":3", "\"channels\":1.5"), HasSubstr("'channels'"));
  EXPECT_THAT(with(",\"doll\"", ""), HasSubstr("expected a label below 2, found 2"));
  EXPECT_THAT(with("[\"ball\"", "[0"), HasSubstr("'classes'"));
  EXPECT_THAT(with("\"toys\"", std::string(100'000, '[')), HasSubstr("JSON"));
}

/// Changes that keep the checksums right, so that they reach what is behind them.
TEST_F(Packs, ChangedAtRandomNeverCrash) {
  for (const auto& file : {pack_table(9), pack_pictures(5, 10)}) {
    const std::string whole = read(file);
    uint64_t directory = 0;
    std::memcpy(&directory, whole.data() + whole.size() - 64, 8);
    int refused = 0;
    for (uint32_t round = 0; round < 3000; ++round) {
      std::string bytes = whole;
      const auto random = philox({round, 11}, {});
      for (uint32_t k = 0; k <= random[0] % 3; ++k) {
        const auto change = philox({round, 12}, {k, 0, 0, 0});
        const size_t at = directory + change[0] % (bytes.size() - directory);
        const size_t length = std::min<size_t>(size_t{1} << (change[1] % 4), bytes.size() - at);
        const uint64_t value = change[2] % 4 == 0 ? ~uint64_t{0} : change[3] >> (change[2] % 31);
        std::memcpy(bytes.data() + at, &value, length);
      }
      if (random[1] % 4 != 0) bytes = signed_again(bytes);
      refused += use(write("fuzz.pack", bytes)) != "was accepted" ? 1 : 0;
    }
    EXPECT_GT(refused, 1500);
  }
}

TEST_F(Packs, AreRecognised) {
  EXPECT_TRUE(is_pack(pack_table(1)));
  EXPECT_FALSE(is_pack(write("b.pack", "SYRTOS")));
  EXPECT_FALSE(is_pack(write("c.pack", "SYRTOSCKxxxxxxxxxxxx")));
  EXPECT_FALSE(is_pack(directory_));
  EXPECT_FALSE(is_pack(directory_ / "none"));
}

TEST_F(Packs, OfADirectoryAreOpenedAndShardsInterleaved) {
  EXPECT_FALSE(has_packs(directory_));
  EXPECT_THAT(refusal([&] { open_packs(directory_); }), HasSubstr("found no train.pack"));
  pack_table(4, DType::u8, "train-01.pack");
  pack_table(2, DType::u8, "train-00.pack");
  EXPECT_FALSE(has_packs(directory_));
  EXPECT_THAT(refusal([&] { open_packs(directory_); }), HasSubstr("found no test.pack"));
  pack_table(3, DType::u8, "test.pack");
  EXPECT_TRUE(has_packs(directory_));
  const Splits splits = open_packs(directory_);
  EXPECT_EQ(splits.train->size(), 6);
  EXPECT_EQ(splits.test->size(), 3);
  std::vector<int32_t> labels;
  for (int64_t i = 0; i < 6; ++i) labels.push_back(splits.train->label(i));
  EXPECT_EQ(labels, (std::vector<int32_t>{0, 0, 1, 1, 2, 0}));
  pack_table(4, DType::f32, "train-02.pack");
  const std::string text = refusal([&] { open_packs(directory_); });
  EXPECT_THAT(text, HasSubstr("train-00.pack"));
  EXPECT_THAT(text, HasSubstr("train-02.pack"));
}

TEST_F(Packs, KeepValuesThatSamplesHaveInsteadOfClasses) {
  DatasetInfo info{.name = "prices", .dtype = DType::u8, .channels = 1, .height = 2, .width = 1};
  info.targets = {.values = 3, .shape = {3}, .names = {"a", "b", "c"}, .binary = false};
  const Table from(info, {1, 2, 3, 4, 5, 6}, Targets({1.5F, 2, 3, -4, 5, 6, 7, 8, 9e9F}, 3));
  write_pack(from, directory_ / "values.pack");
  const auto pack = open_pack(directory_ / "values.pack");
  EXPECT_EQ(pack->info().targets, info.targets);
  EXPECT_TRUE(pack->info().classes.empty());
  ASSERT_EQ(pack->size(), 3);
  EXPECT_THAT(pack->target(2).values, testing::ElementsAre(7, 8, 9e9F));
  Scratch scratch;
  EXPECT_THAT(pack->read(1, scratch).target.values, testing::ElementsAre(-4, 5, 6));
  EXPECT_EQ(pack->read(1, scratch).bytes()[1], 4);
  pack_table(4, DType::u8, "train.pack");
  std::filesystem::rename(directory_ / "values.pack", directory_ / "test.pack");
  EXPECT_THAT(refusal([&] { open_packs(directory_); }), HasSubstr("do not belong together"));
}

TEST_F(Packs, ForTrainingAndTestMustBeOfOneKind) {
  pack_table(4, DType::u8, "train.pack");
  pack_table(4, DType::f32, "test.pack");
  const std::string text = refusal([&] { open_packs(directory_); });
  EXPECT_THAT(text, HasSubstr("do not belong together: expected samples u8"));
  EXPECT_THAT(text, HasSubstr("found f32"));
}

TEST_F(Packs, OfPngFilesAreDecodedAndDamageIsToldWithItsPlace) {
  Picture expected{.height = 4, .width = 5, .channels = 3, .pixels = {}};
  for (uint8_t i = 0; i < 60; ++i) expected.pixels.push_back(i);
  write_png(directory_ / "a.png", expected);
  const std::string png = read(directory_ / "a.png");
  const std::vector<uint8_t> bytes(png.begin(), png.end());
  DatasetInfo info{.name = "photos", .channels = 3};
  info.classes = {"cat"};
  PackWriter writer(directory_ / "p.pack", info, PackPayload::pictures);
  writer.add(bytes, Target{});
  writer.add(std::span(bytes).first(40), Target{});
  writer.finish();
  const auto pack = open_pack(directory_ / "p.pack");
  Scratch scratch;
  const Sample sample = pack->read(0, scratch);
  ASSERT_EQ(sample.elements(), 60);
  EXPECT_TRUE(std::equal(expected.pixels.begin(), expected.pixels.end(), sample.bytes()));
  EXPECT_THAT(refusal<RunError>([&] { pack->read(1, scratch); }),
              HasSubstr(fmt::format("p.pack, sample 1 at offset {}", 64 + bytes.size())));
}

TEST_F(Packs, KeepTheNamesOfColumns) {
  DatasetInfo info{.name = "rows", .dtype = DType::f32, .channels = 1, .height = 1, .width = 2};
  info.classes = {"a"};
  info.columns = {"age", "income"};
  write_pack(Table(info, std::vector<uint8_t>(8), {0}), directory_ / "rows.pack");
  EXPECT_EQ(open_pack(directory_ / "rows.pack")->info().columns, info.columns);
}

TEST_F(Packs, OfADamagedPictureAreRefusedWithItsName) {
  const Picture whole{.height = 4, .width = 5, .channels = 3, .pixels = std::vector<uint8_t>(60)};
  write_png(directory_ / "a.png", whole);
  const std::string png = read(directory_ / "a.png");
  const fs::path cut = write("cut.png", png.substr(0, png.size() - 20));
  PictureFiles files({.name = "photos", .classes = {"cat"}}, {directory_ / "a.png", cut},
                     std::vector<int32_t>{0, 0});
  EXPECT_THAT(refusal<RunError>([&] { write_pack(files, directory_ / "p.pack"); }),
              HasSubstr("cut.png"));
}

}  // namespace
}  // namespace syrtos::data
