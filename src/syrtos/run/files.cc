#include "syrtos/run/files.h"

#include <array>

#include "syrtos/base/error.h"

namespace syrtos::run {

namespace {

constexpr std::string_view kMeasuring =
    "worker 0, at the end of an epoch (unless that took too long before) and of the run";
constexpr std::string_view kWatching = "worker 0, about once in a second";
constexpr std::string_view kEarly = "until it is written for the first time";

constexpr std::array<FileInfo, 21> kFiles = {{
    {File::about, "run.json", "the version of the format, and which program made the run",
     "worker 0, when the run is made", "in runs of versions that did not write it", false, true},
    {File::owner, "owner.json", "which process trains the run, so that no other one does",
     "worker 0, while it trains", "while nobody trains it", false, false},
    {File::job, "job.toml", "what was asked for, as a job file",
     "worker 0, when the run is made, and when it goes on with other options", "", false, true},
    {File::network, "network.onnx", "the network of an ONNX file, without its weights",
     "worker 0, when the run is made", "of other networks", false, false},
    {File::layers, "network.json", "a network that was described layer by layer",
     "worker 0, when the run is made", "of other networks", false, false},
    {File::metrics, "metrics.jsonl", "a line for each epoch",
     "worker 0, a line at the end of an epoch", "", false, true},
    {File::scores, "scores.json",
     "what the best epoch's predictions came to, class by class, label by label or value by value",
     "worker 0, at the end of the best epoch so far",
     "until an epoch is evaluated, and with more than 100 classes", true, true},
    {File::last_checkpoint, "last.ckpt", "the position of the run, to go on from",
     "worker 0, at the end of an epoch, every so many steps if asked, and when it is interrupted",
     kEarly, false, false},
    {File::previous_checkpoint, "previous.ckpt",
     "the last checkpoint but one, to go on from when the last one is damaged",
     "worker 0, with last.ckpt", "until the second checkpoint", false, false},
    {File::best_checkpoint, "best.ckpt", "the checkpoint of the best epoch so far",
     "worker 0, at the end of an epoch", kEarly, false, false},
    {File::events, "events.out.tfevents.", "curves and the network's graph, for TensorBoard",
     "worker 0, a file for each process that trained", kEarly, false, false},
    {File::progress, "progress.json", "how far the run is, and how it ended", kWatching, kEarly,
     false, true},
    {File::curve, "curve.csv", "loss, accuracy (or error) and speed within epochs",
     "worker 0, a line about once in a second, in long runs less often", kEarly, false, true},
    {File::log, "log.txt", "what the run had to say",
     "worker 0, when it begins and after each epoch", kEarly, false, true},
    {File::live, "live.json", "where the time of each rank goes, second by second", kWatching,
     "before the first second and after the run: steps.csv has it then", false, true},
    {File::steps, "steps.csv", "where the time of each rank's steps went", kMeasuring, kEarly, true,
     true},
    {File::parts, "parts.json",
     "which steps each process trained, with which team, and whom it lost", kMeasuring, kEarly,
     true, true},
    {File::hosts, "hosts.json", "CPU, memory, network and processes of each host",
     "worker 0, with steps.csv and live.json", "without sampling (--sample-seconds 0)", true, true},
    {File::operators, "operators.json", "how long worker 0's kernels took", kMeasuring,
     "where computing is replayed (--replay)", true, true},
    {File::exchange, "exchange.json", "what crossed, bucket by bucket and rank by rank", kMeasuring,
     kEarly, true, true},
    {File::trace, "trace.json.gz", "every event of some steps, for Perfetto",
     "worker 0, at the end of the run", "without --trace", true, false},
}};

}  // namespace

std::span<const FileInfo> all_files() { return kFiles; }

std::string name_of(File file) {
  for (const FileInfo& info : kFiles) {
    if (info.file == file) return std::string(info.name);
  }
  SYRTOS_CHECK(false, "no file {}", static_cast<int>(file));
  return {};
}

}  // namespace syrtos::run
