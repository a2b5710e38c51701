#include "syrtos/report/http_request.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace syrtos::report {

namespace {

std::string_view take_until(std::string_view& text, std::string_view end) {
  const size_t at = text.find(end);
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(at == text.npos ? text.size() : at + end.size());
  return taken;
}

/// Nothing: what follows a % is no number.
std::optional<std::string> decoded(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      result += text[i];
      continue;
    }
    unsigned value = 0;
    const char* digits = text.data() + i + 1;
    if (i + 2 >= text.size()) return std::nullopt;
    const auto [end, error] = std::from_chars(digits, digits + 2, value, 16);
    if (error != std::errc() || end != digits + 2) return std::nullopt;
    result += static_cast<char>(value);
    i += 2;
  }
  return result;
}

bool same_name(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

}  // namespace

std::optional<HttpRequest> parse_request(std::string_view head) {
  HttpRequest request;
  std::string_view line = take_until(head, "\r\n");
  request.method = take_until(line, " ");
  std::string_view target = take_until(line, " ");
  if (request.method.empty() || !target.starts_with('/') || !line.starts_with("HTTP/1.")) {
    return std::nullopt;
  }
  const std::optional<std::string> path = decoded(take_until(target, "?"));
  if (!path) return std::nullopt;
  request.path = *path;
  while (!target.empty()) {
    std::string_view value = take_until(target, "&");
    if (take_until(value, "=") == "token") request.token = decoded(value).value_or("");
  }
  while (!head.empty()) {
    std::string_view value = take_until(head, "\r\n");
    const std::string_view name = take_until(value, ":");
    if (same_name(name, "Host")) request.host = trimmed(value);
    if (same_name(name, "Authorization")) request.authorization = trimmed(value);
  }
  return request;
}

}  // namespace syrtos::report
