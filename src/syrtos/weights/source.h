#pragma once

#include <string>
#include <vector>

#include "syrtos/tensor/tensor.h"

namespace syrtos::weights {

/// A tensor of a file, or of a network, by its name.
struct Entry {
  std::string name;
  Shape shape;
};

/// Tensors of floats with names, as files hold them. Integers in the file are no weights and left
/// out. Not thread-safe.
class Source {
 public:
  virtual ~Source() = default;
  Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  /// For people: the file.
  virtual std::string name() const = 0;
  virtual const std::vector<Entry>& entries() const = 0;
  /// In f32. Throws RequestError when the file is damaged there.
  virtual Tensor read(const Entry& entry) = 0;
};

}  // namespace syrtos::weights
