#include "syrtos/train/measure/run_trace.h"

#include <algorithm>

#include "syrtos/base/error.h"
#include "syrtos/trace/causality.h"
#include "syrtos/trace/trace_bytes.h"

namespace syrtos::train {

namespace {

/// Worker 0 holds those of all.
int64_t most_events(int ranks) { return std::clamp<int64_t>(4'000'000 / ranks, 50'000, 1'000'000); }

}  // namespace

RunTrace::RunTrace(world::World& world, TraceSteps steps)
    : steps_(steps),
      recorder_({.rank = world.rank(),
                 .host = world.host(world.rank()),
                 .max_events = most_events(world.size()),
                 .tracks = {"worker", "server", "compute", "exchange"},
                 .on = false}),
      messages_(world, recorder_),
      loader_(*recorder_.track("loader")),
      host_(*recorder_.track("host")),
      queue_(recorder_.name("loader, batches ready")),
      step_(recorder_.name("step")) {}

void RunTrace::connect(strategy::Meter& meter, KernelTimes& profile) {
  meter.record(&recorder_);
  profile.record(&recorder_);
}

void RunTrace::begin_step(int64_t step, int64_t queue) {
  begin_step(step);
  const int64_t now = trace::now();
  loader_.counter(queue_, now, static_cast<double>(queue));
  loader_.instant(step_, now, {{step_, step}});
}

void RunTrace::add_curves(const std::vector<trace::HostSample>& samples) {
  const trace::Name cpu = recorder_.name("CPU, %");
  const trace::Name memory = recorder_.name("memory used, GB");
  const trace::Name in = recorder_.name("network in, MB/s");
  const trace::Name out = recorder_.name("network out, MB/s");
  recorder_.turn(true);
  for (const trace::HostSample& sample : samples) {
    host_.counter(cpu, sample.time, 100 * (sample.user + sample.system));
    host_.counter(memory, sample.time, sample.memory_used * 1e-9);
    host_.counter(in, sample.time, sample.network_in * 1e-6);
    host_.counter(out, sample.time, sample.network_out * 1e-6);
  }
  recorder_.turn(false);
}

std::string RunTrace::own(const std::vector<trace::ClockOffset>& offsets,
                          const std::vector<trace::HostSample>& samples) {
  recorder_.turn(false);
  add_curves(samples);
  trace::RankEvents events = recorder_.events();
  // Workers do not serve, servers run no kernels.
  std::erase_if(events.tracks, [](const trace::TrackEvents& track) {
    return track.events.empty() && track.dropped == 0;
  });
  events.clock = trace::ClockMap(offsets);
  return trace::to_bytes(events);
}

void RunTrace::write(const std::filesystem::path& file, const std::vector<std::string>& texts) {
  std::vector<trace::RankEvents> ranks;
  for (size_t rank = 0; rank < texts.size(); ++rank) {
    if (texts[rank].empty()) continue;
    ranks.push_back(trace::events_from_bytes(texts[rank], fmt::format("rank {}", rank)));
  }
  trace::order_messages(ranks);
  trace::write_trace(file, ranks);
}

}  // namespace syrtos::train
