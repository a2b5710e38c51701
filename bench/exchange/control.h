#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "syrtos/base/clock.h"
#include "syrtos/world/socket.h"

namespace syrtos::bench {

/// To the driver, by lines of JSON over a socket of this machine. A side that is not asked for
/// anything waits here and takes no core from the one that is.
class Control {
 public:
  explicit Control(const std::string& path);
  void say(const nlohmann::json& line) const;
  /// Null when the driver has ended.
  nlohmann::json hear();

 private:
  Descriptor socket_;
  std::string read_;
};

/// What the driver asks for: so many calls of an all-reduce, in batches of which each is timed.
struct Request {
  size_t bytes = 0;
  int calls = 0;
  int batches = 0;
  std::string algorithm;

  explicit Request(const nlohmann::json& line);
  size_t count() const { return bytes / sizeof(float); }
};

/// The batches of one request: fills, takes times, and checks every element after the last call.
class Measurement {
 public:
  Measurement(const Request& request, int rank, int ranks, std::vector<float>& values);

  void fill() const;
  void begin();
  void end();
  /// Of payloads that this rank sent, where it counts them.
  void count_payload(size_t bytes) { payload_ += bytes; }
  void check();
  nlohmann::json result() const;

 private:
  const Request& request_;
  const int rank_;
  const int ranks_;
  float* const values_;
  Clock::time_point begun_;
  double cpu_begun_ = 0;
  size_t interface_begun_ = 0;

  std::vector<double> seconds_;
  double cpu_ = 0;
  size_t interface_ = 0;
  size_t payload_ = 0;
  size_t wrong_ = 0;
};

}  // namespace syrtos::bench
