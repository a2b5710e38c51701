#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "syrtos/tensor/tensor.h"

namespace syrtos::onnx {

/// Numbers of any shape that are known before anything runs. Files have many element types; here
/// floats of all widths are doubles, integers and truth values 64 bits.
struct Array {
  std::vector<int64_t> shape = {};
  std::variant<std::vector<int64_t>, std::vector<double>> values = {};

  bool is_float() const { return values.index() == 1; }
  int64_t elements() const;
  const std::vector<int64_t>& integers() const { return std::get<0>(values); }
  const std::vector<double>& floats() const { return std::get<1>(values); }
  /// Of either kind.
  double number(size_t index) const;

  static Array of(std::vector<int64_t> list);  ///< One axis.
  static Array scalar(int64_t value) { return {{}, std::vector<int64_t>{value}}; }
};

/// A named tensor of the file. Values of large float tensors, the weights, are read on their own
/// (WeightsFile): only these know where they are.
struct Initializer {
  std::vector<int64_t> shape;
  bool is_float = true;
  std::optional<Array> values = {};  ///< Integers, and floats of few elements.
};

using Attribute = std::variant<int64_t, float, std::string, std::vector<int64_t>,
                               std::vector<float>, std::vector<std::string>, Array>;

struct Node {
  std::string name;                 ///< As errors say it; made up where the file has none.
  std::string operation;            ///< "Conv", or "domain.Conv" outside of ONNX's own domain.
  std::vector<std::string> inputs;  ///< "" where an optional one is left out.
  std::vector<std::string> outputs;
  std::map<std::string, Attribute, std::less<>> attributes = {};
};

/// An input or output of the graph.
struct Port {
  std::string name;
  bool is_float = true;
  bool has_shape = false;
  std::vector<int64_t> shape = {};  ///< -1: open, or a name stands there.
};

/// What an ONNX file says, checked: names are unique and defined before they are used, sizes are
/// bounded. Nothing is known of operators yet.
struct Document {
  std::string name;      ///< Of the file, for errors.
  std::string producer;  ///< "pytorch 2.15.0"
  int64_t opset = 0;
  std::vector<Port> inputs;  ///< Without those that have an initializer.
  std::vector<Port> outputs;
  std::vector<Node> nodes;
  std::map<std::string, Initializer, std::less<>> initializers;
};

/// Throws RequestError that says what is wrong where: not ONNX, truncated, an operator set or an
/// element type that is not known, more than we take. `name` stands for the file.
Document parse(std::string_view bytes, const std::string& name);

/// The bytes of a file of at most 2 GB. Throws RequestError.
std::string read_bytes(const std::filesystem::path& file);

/// The same file without the values of its weights: all that is needed to build the network, and
/// small enough to be sent to other processes. Throws RequestError.
std::string without_weights(std::string_view bytes, const std::string& name);

/// The weights of an ONNX file: its float initializers, also those that lie in files beside it.
class WeightsFile {
 public:
  /// Throws RequestError.
  explicit WeightsFile(const std::filesystem::path& file);
  ~WeightsFile();
  WeightsFile(const WeightsFile&) = delete;
  WeightsFile& operator=(const WeightsFile&) = delete;

  /// In the order of the file.
  const std::vector<std::string>& names() const { return names_; }
  Shape shape(const std::string& name) const;
  /// In f32. Throws RequestError: the file beside it is missing, truncated or outside its folder,
  /// or the values were left out.
  Tensor read(const std::string& name) const;

 private:
  struct Contents;
  std::filesystem::path file_;
  std::vector<std::string> names_;
  std::unique_ptr<Contents> contents_;
};

}  // namespace syrtos::onnx
