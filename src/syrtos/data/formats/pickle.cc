#include "syrtos/data/formats/pickle.h"

#include "syrtos/base/error.h"
#include "syrtos/data/formats/pickle_reader.h"

namespace syrtos::data {

Pickle::Pickle(std::span<const uint8_t> bytes, std::string name) : name_(std::move(name)) {
  PickleReader(*this, bytes).run();
}

const Pickle::Value* Pickle::find(std::string_view key) const {
  const std::vector<uint32_t>& items = values_[root_].items;
  for (size_t i = 0; i + 1 < items.size(); i += 2) {
    const Value& candidate = values_[items[i]];
    if (candidate.kind == Kind::text && candidate.text == key) return &values_[items[i + 1]];
  }
  return nullptr;
}

const Pickle::Value& Pickle::get(std::string_view key, Kind kind, const char* what) const {
  const Value* value = find(key);
  if (value == nullptr || value->kind != kind) {
    fail_request("{}: expected {} under the key '{}', found {}", name_, what, key,
                 value == nullptr ? "no such key" : "something else");
  }
  return *value;
}

Pickle::Array Pickle::array(std::string_view key) const {
  const Value& value = get(key, Kind::array, "a NumPy array");
  return {.rows = value.number,
          .columns = value.columns,
          .values = {reinterpret_cast<const uint8_t*>(value.text.data()), value.text.size()}};
}

std::vector<int64_t> Pickle::numbers(std::string_view key) const {
  std::vector<int64_t> result;
  for (const uint32_t item : get(key, Kind::list, "a list of numbers").items) {
    if (values_[item].kind != Kind::number) {
      fail_request("{}: expected a whole number as item {} of '{}', found something else", name_,
                   result.size(), key);
    }
    result.push_back(values_[item].number);
  }
  return result;
}

std::vector<std::string> Pickle::texts(std::string_view key) const {
  std::vector<std::string> result;
  for (const uint32_t item : get(key, Kind::list, "a list of texts").items) {
    if (values_[item].kind != Kind::text) {
      fail_request("{}: expected a text as item {} of '{}', found something else", name_,
                   result.size(), key);
    }
    result.emplace_back(values_[item].text);
  }
  return result;
}

}  // namespace syrtos::data
