#include "syrtos/trace/tensorboard.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <system_error>
#include <utility>

#include "syrtos/base/crc32.h"
#include "syrtos/base/error.h"
#include "syrtos/base/host_name.h"
#include "syrtos/trace/protobuf.h"

namespace syrtos::trace {

namespace {

constexpr std::string_view kPrefix = "events.out.tfevents.";

// Field numbers of TensorFlow's event.proto and what it includes.
namespace event {
constexpr uint32_t kWallTime = 1, kStep = 2, kFileVersion = 3, kGraphDef = 4, kSummary = 5,
                   kSessionLog = 7;
}
namespace summary {
constexpr uint32_t kValue = 1, kTag = 1, kSimpleValue = 2;
}
namespace session_log {
constexpr uint32_t kStatus = 1;
constexpr int64_t kStart = 1;
}  // namespace session_log
namespace graph_def {
constexpr uint32_t kNode = 1, kVersions = 4, kProducer = 1;
}
namespace node_def {
constexpr uint32_t kName = 1, kOp = 2, kInput = 3, kAttr = 5;
}
namespace attr {  // of a map's entry, AttrValue, its ListValue, TensorShapeProto and its Dim
constexpr uint32_t kKey = 1, kValue = 2, kList = 1, kType = 6, kShapes = 7, kDim = 2, kSize = 1;
}

// TensorFlow's DataType.
int64_t type_number(std::string_view dtype) {
  constexpr std::array<std::pair<std::string_view, int64_t>, 4> kTypes = {
      {{"f32", 1}, {"s32", 3}, {"u8", 4}, {"bf16", 14}}};
  const auto* found =
      std::find_if(kTypes.begin(), kTypes.end(), [&](auto& type) { return type.first == dtype; });
  SYRTOS_CHECK(found != kTypes.end(), "no type '{}' in TensorBoard's graphs", dtype);
  return found->second;
}

Message attribute(std::string_view key, const Message& value) {
  return Message().bytes(attr::kKey, key).message(attr::kValue, value);
}

Message node_def_of(const GraphNode& node) {
  Message message;
  message.bytes(node_def::kName, node.name).bytes(node_def::kOp, node.op);
  for (const std::string& input : node.inputs) message.bytes(node_def::kInput, input);

  Message shape;
  for (const int64_t size : node.output_shape) {
    shape.message(attr::kDim, Message().integer(attr::kSize, size));
  }
  const Message shapes = Message().message(attr::kList, Message().message(attr::kShapes, shape));
  message.message(node_def::kAttr, attribute("_output_shapes", shapes));
  if (!node.dtype.empty()) {
    // As TensorFlow names it: what an operation computes in is T, what a source gives is dtype.
    const char* key = node.inputs.empty() ? "dtype" : "T";
    const Message type = Message().integer(attr::kType, type_number(node.dtype));
    message.message(node_def::kAttr, attribute(key, type));
  }
  return message;
}

uint32_t masked_crc(std::string_view data) {
  const uint32_t crc = crc32c(0, data.data(), data.size());
  return (crc >> 15 | crc << 17) + 0xa282ead8U;  // so that a checksum of checksums stays one
}

void create(const std::filesystem::path& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) fail_run("cannot create {}: {}", directory.string(), error.message());
}

// Files are read in the order of their names, so a new one is named later than all that are there,
// even when the clock was set back or a second has not passed.
std::filesystem::path new_file(const std::filesystem::path& directory, double wall_time) {
  auto seconds = static_cast<int64_t>(wall_time);
  std::error_code error;
  auto entries = std::filesystem::directory_iterator(directory, error);
  if (error) fail_run("cannot read {}: {}", directory.string(), error.message());
  for (const auto& entry : entries) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kPrefix)) continue;
    int64_t earlier = 0;
    std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), earlier);
    seconds = std::max(seconds, earlier + 1);
  }
  return directory / fmt::format("{}{:010}.{}", kPrefix, seconds, host_name());
}

Message event_at(double wall_time) { return Message().real64(event::kWallTime, wall_time); }

Message event_at(double wall_time, int64_t step) {
  return event_at(wall_time).integer(event::kStep, step);
}

}  // namespace

EventFile::EventFile(const std::filesystem::path& directory, double wall_time) {
  create(directory);
  file_ = AppendFile(new_file(directory, wall_time));
  try {
    append(event_at(wall_time).bytes(event::kFileVersion, "brain.Event:2").data());
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove(path(), ignored);
    throw;
  }
}

void EventFile::scalars(int64_t step, std::span<const Scalar> values, double wall_time) {
  Message all;
  for (const Scalar& scalar : values) {
    Message value;
    value.bytes(summary::kTag, scalar.tag)
        .real32(summary::kSimpleValue, static_cast<float>(scalar.value));
    all.message(summary::kValue, value);
  }
  append(event_at(wall_time, step).message(event::kSummary, all).data());
}

void EventFile::graph(std::span<const GraphNode> nodes, double wall_time) {
  Message graph;
  for (const GraphNode& node : nodes) graph.message(graph_def::kNode, node_def_of(node));
  graph.message(graph_def::kVersions, Message().integer(graph_def::kProducer, 22));
  append(event_at(wall_time).message(event::kGraphDef, graph).data());
}

void EventFile::restarted_at(int64_t step, double wall_time) {
  const Message start = Message().integer(session_log::kStatus, session_log::kStart);
  append(event_at(wall_time, step).message(event::kSessionLog, start).data());
}

// A record: length, its checksum, data, its checksum.
void EventFile::append(const std::string& event) {
  std::string record;
  record.reserve(event.size() + 16);
  append_fixed(record, uint64_t{event.size()});
  append_fixed(record, masked_crc(record));
  record += event;
  append_fixed(record, masked_crc(event));
  file_.append(record);
}

}  // namespace syrtos::trace
