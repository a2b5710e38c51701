#pragma once

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

namespace syrtos::report {

/// What the page of a run shows now. Files are read again when they have changed, at most about
/// once in a second. One thread at a time.
class LiveData {
 public:
  static constexpr auto kAgain = std::chrono::milliseconds(900);  ///< files are looked at

  /// `begins`: the directory may still be empty.
  explicit LiveData(std::filesystem::path run, bool begins = false)
      : run_(std::move(run)), begins_(begins) {}

  /// Throws RequestError when there is no run and never was one; when it is gone, the last state
  /// stays and a banner says so.
  const nlohmann::json& get();

 private:
  void read(double now);
  void show_beginning();

  std::filesystem::path run_;
  bool begins_;
  nlohmann::json data_;
  std::string stamp_;  // of the files that data_ was made from
  std::chrono::steady_clock::time_point looked_;
};

/// The same in Prometheus' text format.
std::string prometheus_text(const nlohmann::json& data);

}  // namespace syrtos::report
