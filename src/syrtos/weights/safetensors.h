#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "syrtos/base/files.h"
#include "syrtos/weights/source.h"

namespace syrtos::weights {

// A safetensors file: 8 bytes, little-endian, that say how long the header is; the header, JSON:
// {"NAME": {"dtype": "F32", "shape": [64, 3], "data_offsets": [begin, end]}, ...,
// "__metadata__": {"key": "text"}}; the data, row-major, to which the offsets refer.

/// Checks the whole header when it is opened: sizes, bounds, types. A damaged or hostile file is
/// refused with a RequestError and cannot make us take more memory than it is long.
class SafetensorsFile final : public Source {
 public:
  explicit SafetensorsFile(std::filesystem::path file);

  std::string name() const override { return file_.string(); }
  const std::vector<Entry>& entries() const override { return entries_; }
  Tensor read(const Entry& entry) override;
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

 private:
  struct Stored {
    std::string dtype;
    uint64_t begin = 0;  ///< In the file.
    uint64_t bytes = 0;
  };
  void read_header();

  std::filesystem::path file_;
  std::ifstream in_;
  uint64_t size_ = 0;
  std::vector<Entry> entries_;
  std::map<std::string, Stored, std::less<>> stored_;
  std::map<std::string, std::string> metadata_;
};

/// Writes one tensor after the other, in f32, so that no second copy of a model is needed. The file
/// appears when finish() returns. Throws RunError.
class SafetensorsWriter {
 public:
  /// The tensors must follow in this order.
  SafetensorsWriter(const std::filesystem::path& file, std::vector<Entry> entries,
                    const std::map<std::string, std::string>& metadata = {});
  void write(const Tensor& tensor);
  void finish();

 private:
  AtomicFile out_;
  std::vector<Entry> entries_;
  size_t next_ = 0;
};

}  // namespace syrtos::weights
