#include "syrtos/train/checkpoint/checkpoint.h"

#include <gmock/gmock.h>

#include <cstring>

#include "syrtos/base/crc32.h"
#include "syrtos/train/checkpoint/snapshot.h"
#include "tests/support/mutator.h"
#include "tests/support/temporary.h"

namespace syrtos::train {
namespace {

using testing::HasSubstr;

class Checkpoints : public TemporaryDirectory {
 protected:
  std::filesystem::path save() {
    auto file = directory_ / "a.ckpt";
    CheckpointWriter writer(file, {{"step", 7}}, {{"first", {2, 3}}, {"second", {4}}});
    writer.write(Tensor::from({2, 3}, {1, 2, 3, 4, 5, 6}));
    writer.write(Tensor::from({4}, {-1, 0, 1e-30F, 1e30F}));
    writer.finish();
    return file;
  }

  /// A file with any header, all checksums right.
  std::filesystem::path forge(const std::string& header, const std::string& data) {
    std::string bytes = "SYRTOSCK";
    const auto put = [&](auto value) {
      bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    };
    put(uint32_t{2});
    put(crc32(0, header.data(), header.size()));
    put(uint64_t{header.size()});
    put(uint64_t{data.size()});
    bytes += header + data;
    put(crc32(0, data.data(), data.size()));
    return write("forged.ckpt", bytes);
  }
};

TEST_F(Checkpoints, AreReadBack) {
  CheckpointReader reader(save());
  EXPECT_EQ(reader.meta()["step"], 7);
  ASSERT_EQ(reader.tensors().size(), 2U);
  EXPECT_EQ(reader.read(*reader.find("first")).to_vector(), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(reader.read(*reader.find("second")).to_vector(),
            (std::vector<float>{-1, 0, 1e-30F, 1e30F}));
  EXPECT_EQ(reader.find("third"), nullptr);
}

TEST_F(Checkpoints, LeaveNothingBehindWhenTheyAreNotFinished) {
  {
    CheckpointWriter writer(directory_ / "b.ckpt", {}, {{"first", {2}}});
    writer.write(Tensor::from({2}, {1, 2}));
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
}

TEST_F(Checkpoints, CutAnywhereAreRefused) {
  const std::string whole = read(save());
  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_THROW(CheckpointReader(write("cut.ckpt", whole.substr(0, length))), RequestError)
        << length;
  }
  EXPECT_THROW(CheckpointReader(write("long.ckpt", whole + "x")), RequestError);
}

TEST_F(Checkpoints, WithAnyBitChangedAreRefused) {
  const std::string whole = read(save());
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const int bit : {0, 3, 7}) {
      std::string changed = whole;
      changed[at] = static_cast<char>(changed[at] ^ (1 << bit));
      EXPECT_THROW(CheckpointReader(write("changed.ckpt", changed)), RequestError) << at;
    }
  }
}

TEST_F(Checkpoints, SayWhereTheyAreDamaged) {
  std::string whole = read(save());
  EXPECT_THAT(refusal([&] { CheckpointReader(write("x", "SYRTOSCK")); }), HasSubstr("found 8"));
  EXPECT_THAT(refusal([&] { CheckpointReader(write("x", std::string(100, 'x'))); }),
              HasSubstr("not a checkpoint"));
  whole[whole.size() - 10] = 'x';
  EXPECT_THAT(refusal([&] { CheckpointReader(write("x", whole)); }),
              HasSubstr("expected the data's checksum"));
  EXPECT_THAT(refusal([&] { CheckpointReader(directory_ / "none"); }), HasSubstr("cannot read"));
  EXPECT_THROW(CheckpointReader{directory_}, RequestError);
}

TEST_F(Checkpoints, WithAHostileHeaderAreRefusedWithoutTakingMemory) {
  const std::string data(16, 'x');
  for (const char* header : {
           "",
           "[]",
           "{\"meta\":{}}",
           "{\"meta\":1,\"tensors\":[]}",
           "{\"meta\":{},\"tensors\":[]}",
           "{\"meta\":{},\"tensors\":[1]}",
           R"({"meta":{},"tensors":[{"name":"a","shape":[4],"offset":-4}]})",
           R"({"meta":{},"tensors":[{"name":"a","shape":[4],"offset":4}]})",
           R"({"meta":{},"tensors":[{"name":"a","shape":[5],"offset":0}]})",
           R"({"meta":{},"tensors":[{"name":"a","shape":[3],"offset":0}]})",
           R"({"meta":{},"tensors":[{"name":"a","shape":[-4],"offset":0}]})",
           R"({"meta":{},"tensors":[{"name":"a","shape":[0,4],"offset":0}]})",
           R"({"meta":{},"tensors":[{"name":"a","shape":[1.5],"offset":0}]})",
           R"({"meta":{},"tensors":[{"name":"a","shape":[1,1,1,1,1,1,4],"offset":0}]})",
           R"({"meta":{},"tensors":[{"name":"a","shape":[4611686018427387904,4],"offset":0}]})",
           R"({"meta":{},"tensors":[{"name":"a","shape":[2],"offset":0},
                                    {"name":"a","shape":[2],"offset":8}]})",
       }) {
    EXPECT_THROW(CheckpointReader{forge(header, data)}, RequestError) << header;
  }
  EXPECT_NO_THROW(CheckpointReader{
      forge(R"({"meta":{},"tensors":[{"name":"a","shape":[4],"offset":0}]})", data)});
}

