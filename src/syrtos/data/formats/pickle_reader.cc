#include "syrtos/data/formats/pickle_reader.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "syrtos/base/error.h"
#include "syrtos/data/formats/text_escapes.h"

namespace syrtos::data {

namespace {

// A file of CIFAR-100 needs about 200,000 values.
constexpr size_t kMostValues = size_t{1} << 21;

}  // namespace

const std::vector<PickleReader::Opcode>& PickleReader::opcodes() {
  using R = PickleReader;
  static const std::vector<Opcode> table = {
      {0x80, &R::protocol},
      {'.', &R::stop},
      {'(', &R::empty<Kind::mark>},
      {'N', &R::empty<Kind::none>},
      {'}', &R::empty<Kind::dict>},
      {']', &R::empty<Kind::list>},
      {')', &R::empty<Kind::tuple>},
      {'d', &R::from_mark<Kind::dict>},
      {'l', &R::from_mark<Kind::list>},
      {'t', &R::from_mark<Kind::tuple>},
      {0x85, &R::short_tuple<1>},
      {0x86, &R::short_tuple<2>},
      {0x87, &R::short_tuple<3>},
      {'a', &R::add_top<Kind::list, 1>},
      {'s', &R::add_top<Kind::dict, 2>},
      {'e', &R::add_from_mark<Kind::list>},
      {'u', &R::add_from_mark<Kind::dict>},
      {0x88, &R::constant<1>},
      {0x89, &R::constant<0>},
      {'I', &R::number_line},
      {'L', &R::long_line},
      {0x8a, &R::long_bytes},
      {'K', &R::number_bytes<1, false>},
      {'M', &R::number_bytes<2, false>},
      {'J', &R::number_bytes<4, true>},
      {'S', &R::quoted_line},
      {'V', &R::unicode_line},
      {'U', &R::text_bytes<1>},
      {'T', &R::text_bytes<4>},
      {'X', &R::text_bytes<4>},
      {'p', &R::put_line},
      {'g', &R::get_line},
      {'q', &R::put<1>},
      {'h', &R::get<1>},
      {'r', &R::put<4>},
      {'j', &R::get<4>},
      {'c', &R::global},
      {'R', &R::reduce},
      {'b', &R::build},
  };
  return table;
}

void PickleReader::run() {
  std::array<Step, 256> steps = {};
  for (const Opcode& opcode : opcodes()) steps[opcode.code] = opcode.step;
  while (!stopped_) {
    step_offset_ = offset_;
    const auto code = static_cast<uint8_t>(take(1)[0]);
    if (steps[code] == nullptr) {
      fail("an opcode of a CIFAR file (pickle protocol 0 to 2)", fmt::format("0x{:02x}", code));
    }
    (this->*steps[code])();
  }
  to_.root_ = pop();
  require(stack_.empty() && at(to_.root_).kind == Kind::dict, "a dictionary and nothing else");
}

void PickleReader::fail(const std::string& expected, const std::string& found) const {
  fail_request("{}: at offset {} expected {}, found {}", to_.name_, step_offset_, expected, found);
}

void PickleReader::require(bool condition, const char* expected) const {
  if (!condition) fail(expected, "something else");
}

std::string_view PickleReader::take(size_t n) {
  if (n > bytes_.size() - offset_) {
    fail(fmt::format("{} more bytes", n), fmt::format("{}", bytes_.size() - offset_));
  }
  const auto* from = reinterpret_cast<const char*>(bytes_.data()) + offset_;
  offset_ += n;
  return {from, n};
}

std::string_view PickleReader::line() {
  const auto from = bytes_.begin() + static_cast<std::ptrdiff_t>(offset_);
  const auto end = std::find(from, bytes_.end(), '\n');
  if (end == bytes_.end()) fail("a line", "the end of the file");
  const std::string_view text = take(static_cast<size_t>(end - from));
  take(1);
  return text;
}

uint64_t PickleReader::little_endian(size_t bytes) {
  uint64_t value = 0;
  int shift = 0;
  for (const char c : take(bytes)) {
    value |= uint64_t{static_cast<uint8_t>(c)} << shift;
    shift += 8;
  }
  return value;
}

void PickleReader::push(Value value) {
  require(to_.values_.size() < kMostValues, "no more than two million values");
  stack_.push_back(static_cast<uint32_t>(to_.values_.size()));
  to_.values_.push_back(std::move(value));
}

uint32_t PickleReader::pop() {
  const uint32_t position = top();
  stack_.pop_back();
  return position;
}

uint32_t PickleReader::top() const {
  require(!stack_.empty() && to_.values_[stack_.back()].kind != Kind::mark, "a value on the stack");
  return stack_.back();
}

std::vector<uint32_t> PickleReader::pop_to_mark() {
  const auto mark = std::find_if(stack_.rbegin(), stack_.rend(), [&](uint32_t position) {
    return to_.values_[position].kind == Kind::mark;
  });
  require(mark != stack_.rend(), "a mark on the stack");
  std::vector<uint32_t> items(mark.base(), stack_.end());
  stack_.erase(mark.base() - 1, stack_.end());
  return items;
}

// Every text is decoded once in an honest file.
std::string_view PickleReader::own(std::string text) {
  owned_ += text.size();
  require(owned_ <= 4 * bytes_.size(), "texts that are decoded once");
  return to_.texts_.emplace_back(std::move(text));
}

void PickleReader::protocol() {
  const uint64_t version = little_endian(1);
  if (version > 2) fail("pickle protocol 0 to 2", fmt::format("{}", version));
}

void PickleReader::number_line() {
  const std::string_view text = line();
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  require(error == std::errc() && end == text.data() + text.size(), "a whole number");
  push_number(number);
}

void PickleReader::long_line() {
  std::string_view text = line();
  if (text.ends_with('L')) text.remove_suffix(1);
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  require(error == std::errc() && end == text.data() + text.size(), "a whole number");
  push_number(number);
}

void PickleReader::long_bytes() {
  const uint64_t bytes = little_endian(1);
  require(bytes <= 8, "a whole number of at most 8 bytes");
  uint64_t value = little_endian(bytes);
  if (bytes > 0 && bytes < 8 && (value >> (8 * bytes - 1) & 1) != 0) value |= ~0ULL << (8 * bytes);
  push_number(static_cast<int64_t>(value));
}

template <size_t Bytes, bool Signed>
void PickleReader::number_bytes() {
  const uint64_t value = little_endian(Bytes);
  push_number(Signed ? static_cast<int32_t>(static_cast<uint32_t>(value))
                     : static_cast<int64_t>(value));
}

template <size_t LengthBytes>
void PickleReader::text_bytes() {
  push_text(take(little_endian(LengthBytes)));
}

void PickleReader::quoted_line() {
  const std::optional<std::string> text = decode_python_quotes(line());
  require(text.has_value(), "a text in quotes");
  push_text(own(*text));
}

void PickleReader::unicode_line() {
  const std::optional<std::string> text = decode_raw_unicode(line());
  require(text.has_value(), "a Unicode text");
  push_text(own(*text));
}

template <Pickle::Kind Which>
void PickleReader::from_mark() {
  std::vector<uint32_t> items = pop_to_mark();
  require(Which != Kind::dict || items.size() % 2 == 0, "keys and values in pairs");
  push({.kind = Which, .items = std::move(items)});
}

template <size_t Count>
void PickleReader::short_tuple() {
  std::vector<uint32_t> items(Count);
  for (size_t i = Count; i-- > 0;) items[i] = pop();
  push({.kind = Kind::tuple, .items = std::move(items)});
}

template <Pickle::Kind Which>
void PickleReader::add(std::vector<uint32_t> items) {
  Value& container = at(top());
  require(container.kind == Which, Which == Kind::list ? "a list" : "a dictionary");
  require(Which == Kind::list || items.size() % 2 == 0, "keys and values in pairs");
  container.items.insert(container.items.end(), items.begin(), items.end());
}

template <Pickle::Kind Which, size_t Count>
void PickleReader::add_top() {
  std::vector<uint32_t> items(Count);
  for (size_t i = Count; i-- > 0;) items[i] = pop();
  add<Which>(std::move(items));
}

template <Pickle::Kind Which>
void PickleReader::add_from_mark() {
  add<Which>(pop_to_mark());
}

template <size_t Bytes>
void PickleReader::put() {
  remember(little_endian(Bytes));
}

template <size_t Bytes>
void PickleReader::get() {
  recall(little_endian(Bytes));
}

void PickleReader::put_line() {
  number_line();
  remember(static_cast<uint64_t>(at(pop()).number));
}

void PickleReader::get_line() {
  number_line();
  recall(static_cast<uint64_t>(at(pop()).number));
}

void PickleReader::remember(uint64_t key) { memo_[key] = top(); }

void PickleReader::recall(uint64_t key) {
  const auto found = memo_.find(key);
  require(found != memo_.end(), "a value that was stored before");
  require(stack_.size() < kMostValues, "no more than two million values");
  stack_.push_back(found->second);
}

}  // namespace syrtos::data
