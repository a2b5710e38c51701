#pragma once

#include <archive.h>
#include <archive_entry.h>
#include <png.h>
#include <webp/encode.h>
#include <zlib.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

// Needs <cstdio> before it.
#include <jpeglib.h>

namespace syrtos::data::seeds {

using Files = std::vector<std::pair<std::string, std::string>>;

inline std::span<const uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

/// Without losses; `pixels` are [height, width, 3 or 4].
inline std::string webp(int width, int height, const std::string& pixels) {
  uint8_t* memory = nullptr;
  const auto* from = reinterpret_cast<const uint8_t*>(pixels.data());
  const bool alpha = pixels.size() == static_cast<size_t>(width * height * 4);
  const size_t size = alpha ? WebPEncodeLosslessRGBA(from, width, height, 4 * width, &memory)
                            : WebPEncodeLosslessRGB(from, width, height, 3 * width, &memory);
  std::string result(reinterpret_cast<char*>(memory), size);
  WebPFree(memory);
  return result;
}

/// `pixels` are what the file is to hold: [height, width, components].
struct JpegOptions {
  J_COLOR_SPACE space = JCS_RGB;
  bool progressive = false;
};
inline std::string jpeg(unsigned width, unsigned height, const std::string& pixels,
                        JpegOptions options = {}) {
  jpeg_compress_struct state = {};
  jpeg_error_mgr errors = {};
  state.err = jpeg_std_error(&errors);
  jpeg_create_compress(&state);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&state, &memory, &size);
  state.image_width = width;
  state.image_height = height;
  state.input_components = static_cast<int>(pixels.size() / width / height);
  state.in_color_space = options.space;
  jpeg_set_defaults(&state);
  jpeg_set_quality(&state, 95, TRUE);
  if (options.progressive) jpeg_simple_progression(&state);
  jpeg_start_compress(&state, TRUE);
  std::string copy = pixels;
  const size_t row_bytes = pixels.size() / height;
  for (size_t y = 0; y < height; ++y) {
    auto* row = reinterpret_cast<JSAMPROW>(copy.data() + y * row_bytes);
    jpeg_write_scanlines(&state, &row, 1);
  }
  jpeg_finish_compress(&state);
  std::string result(reinterpret_cast<char*>(memory), size);
  jpeg_destroy_compress(&state);
  std::free(memory);
  return result;
}

