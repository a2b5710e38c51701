#pragma once

#include <filesystem>
#include <vector>

#include "syrtos/weights/source.h"

struct archive;

namespace syrtos::weights {

/// Writes tensors, in f32, as NumPy's .npz: an uncompressed zip archive with a .npy file for each.
/// The file appears when finish() returns. Throws RunError.
class NpzWriter {
 public:
  explicit NpzWriter(std::filesystem::path file);
  ~NpzWriter();
  NpzWriter(const NpzWriter&) = delete;
  NpzWriter& operator=(const NpzWriter&) = delete;

  void write(const std::string& name, const Tensor& tensor);
  void finish();

 private:
  [[noreturn]] void fail() const;

  std::filesystem::path file_;
  std::filesystem::path beside_;
  archive* archive_ = nullptr;
};

}  // namespace syrtos::weights
