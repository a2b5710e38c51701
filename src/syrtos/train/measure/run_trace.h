#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "syrtos/job/trace_steps.h"
#include "syrtos/strategy/meter.h"
#include "syrtos/trace/host_reading.h"
#include "syrtos/trace/trace_file.h"
#include "syrtos/train/measure/kernel_times.h"
#include "syrtos/train/measure/message_trace.h"

namespace syrtos::train {

using job::TraceSteps;

/// Everything that one rank does in some steps, event by event (--trace): kernels, parts of the
/// step, exchanges, messages, batches that are ready, the host's curves.
class RunTrace {
 public:
  /// Before the first message.
  RunTrace(world::World& world, TraceSteps steps);

  void connect(strategy::Meter& meter, KernelTimes& profile);
  /// Of a server.
  void connect(strategy::Meter& meter) { meter.record(&recorder_, "server"); }
  /// The step with this number begins.
  void begin_step(int64_t step) { recorder_.turn(steps_.contains(step)); }
  /// The same, and so many batches are ready for it.
  void begin_step(int64_t step, int64_t queue);
  int64_t events() const { return recorder_.recorded(); }
  /// After the last step there is nothing more to record.
  void end() { recorder_.turn(false); }

  /// What this worker brings in the end. `samples`: the curves of its host, if it has them.
  std::string own(const std::vector<trace::ClockOffset>& offsets,
                  const std::vector<trace::HostSample>& samples);
  /// Worker 0: makes one file of what all brought; lost ones' texts are empty.
  static void write(const std::filesystem::path& file, const std::vector<std::string>& texts);

 private:
  void add_curves(const std::vector<trace::HostSample>& samples);

  const TraceSteps steps_;
  trace::Recorder recorder_;
  MessageTrace messages_;
  trace::Track& loader_;
  trace::Track& host_;
  trace::Name queue_, step_;
};

}  // namespace syrtos::train
