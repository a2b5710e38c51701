#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace syrtos::data {

/// The dictionary in a Python pickle file, as CIFAR's Python version has them: protocols 0 to 2,
/// written by Python 2 or 3, with texts, whole numbers, lists and NumPy arrays of bytes as values.
/// Nothing is executed: three functions that such files name (for arrays and byte strings) are
/// known by name, everything else is refused. Memory stays in proportion to the file.
class Pickle {
 public:
  struct Array {
    int64_t rows = 0;
    int64_t columns = 0;
    std::span<const uint8_t> values;  ///< row after row
  };

  /// `bytes` must outlive this. Throws RequestError that says `name`, offset, expected and found.
  Pickle(std::span<const uint8_t> bytes, std::string name);

  Pickle(const Pickle&) = delete;
  Pickle& operator=(const Pickle&) = delete;

  bool has(std::string_view key) const { return find(key) != nullptr; }
  /// The value under a key. Throw RequestError: no such key, or a value of another kind.
  Array array(std::string_view key) const;
  std::vector<int64_t> numbers(std::string_view key) const;
  std::vector<std::string> texts(std::string_view key) const;

 private:
  friend class PickleReader;

  enum class Kind : uint8_t { none, number, text, tuple, list, dict, global, array, type, mark };

  struct Value {
    Kind kind = Kind::none;
    int64_t number = 0;          ///< or rows of an array
    int64_t columns = 0;         ///< of an array
    std::string_view text = {};  ///< or a global's "module name", a type's name, an array's values
    std::vector<uint32_t> items = {};  ///< of a tuple or list; a dict's keys and values in turn
  };

  const Value* find(std::string_view key) const;
  const Value& get(std::string_view key, Kind kind, const char* what) const;

  std::string name_;
  std::vector<Value> values_;      // items are positions in here: no cycles of ownership
  std::deque<std::string> texts_;  // what had to be decoded; the rest lies in the file
  uint32_t root_ = 0;
};

}  // namespace syrtos::data
