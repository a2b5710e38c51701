#include "syrtos/weights/npz.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include <memory>

#include "syrtos/base/error.h"

namespace syrtos::weights {

namespace {

/// Magic, version 1.0, length, and a Python dictionary that ends at a multiple of 64 bytes.
std::string npy_header(const Shape& shape, std::string_view type) {
  std::string extents;
  for (const int64_t extent : shape) extents += fmt::format("{}, ", extent);
  std::string text =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", type, extents);
  constexpr size_t kBefore = 10;
  text.resize((kBefore + text.size() + 1 + 63) / 64 * 64 - kBefore - 1, ' ');
  text += '\n';
  const std::string length = {static_cast<char>(text.size() & 0xff),
                              static_cast<char>(text.size() >> 8)};
  return std::string("\x93NUMPY\x01\x00", 8) + length + text;
}

}  // namespace

NpzWriter::NpzWriter(std::filesystem::path file)
    : file_(std::move(file)), beside_(file_.string() + ".part"), archive_(archive_write_new()) {
  if (archive_ == nullptr) throw std::bad_alloc();
  archive_write_set_format_zip(archive_);
  archive_write_set_options(archive_, "zip:compression=store");
  if (archive_write_open_filename(archive_, beside_.c_str()) != ARCHIVE_OK) fail();
}

NpzWriter::~NpzWriter() {
  if (archive_ == nullptr) return;
  archive_write_free(archive_);
  std::error_code ignored;
  std::filesystem::remove(beside_, ignored);
}

void NpzWriter::fail() const {
  const char* reason = archive_error_string(archive_);
  fail_run("cannot write {}: {}", file_.string(), reason == nullptr ? "no reason given" : reason);
}

void NpzWriter::write(const std::string& name, const Tensor& tensor) {
  SYRTOS_CHECK(tensor.dtype() == DType::f32, "{}", to_string(tensor.type()));
  write(name, tensor.shape(),
        std::span(tensor.as<float>(), static_cast<size_t>(tensor.elements())));
}

void NpzWriter::write(const std::string& name, const Shape& shape, std::span<const float> values) {
  write_bytes(name, npy_header(shape, "<f4"), values.data(), values.size_bytes());
}

void NpzWriter::write(const std::string& name, const Shape& shape, std::span<const double> values) {
  write_bytes(name, npy_header(shape, "<f8"), values.data(), values.size_bytes());
}

void NpzWriter::write_bytes(const std::string& name, const std::string& header, const void* data,
                            size_t bytes) {
  const std::unique_ptr<archive_entry, decltype(&archive_entry_free)> entry(archive_entry_new(),
                                                                            archive_entry_free);
  archive_entry_set_pathname(entry.get(), (name + ".npy").c_str());
  archive_entry_set_size(entry.get(), static_cast<la_int64_t>(header.size() + bytes));
  archive_entry_set_filetype(entry.get(), AE_IFREG);
  archive_entry_set_perm(entry.get(), 0644);
  const auto wrote = [&](const void* from, size_t size) {
    return archive_write_data(archive_, from, size) == static_cast<la_ssize_t>(size);
  };
  if (archive_write_header(archive_, entry.get()) != ARCHIVE_OK ||
      !wrote(header.data(), header.size()) || !wrote(data, bytes)) {
    fail();
  }
}

void NpzWriter::finish() {
  if (archive_write_close(archive_) != ARCHIVE_OK) fail();
  archive_write_free(archive_);
  archive_ = nullptr;
  std::error_code error;
  std::filesystem::rename(beside_, file_, error);
  if (error) fail_run("cannot write {}: {}", file_.string(), error.message());
}

}  // namespace syrtos::weights
