#include "syrtos/weights/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tests/support/mutator.h"
#include "tests/support/temporary.h"

namespace syrtos::weights {
namespace {

using testing::HasSubstr;

class Safetensors : public TemporaryDirectory {
 protected:
  /// A file as the format's description says, made by hand.
  std::filesystem::path make(const std::string& header, const std::string& data) const {
    const uint64_t length = header.size();
    std::string bytes(8, '\0');
    std::memcpy(bytes.data(), &length, 8);
    return write("made.safetensors", bytes + header + data);
  }
  std::string refused(const std::string& header, const std::string& data = "") const {
    const auto file = make(header, data);
    return refusal([&] { const SafetensorsFile opened(file); });
  }
};

TEST_F(Safetensors, GivesEveryFloatTypeAsF32) {
  const double d = -2.5;
  const float f = 0.75F;
  std::string data(8, '\0');
  std::memcpy(data.data(), &d, 8);
  data += std::string(reinterpret_cast<const char*>(&f), 4);
  data += std::string("\x00\x3e\x00\x04", 4);  // 1.5 and the smallest normal number, f16
  data += std::string("\x80\xbf", 2);          // -1, bf16
  data += std::string(8, '\x01');              // an integer
  SafetensorsFile file(make(R"({"d":{"dtype":"F64","shape":[1],"data_offsets":[0,8]},)"
                            R"("f":{"dtype":"F32","shape":[],"data_offsets":[8,12]},)"
                            R"("h":{"dtype":"F16","shape":[2],"data_offsets":[12,16]},)"
                            R"("b":{"dtype":"BF16","shape":[1,1],"data_offsets":[16,18]},)"
                            R"("n":{"dtype":"I64","shape":[1],"data_offsets":[18,26]},)"
                            R"("__metadata__":{"format":"pt"}})",
                            data));
  std::map<std::string, std::vector<float>> read;
  for (const Entry& entry : file.entries()) read[entry.name] = file.read(entry).to_vector();
  EXPECT_EQ(read.size(), 4U);
  EXPECT_EQ(read["d"], std::vector<float>{-2.5F});
  EXPECT_EQ(read["f"], std::vector<float>{0.75F});
  EXPECT_EQ(read["h"], (std::vector<float>{1.5F, 1.0F / 16384}));
  EXPECT_EQ(read["b"], std::vector<float>{-1});
  EXPECT_EQ(file.metadata().at("format"), "pt");
}

TEST_F(Safetensors, AreReadAsTheyWereWritten) {
  const auto path = directory_ / "written.safetensors";
  const Tensor first = Tensor::from({2, 2}, {1, 2, 3, 4});
  const Tensor second = Tensor::from({3}, {-1, 0, 1e30F});
  SafetensorsWriter writer(path, {{"layer.weight", {2, 2}}, {"layer.bias", {3}}}, {{"by", "us"}});
  EXPECT_FALSE(std::filesystem::exists(path));
  writer.write(first);
  writer.write(second);
  writer.finish();
  SafetensorsFile file(path);
  ASSERT_EQ(file.entries().size(), 2U);
  for (const Entry& entry : file.entries()) {
    const Tensor& expected = entry.name == "layer.weight" ? first : second;
    EXPECT_EQ(entry.shape, expected.shape());
    EXPECT_EQ(file.read(entry).to_vector(), expected.to_vector());
  }
  EXPECT_EQ(file.metadata().at("by"), "us");
}

TEST_F(Safetensors, AreRefusedInWords) {
  EXPECT_THAT(refusal([&] { const SafetensorsFile f(directory_ / "none.safetensors"); }),
              HasSubstr("expected a file of weights, found"));
  const auto empty = write("empty.safetensors", "");
  EXPECT_THAT(refusal([&] { const SafetensorsFile f(empty); }), HasSubstr("truncated"));
  const auto long_header = write("long.safetensors", std::string(8, '\xff'));
  EXPECT_THAT(refusal([&] { const SafetensorsFile f(long_header); }), HasSubstr("truncated"));
  EXPECT_THAT(refused("not json"), HasSubstr("expected a header in JSON"));
  EXPECT_THAT(refused(R"({"w":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})", "short"),
              HasSubstr("truncated or damaged"));
  EXPECT_THAT(refused(R"({"w":{"dtype":"F32","shape":[4294967296,4294967296],)"
                      R"("data_offsets":[0,0]}})"),
              HasSubstr("out of range"));
  EXPECT_THAT(refused(R"({"w":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", "1234"),
              HasSubstr("out of range"));
  EXPECT_THAT(refused(R"({"w":{"dtype":"F4","shape":[1],"data_offsets":[0,4]}})", "1234"),
              HasSubstr("expected an element type"));
  EXPECT_THAT(refused(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[8,4]}})", "12345678"),
              HasSubstr("truncated or damaged"));
  EXPECT_THAT(refused(R"({"w":{"dtype":"F32","shape":[1]}})"), HasSubstr("two data_offsets"));
}

TEST_F(Safetensors, DamagedDoNoHarm) {
  const std::string header = R"({"w":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}})";
  const std::string whole = read(make(header, std::string(16, '\x3f')));
  for (uint32_t round = 0; round < 3000; ++round) {
    Mutator mutator(18, round);
    const auto file = write("damaged.safetensors", mutator.damage(whole, whole));
    try {
      SafetensorsFile opened(file);
      for (const Entry& entry : opened.entries()) opened.read(entry);
    } catch (const Error&) {
      // Refused: that is right.
    }
  }
}

}  // namespace
}  // namespace syrtos::weights
