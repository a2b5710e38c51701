// Valid files of every format, damaged at random: each must give a result or an Error, within
// bounded memory. Under the sanitizers this finds reads and writes out of bounds. The same damage
// comes in every run; a failure says which round of which format it was.

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "syrtos/data/files/archive.h"
#include "syrtos/data/formats/cifar.h"
#include "syrtos/data/formats/cifar_batches.h"
#include "syrtos/data/formats/csv_rows.h"
#include "syrtos/data/formats/idx.h"
#include "syrtos/data/formats/npy.h"
#include "syrtos/data/formats/numpy.h"
#include "syrtos/data/formats/pickle.h"
#include "syrtos/data/pictures/picture.h"
#include "tests/data/seeds.h"
#include "tests/support/mutator.h"
#include "tests/support/temporary.h"

namespace syrtos::data {
namespace {

using namespace seeds;

// Puts the checksums of a damaged PNG right, so that the damage gets further.
std::string repair_png(std::string text) {
  size_t at = 8;
  while (at + 12 <= text.size()) {
    uint32_t length = 0;
    for (size_t i = 0; i < 4; ++i) length = length << 8 | static_cast<uint8_t>(text[at + i]);
    if (length > text.size() - at - 12) break;
    const auto* from = reinterpret_cast<const Bytef*>(text.data() + at + 4);
    text.replace(at + 8 + length, 4, big(crc32(0, from, length + 4), 4));
    at += 12 + length;
  }
  return text;
}

std::string noise(size_t size) {
  Mutator random(99, static_cast<uint32_t>(size));
  std::string text(size, '\0');
  for (char& c : text) c = static_cast<char>(random.below(256));
  return text;
}

class Fuzz : public TemporaryDirectory {
 protected:
  using Try = std::function<void(const std::string&)>;

