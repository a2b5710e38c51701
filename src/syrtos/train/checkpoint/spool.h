#pragma once

#include <exception>
#include <filesystem>
#include <vector>

#include "syrtos/train/checkpoint/run_tensors.h"

namespace syrtos::train {

/// Tensors of other workers on their way into a checkpoint: a file without a name, so that they
/// need no memory here. What cannot be written is told by whoever wants to read it.
class Spool {
 public:
  Spool() = default;
  ~Spool();
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  /// Forgets what it has. `directory`: where its file is. Never throws.
  void begin(const std::filesystem::path& directory);
  /// The next one. Never throws.
  void add(const NamedShape& what, const Tensor& tensor);

  /// Nothing has failed so far.
  bool is_whole() const { return failure_ == nullptr; }
  /// What it has. Throws RunError when something could not be written.
  const std::vector<NamedShape>& all() const;
  Tensor read(size_t index) const;

 private:
  void attempt(const auto& work);

  std::filesystem::path directory_;
  int descriptor_ = -1;
  std::vector<NamedShape> all_;
  std::vector<size_t> offsets_;
  size_t end_ = 0;
  std::exception_ptr failure_;
};

}  // namespace syrtos::train
