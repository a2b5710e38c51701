#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "syrtos/base/error.h"
#include "syrtos/base/files.h"
#include "syrtos/tensor/tensor.h"

namespace syrtos::train {

// A checkpoint is one file that any machine can read, all numbers little-endian:
//
//   0   8  "SYRTOSCK"
//   8   4  version, 2
//   12  4  CRC-32 of the header
//   16  8  bytes of the header
//   24  8  bytes of the data
//   32     the header, JSON: {"meta": {...}, "tensors": [{"name", "shape", "offset"}...]}
//   ...    the data: f32 tensors in plain row-major order, without gaps
//   end 4  CRC-32 of the data

struct CheckpointTensor {
  std::string name;
  Shape shape;
  uint64_t offset = 0;  ///< in bytes, from the start of the data

  uint64_t bytes() const { return static_cast<uint64_t>(shape.elements()) * sizeof(float); }
};

/// Writes one tensor after the other, so that no second copy of the model is needed. The file
/// appears when finish() returns. Throws RunError.
class CheckpointWriter {
 public:
  /// The tensors must follow in this order.
  CheckpointWriter(const std::filesystem::path& file, const nlohmann::json& meta,
                   std::vector<CheckpointTensor> tensors);
  void write(const Tensor& tensor);
  /// `before` and `last_look`: as in AtomicFile::commit().
  void finish(const std::filesystem::path& before = {},
              const std::function<void()>& last_look = {});

 private:
  std::filesystem::path file_;
  AtomicFile out_;
  std::vector<CheckpointTensor> tensors_;
  size_t next_ = 0;
  uint32_t crc_ = 0;
};

/// A checkpoint that may be whole, but not for this program.
class OtherRelease : public RequestError {
 public:
  using RequestError::RequestError;
};

/// How much of a checkpoint is looked at when it is opened.
enum class CheckpointPart { header, all };

/// Checks the whole file when it is opened: sizes, bounds, names and both checksums. A damaged or
/// hostile file is refused with a RequestError that says file, offset, expected and found, and can
/// not make us take more memory than it is long.
class CheckpointReader {
 public:
  /// `part`: of the header alone nothing can be read but what it says.
  explicit CheckpointReader(std::filesystem::path file, CheckpointPart part = CheckpointPart::all);

  const nlohmann::json& meta() const { return meta_; }
  const std::vector<CheckpointTensor>& tensors() const { return tensors_; }
  /// nullptr when there is none.
  const CheckpointTensor* find(std::string_view name) const;
  Tensor read(const CheckpointTensor& tensor);
  const std::filesystem::path& file() const { return file_; }

 private:
  void read_header();
  void parse_tensors(const nlohmann::json& list);
  void check_data();
  void get(void* to, uint64_t offset, size_t bytes, const char* what);

  std::filesystem::path file_;
  std::ifstream in_;
  uint64_t size_ = 0;
  uint64_t data_offset_ = 0;
  uint64_t data_bytes_ = 0;
  nlohmann::json meta_;
  std::vector<CheckpointTensor> tensors_;
};

}  // namespace syrtos::train
