#include "syrtos/nn/described_layer.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"

namespace syrtos::nn {

using nlohmann::json;

namespace {

std::string shown(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

DescribedLayer::DescribedLayer(const json& layer, size_t index) : json_(layer) {
  const auto text = [&](const char* key) {
    if (!layer.is_object() || !layer.contains(key) || !layer[key].is_string() ||
        layer[key].get_ref<const std::string&>().empty()) {
      fail_request("layer {}: expected \"{}\" with a text, found {}", index + 1, key,
                   shown(layer).substr(0, 200));
    }
    return layer[key].get<std::string>();
  };
  op_ = text("op");
  name_ = text("name");
  if (!layer.contains("of") || !layer["of"].is_array()) {
    fail("expected \"of\" with the names of the layers whose results it takes, found none");
  }
  for (const json& input : layer["of"]) {
    if (!input.is_string()) fail("expected the name of a layer in \"of\", found " + shown(input));
    of_.push_back(input.get<std::string>());
  }
  if (has("weights")) lender_ = text("weights");
}

bool DescribedLayer::is_alike(const DescribedLayer& other) const {
  json mine = json_;
  json others = other.json_;
  for (json* each : {&mine, &others}) {
    for (const char* key : {"name", "of", "weights"}) each->erase(key);
  }
  return mine == others;
}

void DescribedLayer::fail(const std::string& text) const {
  fail_request("layer {}: {}", title(), text);
}

const json* DescribedLayer::find(std::string_view key) const {
  const auto found = json_.find(key);
  return found == json_.end() || found->is_null() ? nullptr : &*found;
}

bool DescribedLayer::has(std::string_view key) const { return find(key) != nullptr; }

int64_t DescribedLayer::in_range(const json& value, std::string_view key, int64_t least,
                                 int64_t most) const {
  if (value.is_number_integer() && value.get<double>() >= static_cast<double>(least) &&
      value.get<double>() <= static_cast<double>(most)) {
    return value.get<int64_t>();
  }
  fail(fmt::format("{}: expected a whole number from {} to {}, found {}", key, least, most,
                   shown(value)));
}

int64_t DescribedLayer::integer(std::string_view key, int64_t fallback, int64_t least,
                                int64_t most) const {
  const json* value = find(key);
  return value == nullptr ? fallback : in_range(*value, key, least, most);
}

int64_t DescribedLayer::integer(std::string_view key, int64_t least, int64_t most) const {
  const json* value = find(key);
  if (value == nullptr) fail(fmt::format("expected \"{}\", found none", key));
  return in_range(*value, key, least, most);
}

float DescribedLayer::number(std::string_view key, float fallback) const {
  const json* value = find(key);
  if (value == nullptr) return fallback;
  if (!value->is_number() || !std::isfinite(value->get<float>())) {
    fail(fmt::format("{}: expected a number, found {}", key, shown(*value)));
  }
  return value->get<float>();
}

bool DescribedLayer::flag(std::string_view key, bool fallback) const {
  const json* value = find(key);
  if (value == nullptr) return fallback;
  if (!value->is_boolean()) {
    fail(fmt::format("{}: expected true or false, found {}", key, shown(*value)));
  }
  return value->get<bool>();
}

std::vector<int64_t> DescribedLayer::integers(std::string_view key, int64_t least,
                                              int64_t most) const {
  const json* value = find(key);
  if (value == nullptr) return {};
  if (!value->is_array()) return {in_range(*value, key, least, most)};
  std::vector<int64_t> list;
  for (const json& each : *value) list.push_back(in_range(each, key, least, most));
  return list;
}

std::string DescribedLayer::word(std::string_view key,
                                 const std::vector<std::string>& known) const {
  const json* value = find(key);
  if (value == nullptr) return known.front();
  std::string found = value->is_string() ? value->get<std::string>() : shown(*value);
  if (std::find(known.begin(), known.end(), found) != known.end()) return found;
  fail(fmt::format("{}: expected {}, found {}", key, fmt::join(known, " or "), found));
}

Extent DescribedLayer::extent(std::string_view key, const Extent& fallback, int64_t least) const {
  constexpr int64_t kMost = 1 << 14;
  const json* value = find(key);
  if (value == nullptr) return fallback;
  if (!value->is_array()) return in_range(*value, key, least, kMost);
  if (value->size() != 2) {
    fail(fmt::format("{}: expected one number or [height, width], found {}", key, shown(*value)));
  }
  return {in_range((*value)[0], key, least, kMost), in_range((*value)[1], key, least, kMost)};
}

Padding DescribedLayer::padding() const {
  const json* value = find("padding");
  if (value != nullptr && value->is_string()) {
    if (*value == "same") return Padding::same();
    if (*value == "valid") return Padding::valid();
    fail("padding: expected same, valid or numbers, found " + shown(*value));
  }
  const Extent amount = extent("padding", 0, 0);
  return {amount.axis[0], amount.axis[1]};
}

void DescribedLayer::refuse_others(const std::vector<std::string>& known) const {
  for (const auto& [key, value] : json_.items()) {
    if (key == "op" || key == "name" || key == "of" || key == "weights") continue;
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    fail(fmt::format("unknown attribute '{}'{}", key,
                     known.empty() ? ": it has none" : suggestion(key, known)));
  }
}

std::string shape_text(const Shape& shape) {
  const std::vector<int64_t> rest(shape.begin() + 1, shape.end());
  return fmt::format("[batch, {}]", fmt::join(rest, ", "));
}

}  // namespace syrtos::nn
