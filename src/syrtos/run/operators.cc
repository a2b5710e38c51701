#include "syrtos/run/operators.h"

#include <algorithm>

#include "syrtos/run/json.h"

namespace syrtos::run {

namespace {

json to_json(const OperatorItem& item) {
  return {{"layer", item.layer}, {"operation", item.operation}, {"kernel", item.kernel},
          {"phase", item.phase}, {"calls", item.calls},         {"seconds", item.seconds},
          {"flops", item.flops}, {"bytes", item.bytes},         {"longest", item.longest}};
}

bool take_item(const json& entry, OperatorItem& item) {
  item.layer = text_in(entry, "layer");
  item.operation = text_in(entry, "operation");
  item.kernel = text_in(entry, "kernel");
  item.phase = text_in(entry, "phase");
  item.calls = count_in(entry, "calls");
  item.seconds = number_in(entry, "seconds", -1);
  item.flops = std::max(0.0, number_in(entry, "flops"));
  item.bytes = std::max(0.0, number_in(entry, "bytes"));
  item.longest = std::clamp(number_in(entry, "longest"), 0.0, std::max(0.0, item.seconds));
  return item.calls > 0 && item.seconds >= 0;
}

}  // namespace

double OperatorItem::usual_seconds() const {
  const auto n = static_cast<double>(calls);
  return calls > 2 ? (seconds - longest) / (n - (longest > 0 ? 1 : 0)) : seconds / n;
}

bool OperatorItem::same_kernel(const OperatorItem& other) const {
  return layer == other.layer && operation == other.operation && kernel == other.kernel &&
         phase == other.phase;
}

void write(const Directory& directory, const OperatorProfile& profile) {
  json items = json::array();
  for (const OperatorItem& item : profile.items) items.push_back(to_json(item));
  json text = {{"network", profile.network},
               {"batch", profile.batch},
               {"precision", profile.precision},
               {"threads", profile.threads},
               {"items", std::move(items)}};
  if (profile.peak_gflops > 0) {
    text["machine"] = {{"peak_gflops", profile.peak_gflops},
                       {"f32_gflops", profile.f32_gflops},
                       {"bf16_gflops", profile.bf16_gflops},
                       {"memory_gb_s", profile.memory_gb_s}};
  }
  write_json(directory, File::operators, text);
}

std::optional<OperatorProfile> read_operators(const Directory& directory, Notes& notes) {
  const std::optional<json> object = read_object(directory, File::operators, notes);
  const json* items = object ? list_in(*object, File::operators, "items", notes) : nullptr;
  if (items == nullptr) return std::nullopt;
  OperatorProfile profile;
  profile.network = text_in(*object, "network");
  profile.precision = text_in(*object, "precision");
  profile.batch = count_in(*object, "batch");
  profile.threads = count_in(*object, "threads");
  if (const auto machine = object->find("machine"); machine != object->end()) {
    profile.peak_gflops = number_in(*machine, "peak_gflops");
    profile.f32_gflops = number_in(*machine, "f32_gflops");
    profile.bf16_gflops = number_in(*machine, "bf16_gflops");
    profile.memory_gb_s = number_in(*machine, "memory_gb_s");
  }
  profile.items = items_of<OperatorItem>(*items, File::operators, notes, take_item);
  if (profile.items.empty()) return std::nullopt;
  return profile;
}

}  // namespace syrtos::run
