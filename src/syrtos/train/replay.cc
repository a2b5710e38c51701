#include "syrtos/train/replay.h"

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "syrtos/base/error.h"
#include "syrtos/base/files.h"

namespace syrtos::train {

using nlohmann::json;

double ReplayTimes::seconds(size_t first, size_t last) const {
  return std::accumulate(items.begin() + static_cast<ptrdiff_t>(first),
                         items.begin() + static_cast<ptrdiff_t>(last), 0.0);
}

ReplayTimes read_replay(const std::filesystem::path& file) {
  std::ifstream stream(file);
  if (!stream) {
    fail_request(
        "--replay: cannot read {}: make it with 'syrtos probe compute --network NAME --times {}'",
        file.string(), file.string());
  }
  try {
    const json text = json::parse(stream);
    ReplayTimes times{.network = text.at("network"),
                      .batch = text.at("batch"),
                      .items = text.at("items").get<std::vector<double>>(),
                      .update_s = text.at("update")};
    if (times.batch < 1) {
      fail_request("--replay: {}: expected a batch of 1 or more, found {}", file.string(),
                   times.batch);
    }
    times.items.push_back(times.update_s);  // checked with them
    for (const double seconds : times.items) {
      if (!std::isfinite(seconds) || seconds < 0 || seconds > 3600) {
        fail_request("--replay: {}: expected seconds, found {}", file.string(), seconds);
      }
    }
    times.items.pop_back();
    return times;
  } catch (const json::exception& error) {
    fail_request("--replay: {} is not a file of times: {}", file.string(), error.what());
  }
}

void write_replay(const std::filesystem::path& file, const ReplayTimes& times) {
  AtomicFile out(file);
  out.write(json({{"network", times.network},
                  {"batch", times.batch},
                  {"items", times.items},
                  {"update", times.update_s}})
                .dump() +
            "\n");
  out.commit();
}

void check_replay(const ReplayTimes& times, const std::string& network,
                  const graph::Program& program) {
  if (times.network != network || times.items.size() != program.items().size()) {
    fail_request("--replay: expected times of {} ({} kernels), found those of {} ({} kernels)",
                 network, program.items().size(), times.network, times.items.size());
  }
}

}  // namespace syrtos::train