TEST_F(Checkpoints, WhoseHeaderClaimsMoreThanTheFileAreRefused) {
  std::string whole = read(save());
  const uint64_t huge = ~uint64_t{0} - 8;
  std::memcpy(whole.data() + 16, &huge, 8);
  EXPECT_THAT(refusal([&] { CheckpointReader(write("x", whole)); }), HasSubstr("offset 16"));
}

TEST_F(Checkpoints, WhoseHeaderIsLargerThanAnyAreRefusedBeforeItIsRead) {
  const std::string header(((size_t{64} << 20) + 1), ' ');
  EXPECT_THAT(refusal([&] { CheckpointReader(forge(header, "")); }),
              HasSubstr("at offset 16 expected a header of at most 67108864 bytes"));
}

/// Damage with the checksums put right again, so that it gets further than they do.
TEST_F(Checkpoints, DamagedAtRandomAreReadOrRefused) {
  const std::string header =
      R"({"meta":{"network":"lenet5","data":"mnist","precision":"f32","seed":1,"random_samples":4,"image":[1,28,28],"label_column":"",)"
      R"("classes":10,"class_names":["a","b"],"mean":[1.5],"deviation":[2],"fit":"exact","step":3,"updates":3,"unmeasured":false,"epoch":1,)"
      R"("used":16,"loss_sum":1.5,"score_sum":3,"samples":16,"best":null,"waited":0)"
      R"(},"tensors":[{"name":"parameters/a","shape":[2,3],"offset":0},)"
      R"({"name":"states/b","shape":[4],"offset":24}]})";
  const std::string data(40, 'x');
  const auto load = [&](const std::string& tried) {
    std::filesystem::remove(directory_ / "forged.ckpt");
    CheckpointReader reader(forge(tried, data));
    for (const CheckpointTensor& tensor : reader.tensors()) reader.read(tensor);
    describe(reader);
    graph::Parameters none;
    RunTensors nothing(none, {});
    load_snapshot(reader, nothing);
  };
  EXPECT_NO_THROW(load(header));
  int refused = 0;
  constexpr uint32_t kRounds = 3000;
  for (uint32_t round = 0; round < kRounds; ++round) {
    Mutator mutator(20, round);
    try {
      load(mutator.damage(header, header));
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, kRounds / 10);
  EXPECT_LT(refused, kRounds);
}

TEST(Crc32, IsTheUsualOne) {
  const std::string text = "123456789";
  EXPECT_EQ(crc32(0, text.data(), text.size()), 0xCBF43926U);
  EXPECT_EQ(crc32(crc32(0, text.data(), 4), text.data() + 4, 5), 0xCBF43926U);
  EXPECT_EQ(crc32(0, text.data(), 0), 0U);
}

}  // namespace
}  // namespace syrtos::train
