#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "syrtos/api/probe.h"
#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/cli/command.h"

namespace syrtos::cli {

namespace {

using train::ProbeGroup;
using train::ProbeResult;

constexpr size_t kShownKernels = 40;

struct ProbeOptions {
  api::ProbeRequest probe;
  api::TimesFile times;
  bool compare = false;
  bool json = false;
};

void print_groups(const char* title, const std::vector<ProbeGroup>& groups, size_t shown) {
  double total = 0;
  for (const ProbeGroup& group : groups) total += group.ms;
  fmt::print("\n{:>9}  {:>6}  {:>5}  {:>9}  {}\n", "ms", "share", "count", "GFLOP/s", title);
  for (size_t i = 0; i < groups.size() && i < shown; ++i) {
    const ProbeGroup& group = groups[i];
    fmt::print("{:9.3f}  {:5.1f}%  {:5}  {:9.0f}  {}\n", group.ms, 100 * group.ms / total,
               group.count, group.gflops, group.name);
  }
  if (groups.size() > shown) fmt::print("           and {} more\n", groups.size() - shown);
}

void print(const ProbeResult& r) {
  fmt::print("{}: {} parameters, batch {}, {}x{}x{}, {} ({}), {} thread{}\n", r.network,
             format_count(r.parameters), r.batch, r.image[0], r.image[1], r.image[2],
             to_string(r.precision.dtype), r.precision.reason, r.threads,
             r.threads == 1 ? "" : "s");
  fmt::print(
      "step {:.2f} ms: forward {:.2f}, backward {:.2f}, update {:.2f} "
      "(each the median of {} steps), {:.0f} GFLOP/s\n",
      r.t_step_ms, r.t_forward_ms, r.t_backward_ms, r.t_update_ms, r.steps, r.gflops);
  fmt::print("memory: {:.0f} MB at most, of these {:.0f} MB arena\n", r.peak_rss_mb, r.arena_mb);
  if (r.by_operation.empty()) return;
  print_groups("operation", r.by_operation, r.by_operation.size());
  print_groups("layer, operation, implementation", r.by_kernel, kShownKernels);
}

/// Every precision and number of threads, side by side; the fastest is what auto takes.
int compare(const ProbeOptions& options, const Context& context) {
  if (!options.times.file.empty() || options.probe.profile) {
    fail_request("--compare measures whole steps alone: leave {} out",
                 options.times.file.empty() ? "--profile" : "--times");
  }
  const api::SettingsProbed probed = api::probe_settings(options.probe, surroundings(context));
  if (context.interrupted()) return kExitFailed;
  if (options.json) {
    fmt::print("{}\n", to_json(probed).dump());
    return kExitDone;
  }
  const auto best =
      std::min_element(probed.settings.begin(), probed.settings.end(),
                       [](const auto& a, const auto& b) { return a.step_ms < b.step_ms; });
  fmt::print("{:>9}  {:>7}  {:>9}  {:>9}\n", "precision", "threads", "step, ms", "samples/s");
  for (const train::Setting& setting : probed.settings) {
    const double rate = 1e3 * static_cast<double>(probed.batch) / setting.step_ms;
    fmt::print("{:>9}  {:>7}  {:>9.2f}  {:>9.0f}  {}\n", to_string(setting.dtype), setting.threads,
               setting.step_ms, rate,
               &setting == &*best
                   ? "fastest"
                   : fmt::format("{:.2f} times as long", setting.step_ms / best->step_ms));
  }
  return kExitDone;
}

int run_probe(const ProbeOptions& options, const Context& context) {
  if (options.compare) return compare(options, context);
  const auto [result, doubt] = api::probe(options.probe, options.times, surroundings(context));
  if (context.interrupted()) {
    fmt::print(stderr, "interrupted after {} steps\n", result.steps);
    return kExitFailed;
  }
  if (!doubt.empty()) fmt::print(stderr, "note: {}\n", doubt);
  if (options.json) {
    fmt::print("{}\n", api::to_json(result).dump());
  } else {
    print(result);
  }
  return kExitDone;
}

struct DataOptions {
  job::JobRequest request = {.network = "mlp", .data = "cifar10"};  // it takes samples of any size
  double seconds = 3;
  bool json = false;
};

int run_probe_data(const DataOptions& options, const Context& context) {
  const api::DataProbed probed =
      api::probe_data(options.request, options.seconds, surroundings(context));
  const auto& [job, r] = probed;
  if (context.interrupted()) {
    fmt::print(stderr, "interrupted after {} samples\n", r.samples);
    return kExitFailed;
  }
  if (options.json) {
    fmt::print("{}\n", to_json(probed).dump());
    return kExitDone;
  }
  fmt::print("{} as {}, augmented by {}, batches of {} in {}, {} ahead, {} thread{}\n", job.data,
             job.input, job.augment, job.batch, job.precision, job.prefetch, job.threads,
             job.threads == 1 ? "" : "s");
  fmt::print("{} samples/s; per sample and thread {:.1f} us reading, {:.1f} us transforming\n",
             format_count(std::llround(r.images_per_s)), r.read_us, r.transform_us);
  return kExitDone;
}

void add_probe_data(Command command, Run& run) {
  auto options = std::make_shared<DataOptions>();
  job::JobRequest& request = options->request;
  Command data = command.add_subcommand("data", "Time the making of batches");
  data.add_option("--data", request.data, "data set or path").show_default();
  data.add_option("--augment", request.augment, "such as crop:4,flip,cutout:8").show_default();
  data.add_option("--input", request.input, "image size (default: the data's)");
  data.add_option("--batch", request.batch, "samples per batch").show_default();
  data.add_option("--precision", request.precision, "auto, f32 or bf16").show_default();
  data.add_option("--prefetch", request.prefetch, "batches prepared ahead").show_default();
  data.add_option("--cache", request.cache, "keep decoded pictures: auto, none, memory or disk")
      .show_default();
  data.add_option("--threads", request.threads, "default: all cores");
  data.add_option("--seconds", options->seconds, "how long to measure").show_default();
  data.add_flag("--json", options->json, "print as JSON");
  data.footer("Example:\n  syrtos probe data --data cifar10 --augment crop:4,flip,cutout:8");
  data.callback([options, &run] {
    run = [options](const Context& context) { return run_probe_data(*options, context); };
  });
}

}  // namespace

void add_probe(Command app, Run& run) {
  auto options = std::make_shared<ProbeOptions>();
  Command command = app.add_subcommand("probe", "Measure this machine or a cluster");
  command.require_subcommand(1, 1);
  command.footer(
      "Examples:\n"
      "  syrtos probe compute --network resnet18 --batch 42 --input 32\n"
      "  syrtos probe data --data cifar10 --augment crop:4,flip\n"
      "  syrtos probe network --hosts hosts.txt --to cluster.toml");
  add_probe_data(command, run);
  add_probe_network(command, run);
  Command compute = command.add_subcommand("compute", "Time the training steps of a network");
  api::ProbeRequest& probe = options->probe;
  compute.add_option("--network", probe.network, "network").show_default();
  compute.add_option("--batch", probe.batch, "samples per step").show_default();
  compute.add_option("--input", probe.input,
                     "image size, 32, 48x64 or 3x48x64 (default: the network's)");
  compute.add_option("--classes", probe.classes, "number of classes (default: the network's)");
  compute.add_option("--precision", probe.precision, "auto, f32 or bf16").show_default();
  compute.add_option("--threads", probe.threads, "default: what is fastest here");
  compute.add_option("--seconds", probe.seconds, "how long to measure").show_default();
  compute.add_flag("--profile", probe.profile, "time of each operation and kernel");
  compute
      .add_option("--times", options->times.file,
                  "write what plans are made from and 'train --replay' sleeps for")
      .type_name("FILE");
  compute
      .add_option("--more-batches", options->times.batches,
                  "sizes that the file is to have too: 21,11")
      .delimiter(',');
  compute.add_flag("--compare", options->compare, "every precision and number of threads");
  compute.add_flag("--json", options->json, "print as JSON");
  compute.footer(
      "Examples:\n"
      "  syrtos probe compute --network resnet18 --batch 42 --input 32 --json\n"
      "  syrtos probe compute --network alexnet --input 64 --precision bf16 --profile\n"
      "  syrtos probe compute --network cifar10-fast --compare");
  compute.callback([options, &run] {
    run = [options](const Context& context) { return run_probe(*options, context); };
  });
}

}  // namespace syrtos::cli
