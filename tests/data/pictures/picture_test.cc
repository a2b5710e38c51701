#include "syrtos/data/pictures/picture.h"

#include <gmock/gmock.h>

#include "tests/data/seeds.h"
#include "tests/support/temporary.h"

namespace syrtos::data {
namespace {

using namespace seeds;
using testing::ElementsAre;
using testing::HasSubstr;

class Pictures : public TemporaryDirectory {
 protected:
  static Picture decode(const std::string& text) { return decode_picture(bytes_of(text), "name"); }
  static std::string refused(const std::string& text) {
    return refusal([&] { decode(text); });
  }
  static void expect_near(const Picture& picture, const std::string& expected, int tolerance) {
    ASSERT_EQ(picture.pixels.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      ASSERT_NEAR(picture.pixels[i], static_cast<uint8_t>(expected[i]), tolerance) << i;
    }
  }
  // Changes slowly, so that JPEG loses little.
  static std::string ramp(unsigned width, unsigned height, unsigned channels) {
    std::string pixels;
    for (unsigned y = 0; y < height; ++y) {
      for (unsigned x = 0; x < width; ++x) {
        for (unsigned c = 0; c < channels; ++c) {
          pixels += static_cast<char>(40 + 4 * x + 3 * y + 20 * c);
        }
      }
    }
    return pixels;
  }
};

TEST_F(Pictures, JpegBaselineAndProgressiveInGreyAndColour) {
  for (const bool progressive : {false, true}) {
    const Picture colour = decode(jpeg(19, 13, ramp(19, 13, 3), {JCS_RGB, progressive}));
    EXPECT_EQ(colour.width, 19);
    EXPECT_EQ(colour.height, 13);
    EXPECT_EQ(colour.channels, 3);
    expect_near(colour, ramp(19, 13, 3), 6);
    const Picture grey = decode(jpeg(19, 13, ramp(19, 13, 1), {JCS_GRAYSCALE, progressive}));
    EXPECT_EQ(grey.channels, 1);
    expect_near(grey, ramp(19, 13, 1), 3);
  }
}

TEST_F(Pictures, JpegInCmykBecomesColour) {
  // libjpeg notes Adobe's marker, so that the inks are stored inverted: 255 is no ink.
  std::string inks;
  for (int i = 0; i < 64; ++i) inks += "\xff\x80\x01\xc8";
  const Picture picture = decode(jpeg(8, 8, inks, {JCS_CMYK}));
  EXPECT_EQ(picture.channels, 3);
  std::string expected;
  for (int i = 0; i < 64; ++i) {
    expected +=
        static_cast<char>(200) + std::string(1, static_cast<char>(128 * 200 / 255)) + '\x01';
  }
  expect_near(picture, expected, 4);
}

TEST_F(Pictures, ATruncatedJpegIsAnErrorWhereverItEnds) {
  for (const bool progressive : {false, true}) {
    const std::string whole = jpeg(19, 13, ramp(19, 13, 3), {JCS_RGB, progressive});
    for (size_t size = 3; size < whole.size(); ++size) {
      ASSERT_THAT(refused(whole.substr(0, size)), HasSubstr("name: expected a whole JPEG")) << size;
    }
  }
}

TEST_F(Pictures, PngOfEveryKindOfGrey) {
  // Four levels in two bits: 0 1 2 3 is 0b00011011.
  EXPECT_THAT(decode(png(4, 1, "\x1b", {PNG_COLOR_TYPE_GRAY, 2})).pixels,
              ElementsAre(0, 85, 170, 255));
  EXPECT_THAT(decode(png(4, 1, "\x50", {PNG_COLOR_TYPE_GRAY, 1})).pixels,
              ElementsAre(0, 255, 0, 255));
  EXPECT_THAT(decode(png(2, 1, "\x1f", {PNG_COLOR_TYPE_GRAY, 4})).pixels, ElementsAre(17, 255));
  EXPECT_THAT(decode(png(2, 1, "\x1f\x20", {PNG_COLOR_TYPE_GRAY, 8})).pixels, ElementsAre(31, 32));
  EXPECT_THAT(
      decode(png(2, 1, std::string("\xff\xff\x80\x00", 4), {PNG_COLOR_TYPE_GRAY, 16})).pixels,
      ElementsAre(255, 128));
  const Picture alpha = decode(png(2, 1, "\x64\x80\xc8\xff", {PNG_COLOR_TYPE_GRAY_ALPHA, 8}));
  EXPECT_THAT(alpha.pixels, ElementsAre(50, 200));
  EXPECT_EQ(alpha.channels, 1);
}

TEST_F(Pictures, PngOfEveryKindOfColour) {
  EXPECT_THAT(decode(png(2, 1, "\x01\x02\x03\x04\x05\x06")).pixels, ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(decode(png(2, 1, "\x13", {PNG_COLOR_TYPE_PALETTE, 4})).pixels,
              ElementsAre(1, 2, 3, 3, 6, 9));
  const std::string wide("\x01\x00\x02\x00\xff\xff", 6);
  EXPECT_THAT(decode(png(1, 1, wide, {PNG_COLOR_TYPE_RGB, 16})).pixels, ElementsAre(1, 2, 255));
  const Picture alpha = decode(
      png(2, 1, std::string("\x64\xc8\xff\x80\x64\xc8\xff\x00", 8), {PNG_COLOR_TYPE_RGBA, 8}));
  EXPECT_THAT(alpha.pixels, ElementsAre(50, 100, 128, 0, 0, 0));
  EXPECT_EQ(alpha.channels, 3);
}

TEST_F(Pictures, AnInterlacedPngGivesTheSame) {
  const std::string pixels = ramp(11, 9, 3);
  const Picture plain = decode(png(11, 9, pixels));
  EXPECT_EQ(plain.pixels, decode(png(11, 9, pixels, {PNG_COLOR_TYPE_RGB, 8, true})).pixels);
  expect_near(plain, pixels, 0);
}

TEST_F(Pictures, ATruncatedOrDamagedPngIsAnError) {
  const std::string whole = png(11, 9, ramp(11, 9, 3));
  for (size_t size = 8; size < whole.size(); ++size) {
    ASSERT_THAT(refused(whole.substr(0, size)), HasSubstr("name: expected a whole PNG")) << size;
  }
  std::string damaged = whole;
  damaged[whole.size() / 2] ^= 1;
  EXPECT_THAT(refused(damaged), HasSubstr("found at offset"));
}

TEST_F(Pictures, Pnm) {
  EXPECT_THAT(decode("P5 # grey\n2 1\n# levels\n255\nab").pixels, ElementsAre('a', 'b'));
  EXPECT_THAT(decode(std::string("P6 1 1 15 \x0f\x05\x00", 13)).pixels, ElementsAre(255, 85, 0));
  EXPECT_THAT(refused("P5 2 2 255\nabc"),
              HasSubstr("at offset 11 expected 4 bytes of pixels, found 3"));
  EXPECT_THAT(refused("P5 2 2 65535\nabcdefgh"),
              HasSubstr("at offset 7 expected the largest value, 1 to 255, found 65535"));
  EXPECT_THAT(refused("P6 2"), HasSubstr("expected the width"));
}

TEST_F(Pictures, ThatAreNoneSayWhatWasFound) {
  EXPECT_THAT(refused(""), HasSubstr("name: at offset 0 expected a JPEG, PNG"));
  EXPECT_THAT(refused(""), HasSubstr("found an empty file"));
  EXPECT_THAT(refused("GIF89a.."), HasSubstr("found 47 49 46 38 39 61 2e 2e"));
  EXPECT_THAT(refusal([&] { read_picture(directory_ / "gone.png"); }), HasSubstr("gone.png"));
  EXPECT_THAT(refusal([&] { read_picture(directory_); }), HasSubstr("expected a file"));
}

TEST_F(Pictures, WithAHeaderOfTooManyPixelsAreRefusedWithoutTakingMemory) {
  EXPECT_THAT(refused("P5 60000 60000 255\n"), HasSubstr("found 60000x60000"));
  std::string large = png(1, 1, "abc");
  // Width and height stand at offset 16; their checksum is made anew.
  large.replace(16, 8, big(60000, 4) + big(60000, 4));
  const auto sum = crc32(0, reinterpret_cast<const Bytef*>(large.data() + 12), 17);
  large.replace(29, 4, big(sum, 4));
  EXPECT_THAT(refused(large), HasSubstr("found 60000x60000"));
  large.replace(16, 8, big(8000, 4) + big(8000, 4));
  const auto plausible = crc32(0, reinterpret_cast<const Bytef*>(large.data() + 12), 17);
  large.replace(29, 4, big(plausible, 4));
  EXPECT_THAT(refused(large), HasSubstr("truncated: expected a PNG picture of 8000x8000"));
  std::string wide = jpeg(8, 8, ramp(8, 8, 1), {JCS_GRAYSCALE});
  const size_t frame = wide.find("\xff\xc0");
  wide.replace(frame + 5, 4, "\xff\xdc\xff\xdc");
  EXPECT_THAT(refused(wide), HasSubstr("found 65500x65500"));
  wide.replace(frame + 5, 4, "\x1f\x40\x1f\x40");
  EXPECT_THAT(refused(wide), HasSubstr("truncated: expected a JPEG picture of 8000x8000"));
}

TEST_F(Pictures, JpegOfASingleColourIsNotTakenForTruncated) {
  for (const bool progressive : {false, true}) {
    const std::string flat =
        jpeg(2048, 2048, std::string(2048 * 2048, 'x'), {JCS_GRAYSCALE, progressive});
    EXPECT_EQ(decode(flat).pixels.size(), 2048U * 2048U);
  }
}

TEST_F(Pictures, GetTheChannelsThatAreAskedForInMemoryThatIsKept) {
  std::vector<uint8_t> values;
  int64_t height = 0;
  int64_t width = 0;
  decode_into(bytes_of("P5 2 1 255\nab"), "n", 3, values, height, width);
  EXPECT_THAT(values, ElementsAre('a', 'a', 'a', 'b', 'b', 'b'));
  const uint8_t* before = values.data();
  decode_into(bytes_of("P6 1 1 255\n\x64\xc8\x32"), "n", 1, values, height, width);
  EXPECT_THAT(values, ElementsAre((299 * 100 + 587 * 200 + 114 * 50 + 500) / 1000));
  EXPECT_EQ(values.data(), before);
  EXPECT_EQ(width, 1);
}

TEST_F(Pictures, WrittenAsPngAreReadBack) {
  for (const unsigned channels : {1U, 3U}) {
    const std::string pixels = ramp(7, 5, channels);
    const Picture picture{5, 7, channels, {pixels.begin(), pixels.end()}};
    write_png(directory_ / "p.png", picture);
    EXPECT_EQ(read_picture(directory_ / "p.png").pixels, picture.pixels);
  }
  EXPECT_THROW(write_png(directory_ / "none" / "p.png", {1, 1, 1, {0}}), RunError);
}

std::vector<int> numbers(const Picture& picture) {
  return {picture.pixels.begin(), picture.pixels.end()};
}

TEST_F(Pictures, WebpWithAndWithoutAlpha) {
  const Picture plain = decode(webp(2, 1, "abcdef"));
  EXPECT_EQ(plain.channels, 3);
  EXPECT_EQ(plain.width, 2);
  EXPECT_EQ(plain.height, 1);
  EXPECT_THAT(numbers(plain), ElementsAre('a', 'b', 'c', 'd', 'e', 'f'));
  const Picture half = decode(webp(1, 1, "\xc8\x64\x32\x80"));
  ASSERT_EQ(half.pixels.size(), 3);
  EXPECT_NEAR(half.pixels[0], 100, 1) << "laid over black";
  EXPECT_NEAR(half.pixels[2], 25, 1);
  const std::string whole = webp(8, 8, ramp(8, 8, 3));
  EXPECT_THAT(refused(whole.substr(0, whole.size() - 10)),
              HasSubstr("name: expected a whole WebP"));
  EXPECT_THAT(refused("RIFF1234WAVEfmt "), HasSubstr("name: expected a WebP picture"));
}

TEST_F(Pictures, BitmapsOfEveryDepth) {
  // Rows go from the last to the first, are whole words, and blue comes first.
  const std::string rows = std::string("cba", 3) + std::string(1, 0) + "fed" + std::string(1, 0);
  const Picture colour = decode(bmp(1, 2, 24, rows));
  EXPECT_EQ(colour.height, 2);
  EXPECT_THAT(numbers(colour), ElementsAre('d', 'e', 'f', 'a', 'b', 'c'));
  EXPECT_THAT(numbers(decode(bmp(1, -2, 24, rows))), ElementsAre('a', 'b', 'c', 'd', 'e', 'f'));
  EXPECT_THAT(numbers(decode(bmp(1, 1, 32, "cbax"))), ElementsAre('a', 'b', 'c'));
  EXPECT_THAT(numbers(decode(bmp(2, 1, 16, little(0x7c00, 2) + little(0x001f, 2)))),
              ElementsAre(255, 0, 0, 0, 0, 255));
  EXPECT_THAT(numbers(decode(bmp(1, 1, 16, little(0x07e0, 2) + little(0, 2),
                                 little(0xf800, 4) + little(0x7e0, 4) + little(0x1f, 4), 3))),
              ElementsAre(0, 255, 0));
  const std::string palette =
      std::string("\x03\x02\x01\0", 4) + std::string("\x06\x05\x04\0", 4) + std::string(56, 0);
  EXPECT_THAT(numbers(decode(bmp(3, 1, 4, std::string("\x10\x10\0\0", 4), palette))),
              ElementsAre(4, 5, 6, 1, 2, 3, 4, 5, 6));
  const Picture bits =
      decode(bmp(9, 1, 1, std::string("\xa0\x80\0\0", 4), little(0, 4) + little(0xffffff, 4)));
  EXPECT_EQ(bits.channels, 1) << "black and white are grey";
  EXPECT_THAT(numbers(bits), ElementsAre(255, 0, 255, 0, 0, 0, 0, 0, 255));
}

TEST_F(Pictures, BitmapsThatCannotBeReadAreRefused) {
  EXPECT_THAT(refused(bmp(2, 2, 24, "abc")), HasSubstr("name: truncated: at offset 54"));
  EXPECT_THAT(refused(bmp(1, 1, 8, "abcd", std::string(1024, 0), 1)), HasSubstr("no compression"));
  EXPECT_THAT(refused(bmp(1, 1, 7, "abcd")), HasSubstr("1, 4, 8, 16, 24 or 32 bits"));
  EXPECT_THAT(refused(bmp(0, 1, 24, "abcd")), HasSubstr("expected a picture of 1 to"));
  EXPECT_THAT(refused("BM"), HasSubstr("expected a BMP header"));
  EXPECT_THAT(refused(bmp(1, 1, 8, "")), HasSubstr("name: "));
}

TEST_F(Pictures, HeadersSayWhatDecodingGives) {
  const std::vector<std::string> files = {
      png(2, 1, "abcdef"),  jpeg(8, 8, ramp(8, 8, 3)),
      webp(2, 1, "abcdef"), jpeg(8, 8, std::string(64, 'm'), {JCS_GRAYSCALE}),
      "P5 2 1 255\nab",     "P6 1 1 255\nabc",
      bmp(1, 1, 24, "abcd")};
  for (const std::string& file : files) {
    const Picture whole = decode(file);
    const Picture looked = look_at_picture(bytes_of(file), "name");
    EXPECT_EQ(looked.height, whole.height);
    EXPECT_EQ(looked.width, whole.width);
    EXPECT_EQ(looked.channels, whole.channels);
  }
}

}  // namespace
}  // namespace syrtos::data