  void run(uint32_t format, uint32_t rounds, const std::vector<std::string>& seeds,
           const Try& attempt) {
    for (const std::string& seed : seeds) ASSERT_NO_THROW(attempt(seed));  // they are valid
    uint32_t refused = 0;
    for (uint32_t round = 0; round < rounds; ++round) {
      Mutator mutator(format, round);
      const std::string& seed = seeds[mutator.below(seeds.size())];
      const std::string text = mutator.damage(seed, seeds[mutator.below(seeds.size())]);
      try {
        attempt(text);
      } catch (const Error&) {
        ++refused;
      } catch (const std::exception& error) {
        FAIL() << "round " << round << ": " << error.what();
      }
    }
    EXPECT_GT(refused, rounds / 10);  // it does damage
    rusage usage = {};
    getrusage(RUSAGE_SELF, &usage);
    EXPECT_LT(usage.ru_maxrss, 2 << 20) << "kB of memory";
  }
  Try as_file(const std::string& name, std::function<void(const std::filesystem::path&)> attempt) {
    return [this, name, attempt](const std::string& text) {
      std::filesystem::remove(directory_ / name);  // overwriting waits for some disks
      attempt(write(name, text));
    };
  }
  static void picture(const std::string& text) { decode_picture(bytes_of(text), "n"); }
};

TEST_F(Fuzz, Jpeg) {
  run(1, 10000,
      {jpeg(19, 13, noise(19 * 13 * 3)), jpeg(19, 13, noise(19 * 13 * 3), {JCS_RGB, true}),
       jpeg(16, 16, noise(256), {JCS_GRAYSCALE}), jpeg(9, 9, noise(324), {JCS_CMYK, true})},
      picture);
}

TEST_F(Fuzz, Png) {
  const std::vector<std::string> seeds = {
      png(11, 9, noise(11 * 9 * 3)), png(11, 9, noise(11 * 9 * 4), {PNG_COLOR_TYPE_RGBA, 8, true}),
      png(16, 8, noise(16), {PNG_COLOR_TYPE_GRAY, 1, true}),
      png(16, 8, noise(64), {PNG_COLOR_TYPE_PALETTE, 4}),
      png(7, 5, noise(7 * 5 * 4), {PNG_COLOR_TYPE_GRAY_ALPHA, 16})};
  run(2, 5000, seeds, picture);
  run(3, 15000, seeds, [](const std::string& text) { picture(repair_png(text)); });
}

TEST_F(Fuzz, Pnm) {
  run(4, 20000, {"P5 # grey\n7 5\n255\n" + noise(35), "P6\n3 4 15\n" + noise(36)}, picture);
}

TEST_F(Fuzz, Webp) {
  run(31, 5000, {webp(11, 9, noise(11 * 9 * 3)), webp(8, 8, noise(256))}, picture);
}

TEST_F(Fuzz, Bmp) {
  run(32, 20000,
      {bmp(3, 4, 24, noise(48)), bmp(5, 2, 8, noise(16), noise(1024)),
       bmp(9, 2, 1, noise(8), noise(8)), bmp(2, 3, 32, noise(24), noise(12), 3)},
      picture);
}

TEST_F(Fuzz, Idx) {
  const auto attempt = as_file("f", [](const auto& file) { read_idx(file, 3); });
  run(5, 4000, {idx_images(20), gzip(idx_images(20)), gzip(idx_images(200))}, attempt);
  run(6, 2000, {idx_images(20)}, [&](const std::string& text) { attempt(gzip(text)); });
}

TEST_F(Fuzz, CifarBatches) {
  run(7, 5000, {cifar10_bin(2)}, [](const std::string& text) {
    CifarImages images;
    append_cifar_binary({bytes_of(text), "n"}, 10, images);
  });
  run(8, 5000, {cifar_pickle(2)}, [](const std::string& text) {
    CifarImages images;
    append_cifar_pickle({bytes_of(text), "n"}, 10, images);
  });
  run(9, 10000, {"[0, 1, 2, 9, 3]"}, [](const std::string& text) {
    CifarImages images;
    append_cifar_labels({bytes_of(text), "n"}, 10, images);
  });
}

TEST_F(Fuzz, Pickle) {
  const std::string text =
      "(dp0\nS'labels'\np1\n(lp2\nI1\naI20\nasS'names'\np3\n(lp4\nS'a\\n\\x41'\np5\naS\"b'"
      "\"\np6\nas.";
  const std::string array(
      "(dp0\nVx\np1\ncnumpy._core.multiarray\n_reconstruct\np2\n(cnumpy\nndarray\np3\n(I0\ntp4\n"
      "c_codecs\nencode\np5\n(Vb\np6\nVlatin1\np7\ntp8\nRp9\ntp10\nRp11\n(I1\n(I2\nI2\ntp12\n"
      "cnumpy\ndtype\np13\n(Vu1\np14\nI00\nI01\ntp15\nRp16\n(I3\nV|\np17\nNNNI-1\nI-1\nI0\ntp18\n"
      "bI00\ng5\n(V\\u0000\x01\x02\xff\np19\ng7\ntp20\nRp21\ntp22\nbs.");
  const std::string binary =
      "\x80\x02}q\x01(U\x06labelsq\x02]q\x03(K\x01M\x10\x27J\x01\x02\x03\x04"
      "\x8a\x01\x05"
      "eX\x01" +
      std::string(3, '\0') + "ah\x03u.";
  run(10, 60000, {text, array, binary}, [](const std::string& bytes) {
    const Pickle pickle(bytes_of(bytes), "n");
    for (const char* key : {"labels", "names", "x", "a"}) {
      if (!pickle.has(key)) continue;
      for (const auto& get : std::vector<std::function<void()>>{[&] { pickle.array(key); },
                                                                [&] { pickle.numbers(key); },
                                                                [&] { pickle.texts(key); }}) {
        try {
          get();
        } catch (const RequestError&) {
        }
      }
    }
  });
}

TEST_F(Fuzz, Archives) {
  const Files files = {{"cifar/data_batch_1", noise(700)}, {"cifar/test_batch", noise(3)}};
  const auto attempt = as_file("f", [](const auto& file) {
    read_members(
        file, [](std::string_view) { return true; }, 1 << 20);
  });
  run(11, 3000,
      {tar_gz(files), pack(files, Container::tar), pack(files, Container::zip),
       pack(files, Container::stored_zip)},
      attempt);
  run(12, 1500, {pack(files, Container::tar)},
      [&](const std::string& text) { attempt(gzip(text)); });
}

TEST_F(Fuzz, CifarInAnArchive) {
  Files files;
  for (const char* name : {"data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4",
                           "data_batch_5", "test_batch"}) {
    files.emplace_back(std::string(name) + ".bin", cifar10_bin(1));
  }
  run(13, 1500, {tar_gz(files)}, as_file("f.tar.gz", [](const auto& file) {
        if (has_cifar(file)) {
          open_cifar(file);
        } else {
          fail_request("no");
        }
      }));
}

TEST_F(Fuzz, Npy) {
  run(14, 60000,
      {npy("<f4", "(2, 3)", noise(6) + std::string(18, '\1')), npy(">i8", "(4,)", noise(32)),
       npy("|u1", "(2, 2, 1)", noise(4), 2), npy("<f2", "(3,)", "\1\2\3\4\5\6", 3)},
      [](const std::string& text) { parse_npy(bytes_of(text), "n").floats(); });
}

TEST_F(Fuzz, Npz) {
  const Files files = {{"x.npy", npy("|u1", "(20, 2, 2)", noise(80))},
                       {"y.npy", npy("|u1", "(20,)", std::string(20, '\1'))}};
  run(15, 4000, {pack(files, Container::stored_zip), pack(files, Container::zip)},
      as_file("f.npz", [](const auto& file) { open_numpy(file); }));
}

TEST_F(Fuzz, Csv) {
  run(16, 60000,
      {"label,a,b\n1,0.5,-2e3\n0,+1,2\n", "\"walk\";1;2\r\n\"r\"\"un\";3;4\r\n", "1\t2\n2\t3\n"},
      [](const std::string& text) { parse_csv(text, "n"); });
}

}  // namespace
}  // namespace syrtos::data
