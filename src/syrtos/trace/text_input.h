#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

struct gzFile_s;

namespace syrtos::trace {

/// The characters of a plain or gzip-compressed file, one after the other.
class TextInput {
 public:
  /// Throws RequestError when it cannot be opened; `what` is expected there.
  TextInput(const std::filesystem::path& file, std::string_view what);
  ~TextInput();
  TextInput(const TextInput&) = delete;
  TextInput& operator=(const TextInput&) = delete;

  bool at_end() const { return next_ == size_; }
  char current() const { return buffer_[next_]; }
  void advance() {
    if (++next_ == size_) refill();
  }
  /// Of the current character, after unpacking.
  int64_t offset() const { return before_ + static_cast<int64_t>(next_); }
  /// Why it ended early; empty if it did not.
  const std::string& failure() const { return failure_; }

  /// For algorithms that want iterators; all iterators of an input move together.
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = char;

    explicit Iterator(TextInput* input) : input_(input) {}
    char operator*() const { return input_->current(); }
    Iterator& operator++() {
      input_->advance();
      return *this;
    }
    Iterator operator++(int) { return ++*this; }
    // What it is compared with is always the end.
    bool operator==(const Iterator&) const { return input_->at_end(); }

   private:
    TextInput* input_;
  };

 private:
  void refill();

  gzFile_s* handle_;
  std::vector<char> buffer_;
  size_t next_ = 0, size_ = 0;
  int64_t before_ = 0;
  std::string failure_;
};

}  // namespace syrtos::trace
