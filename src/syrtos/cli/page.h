#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "syrtos/report/live_page.h"

namespace syrtos::cli {

/// --web: the page of a run as long as this lives.
class Page {
 public:
  /// `port` as the option takes it; empty: no page.
  explicit Page(std::string port) : port_(std::move(port)) {}

  /// Refuses (RequestError) what show() could not do, before anything is started.
  static void check(const std::string& port);
  /// Shows the run and says where, on stderr.
  void show(const std::filesystem::path& run);

 private:
  std::string port_;
  std::unique_ptr<report::LivePage> page_;
};

}  // namespace syrtos::cli