struct PngOptions {
  int colour = PNG_COLOR_TYPE_RGB;
  int bits = 8;
  bool interlaced = false;
};
/// `rows` are packed as PNG stores them. A palette has entry k = (k, 2k, 3k).
inline std::string png(unsigned width, unsigned height, const std::string& rows,
                       PngOptions options = {}) {
  std::string result;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(
      png, &result,
      [](png_structp p, png_bytep from, size_t n) {
        static_cast<std::string*>(png_get_io_ptr(p))->append(reinterpret_cast<char*>(from), n);
      },
      [](png_structp) {});
  png_set_IHDR(png, info, width, height, options.bits, options.colour,
               options.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  if (options.colour == PNG_COLOR_TYPE_PALETTE) {
    std::vector<png_color> palette;
    for (int k = 0; k < 1 << options.bits; ++k) {
      palette.push_back(
          {static_cast<uint8_t>(k), static_cast<uint8_t>(2 * k), static_cast<uint8_t>(3 * k)});
    }
    png_set_PLTE(png, info, palette.data(), static_cast<int>(palette.size()));
  }
  std::string copy = rows;
  std::vector<png_bytep> pointers;
  for (size_t y = 0; y < height; ++y) {
    pointers.push_back(reinterpret_cast<png_bytep>(copy.data() + y * rows.size() / height));
  }
  png_set_rows(png, info, pointers.data());
  png_write_png(png, info, PNG_TRANSFORM_IDENTITY, nullptr);
  png_destroy_write_struct(&png, &info);
  return result;
}

inline std::string gzip(const std::string& text) {
  z_stream stream = {};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string result(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<unsigned>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<unsigned>(result.size());
  deflate(&stream, Z_FINISH);
  result.resize(stream.total_out);
  deflateEnd(&stream);
  return result;
}

enum class Container { tar, zip, stored_zip };
inline std::string pack(const Files& files, Container container) {
  std::string result(1 << 16, '\0');
  for (const auto& [name, text] : files) result.resize(result.size() + text.size() + 4096);
  size_t used = 0;
  archive* out = archive_write_new();
  if (container == Container::tar) {
    archive_write_set_format_ustar(out);
  } else {
    archive_write_set_format_zip(out);
    if (container == Container::stored_zip) archive_write_zip_set_compression_store(out);
  }
  archive_write_open_memory(out, result.data(), result.size(), &used);
  for (const auto& [name, text] : files) {
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, name.c_str());
    archive_entry_set_size(entry, static_cast<int64_t>(text.size()));
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_perm(entry, 0644);
    archive_write_header(out, entry);
    archive_write_data(out, text.data(), text.size());
    archive_entry_free(entry);
  }
  archive_write_close(out);
  archive_write_free(out);
  result.resize(used);
  return result;
}
inline std::string tar_gz(const Files& files) { return gzip(pack(files, Container::tar)); }

inline std::string npy(const std::string& type, const std::string& shape, const std::string& values,
                       int version = 1, const std::string& fortran = "False") {
  std::string header =
      "{'descr': '" + type + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }";
  const size_t begin = version == 1 ? 10 : 12;
  while ((begin + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string result = std::string("\x93NUMPY") + static_cast<char>(version) + '\0';
  for (size_t i = 8; i < begin; ++i) {
    result += static_cast<char>(header.size() >> (8 * (i - 8)) & 0xff);
  }
  return result + header + values;
}

inline std::string little(uint64_t value, size_t bytes) {
  std::string text;
  for (size_t i = 0; i < bytes; ++i, value >>= 8) text += static_cast<char>(value & 0xff);
  return text;
}

/// A bitmap of `bits` for each pixel: `after` are masks or a palette, `rows` the pixels as they
/// lie.
inline std::string bmp(int width, int height, int bits, const std::string& rows,
                       const std::string& after = {}, int compression = 0) {
  const size_t begin = 14 + 40 + after.size();
  return "BM" + little(begin + rows.size(), 4) + little(0, 4) + little(begin, 4) + little(40, 4) +
         little(static_cast<uint32_t>(width), 4) + little(static_cast<uint32_t>(height), 4) +
         little(1, 2) + little(static_cast<uint64_t>(bits), 2) +
         little(static_cast<uint64_t>(compression), 4) + little(0, 20) + after + rows;
}

inline std::string big(uint64_t value, size_t bytes) {
  const std::string text = little(value, bytes);
  return {text.rbegin(), text.rend()};
}

inline std::string idx_images(uint32_t count, uint32_t height = 2, uint32_t width = 3) {
  std::string bytes = big(0x803, 4) + big(count, 4) + big(height, 4) + big(width, 4);
  for (uint32_t i = 0; i < count * height * width; ++i) bytes += static_cast<char>(i * 7);
  return bytes;
}
inline std::string idx_labels(uint32_t count) {
  std::string bytes = big(0x801, 4) + big(count, 4);
  for (uint32_t i = 0; i < count; ++i) bytes += static_cast<char>(i % 10);
  return bytes;
}

/// Image k of CIFAR in planes: red is k, green k + 1, blue k + 2, the first pixel 9, 8, 7.
inline std::string cifar_planes(int k) {
  std::string planes;
  for (int c = 0; c < 3; ++c) {
    planes +=
        std::string(1, static_cast<char>(9 - c)) + std::string(1023, static_cast<char>(k + c));
  }
  return planes;
}
inline std::string cifar10_bin(int count) {
  std::string bytes;
  for (int k = 0; k < count; ++k) bytes += static_cast<char>(k % 10) + cifar_planes(k);
  return bytes;
}

/// A batch as Python 2 pickled it with protocol 2: labels 0, 1, ... under `key`.
inline std::string cifar_pickle(int count, const std::string& key = "labels") {
  std::string data;
  std::string labels;
  for (int k = 0; k < count; ++k) {
    data += cifar_planes(k);
    labels += std::string("K") + static_cast<char>(k % 10);
  }
  const auto text = [](const std::string& s) { return "U" + little(s.size(), 1) + s; };
  return std::string("\x80\x02}q\x01(") + text(key) + "q\x02]q\x03(" + labels + "e" + text("data") +
         "q\x04" + "cnumpy.core.multiarray\n_reconstruct\nq\x05" + "cnumpy\nndarray\nq\x06" +
         std::string("K\0\x85", 3) + "q\x07" + text("b") + "\x87Rq\x08(K\x01M" + little(count, 2) +
         "M" + little(3072, 2) + "\x86q\x09" + "cnumpy\ndtype\nq\x0a" + text("u1") +
         std::string("K\0K\x01\x87Rq\x0b(K\x03", 11) + text("|") +
         "NNNJ\xff\xff\xff\xffJ\xff\xff\xff" + std::string("\xffK\0tb\x89", 6) + "T" +
         little(data.size(), 4) + data + "tbu.";
}

}  // namespace syrtos::data::seeds
