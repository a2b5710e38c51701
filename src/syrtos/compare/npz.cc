#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include <cstring>
#include <memory>

#include "syrtos/base/error.h"
#include "syrtos/compare/arrays.h"
#include "syrtos/weights/npz.h"

namespace syrtos::compare {

namespace {

constexpr size_t kMagic = 10;  // "\x93NUMPY", version, length of the header

/// What stands between `begin` and `end` in the header.
std::string part(const std::string& text, std::string_view begin, std::string_view end) {
  const size_t from = text.find(begin);
  if (from == std::string::npos) return {};
  const size_t start = from + begin.size();
  return text.substr(start, text.find(end, start) - start);
}

template <typename T>
void take(const std::string& bytes, size_t from, ops::RefTensor& to) {
  if ((bytes.size() - from) / sizeof(T) < to.values.size()) fail_run("the file is cut off");
  for (size_t i = 0; i < to.values.size(); ++i) {
    T value;
    std::memcpy(&value, bytes.data() + from + i * sizeof(T), sizeof value);
    to.values[i] = static_cast<double>(value);
  }
}

ops::RefTensor parse_npy(const std::string& bytes) {
  if (bytes.size() < kMagic || bytes.compare(0, 6, "\x93NUMPY") != 0) fail_run("no .npy file");
  const auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<uint8_t>(bytes[i])); };
  const size_t before = byte(6) == 1 ? kMagic : kMagic + 2;
  const size_t length = byte(8) | byte(9) << 8;
  if (bytes.size() < before + length) fail_run("the header is cut off");
  const std::string header = bytes.substr(before, length);
  if (part(header, "'fortran_order': ", ",") != "False") fail_run("the array is not in C order");
  Shape shape;
  int64_t elements = 1;
  const std::string extents = part(header, "'shape': (", ")");
  for (const char* at = extents.c_str(); *at != 0;) {
    char* end = nullptr;
    const int64_t extent = std::strtoll(at, &end, 10);
    if (end == at || extent < 0 || extent > (int64_t{1} << 40) || shape.rank() == Shape::kMaxRank) {
      fail_run("shape ({})", extents);
    }
    shape.append(extent);
    elements *= std::max<int64_t>(extent, 1);
    if (elements > (int64_t{1} << 40)) fail_run("shape ({})", extents);
    at = end + std::strspn(end, ", ");
  }
  if (static_cast<size_t>(shape.elements()) > bytes.size()) fail_run("the file is cut off");
  ops::RefTensor result(shape);
  const std::string type = part(header, "'descr': '", "'");
  const size_t from = before + length;
  if (type == "<f8") {
    take<double>(bytes, from, result);
  } else if (type == "<f4") {
    take<float>(bytes, from, result);
  } else if (type == "<i8") {
    take<int64_t>(bytes, from, result);
  } else if (type == "<i4") {
    take<int32_t>(bytes, from, result);
  } else {
    fail_run("expected numbers of type <f4, <f8, <i4 or <i8, found {}", type);
  }
  return result;
}

std::string reason(archive* file) {
  const char* text = archive_error_string(file);
  return text == nullptr ? "no reason given" : text;
}

std::string read_entry(archive* file) {
  std::string bytes;
  std::string block(size_t{1} << 20, '\0');
  for (;;) {
    const la_ssize_t got = archive_read_data(file, block.data(), block.size());
    if (got < 0) fail_run("{}", reason(file));
    if (got == 0) return bytes;
    bytes.append(block, 0, static_cast<size_t>(got));
  }
}

}  // namespace

void write_npz(const std::filesystem::path& file, const Arrays& arrays, Precision precision) {
  weights::NpzWriter out(file);
  for (const auto& [name, tensor] : arrays) {
    if (precision == Precision::f64) {
      out.write(name, tensor.shape, std::span(tensor.values));
    } else {
      const std::vector<float> rounded(tensor.values.begin(), tensor.values.end());
      out.write(name, tensor.shape, std::span(rounded));
    }
  }
  out.finish();
}

Arrays read_npz(const std::filesystem::path& file) {
  const std::unique_ptr<archive, decltype(&archive_read_free)> in(archive_read_new(),
                                                                  archive_read_free);
  if (in == nullptr) throw std::bad_alloc();
  archive_read_support_format_zip(in.get());
  constexpr size_t kBlock = size_t{1} << 16;
  if (archive_read_open_filename(in.get(), file.c_str(), kBlock) != ARCHIVE_OK) {
    fail_run("cannot read {}: {}", file.string(), reason(in.get()));
  }
  Arrays result;
  for (;;) {
    archive_entry* entry = nullptr;
    const int status = archive_read_next_header(in.get(), &entry);
    if (status == ARCHIVE_EOF) return result;
    if (status != ARCHIVE_OK) fail_run("cannot read {}: {}", file.string(), reason(in.get()));
    const char* path = archive_entry_pathname(entry);
    std::string name = path == nullptr ? "" : path;
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    try {
      result.insert_or_assign(name, parse_npy(read_entry(in.get())));
    } catch (const RunError& error) {
      fail_run("cannot read {} of {}: {}", name, file.string(), error.what());
    }
  }
}

}  // namespace syrtos::compare
