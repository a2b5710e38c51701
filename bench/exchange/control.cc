#include "bench/exchange/control.h"

#include <sys/resource.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <fstream>

#include "syrtos/base/error.h"

namespace syrtos::bench {

namespace {

/// Of the whole process, the kernel's work for it included.
double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Bytes that left by this host's interfaces, headers included.
size_t interface_bytes() {
  std::ifstream file("/proc/self/net/dev");
  size_t total = 0;
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    std::istringstream numbers(line.substr(colon + 1));
    std::array<size_t, 9> fields{};
    for (size_t& field : fields) numbers >> field;
    total += fields[8];
  }
  return total;
}

float value_of(size_t index, int rank) {
  return static_cast<float>(index % 251 + 1 + 3 * static_cast<size_t>(rank));
}

}  // namespace

Control::Control(const std::string& path)
    : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  SYRTOS_CHECK(path.size() < sizeof(address.sun_path), "{}", path);
  std::memcpy(address.sun_path, path.data(), path.size());
  if (connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    fail_run("cannot connect to the driver at {}: {}", path, std::strerror(errno));
  }
}

void Control::say(const nlohmann::json& line) const {
  const std::string text = line.dump() + "\n";
  size_t at = 0;
  while (at < text.size()) {
    const ssize_t sent = write(socket_.get(), text.data() + at, text.size() - at);
    if (sent < 0) fail_run("the driver is gone: {}", std::strerror(errno));
    at += static_cast<size_t>(sent);
  }
}

nlohmann::json Control::hear() {
  while (read_.find('\n') == std::string::npos) {
    std::array<char, 4096> buffer;
    const ssize_t got = read(socket_.get(), buffer.data(), buffer.size());
    if (got <= 0) return nullptr;
    read_.append(buffer.data(), static_cast<size_t>(got));
  }
  const size_t end = read_.find('\n');
  auto line = nlohmann::json::parse(read_.substr(0, end));
  read_.erase(0, end + 1);
  return line;
}

Request::Request(const nlohmann::json& line)
    : bytes(line["bytes"]),
      calls(line["calls"]),
      batches(line["batches"]),
      algorithm(line["algorithm"]) {}

Measurement::Measurement(const Request& request, int rank, int ranks, std::vector<float>& values)
    : request_(request), rank_(rank), ranks_(ranks), values_(values.data()) {
  SYRTOS_CHECK(values.size() >= request.count());
}

void Measurement::fill() const {
  for (size_t i = 0; i < request_.count(); ++i) values_[i] = value_of(i, rank_);
}

void Measurement::begin() {
  interface_begun_ = interface_bytes();
  cpu_begun_ = cpu_seconds();
  begun_ = Clock::now();
}

void Measurement::end() {
  seconds_.push_back(seconds_since(begun_) / request_.calls);
  cpu_ += cpu_seconds() - cpu_begun_;
  interface_ += interface_bytes() - interface_begun_;
}

/// Each call sums what the one before left: the first sum times ranks, again and again, which
/// stays exact while the number of ranks is a power of two.
void Measurement::check() {
  const auto ranks = static_cast<float>(ranks_);
  const float further = std::pow(ranks, static_cast<float>(request_.calls - 1));
  for (size_t i = 0; i < request_.count(); ++i) {
    const float sum = ranks * value_of(i, 0) + 1.5F * ranks * (ranks - 1);
    if (values_[i] != sum * further) ++wrong_;
  }
}

nlohmann::json Measurement::result() const {
  return {{"seconds", seconds_},
          {"cpu", cpu_},
          {"interface", interface_},
          {"payload", payload_},
          {"wrong", wrong_}};
}

}  // namespace syrtos::bench
