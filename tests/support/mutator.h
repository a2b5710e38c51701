#pragma once

#include <algorithm>
#include <array>
#include <string>

#include "syrtos/base/philox.h"

namespace syrtos {

/// Damages texts; what it does follows from its seed alone.
class Mutator {
 public:
  Mutator(uint32_t format, uint32_t round) : key_{format, round} {}

  uint32_t below(size_t limit) {
    if (used_ == 4) {
      words_ = philox(key_, {++counter_, 0, 0, 0});
      used_ = 0;
    }
    return limit == 0 ? 0 : words_[used_++] % static_cast<uint32_t>(limit);
  }

  std::string damage(std::string text, const std::string& other) {
    constexpr std::array kWays = {&Mutator::flip,      &Mutator::extreme, &Mutator::truncate,
                                  &Mutator::duplicate, &Mutator::remove,  &Mutator::insert,
                                  &Mutator::length,    &Mutator::length};
    if (below(8) == 0) {  // splice two files
      text = text.substr(0, below(text.size() + 1)) + other.substr(below(other.size() + 1));
    }
    for (uint32_t times = 1 + below(4); times > 0 && !text.empty(); --times) {
      (this->*kWays[below(kWays.size())])(text);
    }
    return text;
  }

 private:
  void flip(std::string& text) { text[below(text.size())] ^= static_cast<char>(1 << below(8)); }
  void extreme(std::string& text) { text[below(text.size())] = "\x00\x01\x7f\x80\xff"[below(5)]; }
  void truncate(std::string& text) {
    if (below(4) == 0) text.resize(below(text.size()));
  }
  void duplicate(std::string& text) {
    const std::string run = text.substr(below(text.size()), 1 + below(64));
    text.insert(below(text.size()), run);
  }
  void remove(std::string& text) { text.erase(below(text.size()), 1 + below(16)); }
  void insert(std::string& text) {
    text.insert(below(text.size()), 1, static_cast<char>(below(256)));
  }
  // Lengths stand near the front, in either byte order.
  void length(std::string& text) {
    constexpr std::array<uint32_t, 8> kValues = {0,      1,      0x7f,       0xff,
                                                 0x7fff, 0xffff, 0x7fffffff, 0xffffffff};
    const uint32_t value = below(2) == 0 ? kValues[below(8)] : below(5000);
    const size_t bytes = size_t{1} << below(3);
    const size_t at = below(below(2) == 0 ? std::min<size_t>(text.size(), 64) : text.size());
    std::string number;
    for (size_t i = 0; i < bytes; ++i) number += static_cast<char>(value >> (8 * i));
    if (below(2) == 0) std::reverse(number.begin(), number.end());
    text.replace(at, bytes, number);
  }

  Philox::Key key_;
  Philox::Counter words_ = {};
  uint32_t counter_ = 0;
  size_t used_ = 4;
};

}  // namespace syrtos
