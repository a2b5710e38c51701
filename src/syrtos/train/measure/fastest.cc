#include "syrtos/train/measure/fastest.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "syrtos/base/crc32.h"
#include "syrtos/base/log.h"
#include "syrtos/train/measure/kept.h"

namespace syrtos::train {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr double kSeconds = 0.3;  // for each way, after the warm-up
constexpr double kWorthIt = 0.95;

/// Knows what was measured before, and measures the rest.
class Search {
 public:
  Search(const nn::Network& network, const ProbeOptions& options, bool may_measure, json& known,
         const std::function<bool()>& should_stop)
      : network_(network),
        options_(options),
        may_measure_(may_measure),
        known_(known),
        should_stop_(should_stop) {
    options_.seconds = kSeconds;
    options_.profile = false;
    options_.brief = true;
  }

  /// Milliseconds of a step; none when it is not known and must not be measured.
  std::optional<double> time(DType dtype, int threads) {
    const std::string key = fmt::format("{}, {} threads", to_string(dtype), threads);
    if (const double before = number_in(known_, key.c_str()); before > 0) return before;
    if (!may_measure_ || should_stop_()) return std::nullopt;
    const std::vector<Setting> measured =
        compare_settings(network_, options_, {dtype}, {threads}, should_stop_);
    if (measured.empty()) return std::nullopt;
    known_[key] = measured[0].step_ms;
    has_measured_ = true;
    return measured[0].step_ms;
  }
  bool has_measured() const { return has_measured_; }

 private:
  const nn::Network& network_;
  ProbeOptions options_;
  bool may_measure_;
  json& known_;
  const std::function<bool()>& should_stop_;
  bool has_measured_ = false;
};

fs::path file_in(const fs::path& cache_home) { return cache_home / "syrtos" / "settings.json"; }

std::string prefix_of(const CpuInfo& cpu) {
  return fmt::format("{}, syrtos {}, ", cpu.model, SYRTOS_VERSION);
}

/// Files of one name may hold several networks, one after the other.
std::string name_in_key(const nn::Network& network) {
  if (network.file() == nullptr) return network.name();
  const std::string& bytes = network.file()->bytes;
  return fmt::format("{} ({:08x})", network.name(), crc32c(0, bytes.data(), bytes.size()));
}

std::string key_of(const nn::Network& network, const ProbeOptions& options, const CpuInfo& cpu) {
  nn::ModelOptions model = network.default_options();
  if (options.image.rank() > 0) {
    model.channels = options.image[0];
    model.height = options.image[1];
    model.width = options.image[2];
  }
  if (options.classes > 0) model.classes = options.classes;
  return fmt::format("{}{} {}x{}x{}, {} classes, batch {}", prefix_of(cpu), name_in_key(network),
                     model.channels, model.height, model.width, model.classes, options.batch);
}

void choose_precision(Search& search, Chosen& chosen) {
  const std::optional<double> f32 = search.time(DType::f32, chosen.threads);
  const std::optional<double> bf16 = search.time(DType::bf16, chosen.threads);
  if (!f32 || !bf16) return;
  const bool is_faster = *bf16 < *f32 * kWorthIt;
  chosen.precision.dtype = is_faster ? DType::bf16 : DType::f32;
  chosen.precision.reason =
      is_faster      ? fmt::format("{:.1f} times as fast as f32 here", *f32 / *bf16)
      : *bf16 > *f32 ? fmt::format("bf16 takes {:.2f} times as long here", *bf16 / *f32)
                     : "bf16 is no faster here";
}

void choose_threads(Search& search, int cores, Chosen& chosen) {
  std::optional<double> best = search.time(chosen.precision.dtype, chosen.threads);
  for (const int fewer : thread_counts(cores)) {
    if (fewer >= chosen.threads) continue;
    const std::optional<double> time = search.time(chosen.precision.dtype, fewer);
    if (!best || !time || *time >= *best * kWorthIt) return;
    best = time;
    chosen.threads = fewer;
  }
}

}  // namespace

std::vector<DType> precisions_of(const CpuInfo& cpu) {
  if (cpu.has_amx_bf16 || cpu.has_avx512_bf16) return {DType::f32, DType::bf16};
  return {DType::f32};
}

std::vector<int> thread_counts(int cores) {
  std::vector<int> counts;
  for (int count = std::max(1, cores); count > 1; count /= 2) counts.push_back(count);
  counts.push_back(1);
  return counts;
}

std::vector<Setting> compare_settings(const nn::Network& network, const ProbeOptions& options,
                                      const std::vector<DType>& dtypes,
                                      const std::vector<int>& threads,
                                      const std::function<bool()>& should_stop) {
  std::vector<Setting> result;
  for (const DType dtype : dtypes) {
    for (const int count : threads) {
      ProbeOptions probe = options;
      probe.precision.dtype = dtype;
      probe.threads = count;
      const ProbeResult measured = probe_compute(network, probe, should_stop);
      if (should_stop && should_stop()) return result;
      result.push_back({dtype, count, measured.t_fastest_ms});
    }
  }
  return result;
}

Chosen choose_fastest(const nn::Network& network, const ProbeOptions& options, Wanted wanted,
                      bool may_measure, const CpuInfo& cpu, const fs::path& cache_home,
                      const std::function<bool()>& should_stop) {
  Chosen chosen{.precision = options.precision, .threads = options.threads};
  wanted.precision = wanted.precision && precisions_of(cpu).size() > 1;
  wanted.threads = wanted.threads && cpu.cores > 1;
  if (!wanted.precision && !wanted.threads) return chosen;
  const fs::path file = file_in(cache_home);
  json known = cache_home.empty() ? json::object() : read_kept(file);
  json& entry = known[key_of(network, options, cpu)];
  if (!entry.is_object()) entry = json::object();
  // Beside other work the answer would be a matter of chance: then the rule decides, always alike.
  const bool can_measure = may_measure && !others_are_running();
  Search search(network, options, can_measure, entry, should_stop);
  if (wanted.precision) choose_precision(search, chosen);
  if (wanted.threads) choose_threads(search, cpu.cores, chosen);
  if (search.has_measured() && !cache_home.empty()) keep(file, known);
  log_info("fastest here: {} with {} threads ({})", to_string(chosen.precision.dtype),
           chosen.threads, chosen.precision.reason);
  return chosen;
}

std::vector<std::string> known_settings(const CpuInfo& cpu, const fs::path& cache_home) {
  std::vector<std::string> lines;
  if (cache_home.empty()) return lines;
  const std::string prefix = prefix_of(cpu);
  const json known = read_kept(file_in(cache_home));
  for (const auto& [key, entry] : known.items()) {
    if (!key.starts_with(prefix) || !entry.is_object()) continue;
    std::string fastest;
    for (const auto& [way, ms] : entry.items()) {
      const bool is_better =
          fastest.empty() || number_in(entry, way.c_str()) < number_in(entry, fastest.c_str());
      if (ms.is_number() && is_better) fastest = way;
    }
    lines.push_back(fmt::format("{}: {}", key.substr(prefix.size()), fastest));
  }
  return lines;
}

}  // namespace syrtos::train
