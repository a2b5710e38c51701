#pragma once

#include <unordered_map>

#include "syrtos/data/formats/pickle.h"

namespace syrtos::data {

/// Pickle's stack machine: one step per opcode, no recursion.
class PickleReader {
 public:
  PickleReader(Pickle& to, std::span<const uint8_t> bytes) : to_(to), bytes_(bytes) {}

  void run();

 private:
  using Kind = Pickle::Kind;
  using Value = Pickle::Value;
  using Step = void (PickleReader::*)();
  struct Opcode {
    uint8_t code;
    Step step;
  };
  static const std::vector<Opcode>& opcodes();

  [[noreturn]] void fail(const std::string& expected, const std::string& found) const;
  void require(bool condition, const char* expected) const;

  // These read from the file.
  std::string_view take(size_t n);
  std::string_view line();
  uint64_t little_endian(size_t bytes);

  // These work on the stack, which holds positions in to_.values_.
  void push(Value value);
  void push_number(int64_t number) { push({.kind = Kind::number, .number = number}); }
  void push_text(std::string_view text) { push({.kind = Kind::text, .text = text}); }
  uint32_t pop();
  uint32_t top() const;
  Value& at(uint32_t position) { return to_.values_[position]; }
  std::vector<uint32_t> pop_to_mark();
  std::string_view own(std::string text);

  // Each of these does what an opcode, or a family of them, asks for.
  void protocol();
  void number_line();
  void long_line();
  void long_bytes();
  template <size_t Bytes, bool Signed>
  void number_bytes();
  template <int64_t Number>
  void constant() {
    push_number(Number);
  }
  template <Kind Which>
  void empty() {
    push({.kind = Which});
  }
  template <size_t LengthBytes>
  void text_bytes();
  void quoted_line();
  void unicode_line();
  template <Kind Which>
  void from_mark();
  template <size_t Count>
  void short_tuple();
  template <Kind Which>
  void add(std::vector<uint32_t> items);
  template <Kind Which, size_t Count>
  void add_top();
  template <Kind Which>
  void add_from_mark();
  template <size_t Bytes>
  void put();
  template <size_t Bytes>
  void get();
  void put_line();
  void get_line();
  void remember(uint64_t key);
  void recall(uint64_t key);
  void global();
  void reduce();
  void build();
  void stop() { stopped_ = true; }

  Value call(std::string_view function, const std::vector<uint32_t>& arguments);
  void build_array(Value& array, const std::vector<uint32_t>& state);

  Pickle& to_;
  std::span<const uint8_t> bytes_;
  size_t offset_ = 0;
  size_t step_offset_ = 0;  // where the current opcode stands
  size_t owned_ = 0;
  bool stopped_ = false;
  std::vector<uint32_t> stack_;
  std::unordered_map<uint64_t, uint32_t> memo_;
};

}  // namespace syrtos::data
