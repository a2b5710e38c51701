#include "syrtos/cli/page.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdio>

#include "syrtos/base/error.h"
#include "syrtos/report/http_server.h"

namespace syrtos::cli {

namespace {

int port_of(const std::string& text) {
  int port = -1;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, port);
  if (error != std::errc() || end != last || port < 0 || port > 65535) {
    fail_request("--web: expected a port from 0 (any) to 65535, found '{}'", text);
  }
  return port;
}

}  // namespace

void Page::check(const std::string& port) {
  if (!port.empty()) report::HttpServer({.port = port_of(port), .answer = {}});
}

void Page::show(const std::filesystem::path& run) {
  if (port_.empty()) return;
  page_ = std::make_unique<report::LivePage>(
      report::LiveOptions{.run = run, .port = port_of(port_), .begins = true});
  fmt::print(stderr, "page: {}\n", page_->url());
}

}  // namespace syrtos::cli
