#include "syrtos/job/request.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "syrtos/base/error.h"

namespace syrtos::job {

namespace {

template <typename Number>
Number parse_number(const std::string& text, std::string_view where, const char* kind) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    fail_request("{}: expected {}, found '{}'", where, kind, text);
  }
  return value;
}

}  // namespace

bool JobRequest::gives(std::string_view key) const {
  if (std::find(given.begin(), given.end(), key) != given.end()) return true;
  // Who calls the library sets members.
  const JobField* field = find_field(key);
  return field != nullptr && field_text(*this, *field) != field_text(JobRequest{}, *field);
}

std::string_view JobField::section() const {
  const size_t dot = key.find('.');
  return dot == std::string_view::npos ? std::string_view() : key.substr(0, dot);
}

std::string_view JobField::name() const {
  const size_t dot = key.find('.');
  return dot == std::string_view::npos ? key : key.substr(dot + 1);
}

std::string JobField::default_text() const {
  return open.empty() ? field_text(JobRequest{}, *this) : std::string(open);
}

const JobField* find_field(std::string_view key) {
  const std::span<const JobField> fields = job_fields();
  const auto found = std::find_if(fields.begin(), fields.end(),
                                  [&](const JobField& field) { return field.key == key; });
  return found == fields.end() ? nullptr : &*found;
}

void set_field(JobRequest& request, const JobField& field, const std::string& text,
               std::string_view where) {
  request.given.push_back(field.key);
  if (const auto* member = std::get_if<std::string JobRequest::*>(&field.member)) {
    request.** member = text;
  } else if (const auto* whole = std::get_if<int64_t JobRequest::*>(&field.member)) {
    request.** whole = parse_number<int64_t>(text, where, "a whole number");
  } else {
    const double value = parse_number<double>(text, where, "a number");
    if (!std::isfinite(value)) fail_request("{}: expected a number, found '{}'", where, text);
    request.*std::get<double JobRequest::*>(field.member) = value;
  }
}

std::string field_text(const JobRequest& request, const JobField& field) {
  if (const auto* text = std::get_if<std::string JobRequest::*>(&field.member)) {
    return request.**text;
  }
  if (const auto* whole = std::get_if<int64_t JobRequest::*>(&field.member)) {
    return request.**whole == kUnset ? "" : fmt::format("{}", request.**whole);
  }
  // The shortest form that reads back as the same number.
  const double value = request.*std::get<double JobRequest::*>(field.member);
  return std::isnan(value) ? "" : fmt::format("{}", value);
}

}  // namespace syrtos::job
