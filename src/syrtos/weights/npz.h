#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "syrtos/weights/source.h"

struct archive;

namespace syrtos::weights {

/// Writes tensors as NumPy's .npz: an uncompressed zip archive with a .npy file for each.
/// The file appears when finish() returns. Throws RunError.
class NpzWriter {
 public:
  explicit NpzWriter(std::filesystem::path file);
  ~NpzWriter();
  NpzWriter(const NpzWriter&) = delete;
  NpzWriter& operator=(const NpzWriter&) = delete;

  void write(const std::string& name, const Tensor& tensor);  ///< of f32
  void write(const std::string& name, const Shape& shape, std::span<const float> values);
  void write(const std::string& name, const Shape& shape, std::span<const double> values);
  void finish();

 private:
  void write_bytes(const std::string& name, const std::string& header, const void* data,
                   size_t bytes);
  [[noreturn]] void fail() const;

  std::filesystem::path file_;
  std::filesystem::path beside_;
  archive* archive_ = nullptr;
};

}  // namespace syrtos::weights
