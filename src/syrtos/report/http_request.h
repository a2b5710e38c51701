#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace syrtos::report {

/// What the head of a request says, as far as it is used here.
struct HttpRequest {
  std::string method;
  std::string path;   ///< decoded
  std::string token;  ///< of the query, ?token=T
  std::string host;
  std::string authorization;
};

/// Reads the head up to its empty line. Nothing: it is no request.
std::optional<HttpRequest> parse_request(std::string_view head);

}  // namespace syrtos::report
