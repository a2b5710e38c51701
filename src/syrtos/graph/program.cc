#include "syrtos/graph/program.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstring>

#include "syrtos/base/clock.h"
#include "syrtos/base/error.h"
#include "syrtos/base/parallel.h"

namespace syrtos::graph {

namespace {

float load(const Program::Placed& value, int64_t offset) {
  switch (value.type.dtype) {
    case DType::f32:
      return static_cast<const float*>(value.data)[offset];
    case DType::bf16:
      return static_cast<float>(static_cast<const BFloat16*>(value.data)[offset]);
    case DType::s32:
      return static_cast<float>(static_cast<const int32_t*>(value.data)[offset]);
    case DType::u8:
      return static_cast<float>(static_cast<const uint8_t*>(value.data)[offset]);
  }
  return 0;
}

void store(const Program::Placed& value, int64_t offset, float element) {
  switch (value.type.dtype) {
    case DType::f32:
      static_cast<float*>(value.data)[offset] = element;
      break;
    case DType::bf16:
      static_cast<BFloat16*>(value.data)[offset] = BFloat16(element);
      break;
    case DType::s32:
      static_cast<int32_t*>(value.data)[offset] = static_cast<int32_t>(element);
      break;
    case DType::u8:
      static_cast<uint8_t*>(value.data)[offset] = static_cast<uint8_t>(element);
      break;
  }
}

/// On all threads where there is much.
void copy_bytes(std::byte* to, const std::byte* from, size_t bytes) {
  parallel_for(static_cast<int64_t>(bytes), 64, int64_t{1} << 18, [=](int64_t begin, int64_t end) {
    std::memcpy(to + begin, from + begin, static_cast<size_t>(end - begin));
  });
}

Program::Placed placed_sums(std::span<float> sums) {
  const TensorType type{DType::f32, {static_cast<int64_t>(sums.size())}};
  return {"sums", type, ops::Layout::plain(), sums.data(), kNone};
}

bool is_finite(const Program::Placed& value) {
  if (value.data == nullptr) return true;
  if (value.type.dtype != DType::f32 && value.type.dtype != DType::bf16) return true;
  const auto elements =
      static_cast<int64_t>(value.layout.bytes(value.type) / size_of(value.type.dtype));
  for (int64_t i = 0; i < elements; ++i) {
    if (!std::isfinite(load(value, i))) return false;
  }
  return true;
}

}  // namespace

PhaseTimes Program::run(const ops::Step& step) {
  PhaseTimes times;
  run_items(0, items_.size(), step, times);
  return times;
}

void Program::run_items(size_t first, size_t last, const ops::Step& step, PhaseTimes& times,
                        ItemObserver* observer) {
  Clock::time_point start = Clock::now();
  Clock::time_point before = start;
  Phase phase = first < last ? items_[first].phase : Phase::forward;
  const auto end_phase = [&] {
    const Clock::time_point now = Clock::now();
    double& spent = phase == Phase::forward ? times.forward_s : times.backward_s;
    spent += std::chrono::duration<double>(now - start).count();
    start = now;
  };
  for (size_t i = first; i < last; ++i) {
    if (items_[i].phase != phase) {
      end_phase();
      phase = items_[i].phase;
    }
    items_[i].run(step);
    if (observer != nullptr) {
      const Clock::time_point now = Clock::now();
      observer->ran(i, before, now);
      before = now;
    }
  }
  end_phase();
}

std::vector<int> Program::slots_read(const Item& item) const {
  const auto* weights = reinterpret_cast<const std::byte*>(parameters_->weights().data());
  const auto* working = reinterpret_cast<const std::byte*>(parameters_->working().data());
  std::vector<int> read;
  for (const ValueId id : item.inputs) {
    if (id == kNone) continue;
    const auto* data = static_cast<const std::byte*>(placed(id).data);
    for (size_t i = 0; i < parameters_->slots().size(); ++i) {
      const ParameterSlot& slot = parameters_->slots()[i];
      // Also where it reads a part of the slot.
      const auto within = [&](const std::byte* arena, size_t element) {
        const std::byte* first = arena + slot.offset * element;
        return arena != nullptr && data >= first && data < first + slot.elements * element;
      };
      if (within(weights, sizeof(float)) || within(working, sizeof(BFloat16))) {
        read.push_back(static_cast<int>(i));
      }
    }
  }
  return read;
}

std::vector<double> Program::profile(const ops::Step& step) {
  std::vector<double> seconds(items_.size());
  for (size_t i = 0; i < items_.size(); ++i) {
    const Clock::time_point start = Clock::now();
    items_[i].run(step);
    seconds[i] = seconds_since(start);
  }
  return seconds;
}

const Program::Item* Program::find_non_finite(const ops::Step& step) {
  for (const Item& item : items_) {
    item.run(step);
    for (const ValueId id : item.outputs) {
      if (!is_finite(placed(id))) return &item;
    }
  }
  return nullptr;
}

size_t Program::bytes_of(const Message& message) const {
  size_t bytes = 0;
  for (const ValueId id : message.values) bytes += placed(id).layout.bytes(placed(id).type);
  return bytes;
}

void Program::take_away(const Message& message, std::byte* to) const {
  for (const ValueId id : message.values) {
    const size_t bytes = placed(id).layout.bytes(placed(id).type);
    copy_bytes(to, static_cast<const std::byte*>(placed(id).data), bytes);
    to += bytes;
  }
}

void Program::put(const Message& message, const std::byte* from) const {
  for (const ValueId id : message.values) {
    const size_t bytes = placed(id).layout.bytes(placed(id).type);
    // What nobody here reads has no memory.
    if (placed(id).data != nullptr)
      copy_bytes(static_cast<std::byte*>(placed(id).data), from, bytes);
    from += bytes;
  }
}

void Program::move_input(std::string_view name, void* data) {
  const ValueId root = input(name).root;
  if (placed(root).data == data) return;
  for (Item& item : items_) {
    for (size_t i = 0; i < item.inputs.size(); ++i) {
      if (item.inputs[i] != kNone && placed(item.inputs[i]).root == root) {
        item.kernel->move_input(i, data);
      }
    }
  }
  for (Placed& value : values_) {
    if (value.root == root) value.data = data;
  }
}

const Program::Placed& Program::input(std::string_view name) const {
  for (const auto& [key, id] : inputs_) {
    if (key == name) return placed(id);
  }
  fail_request("the program has no input '{}'", name);
}

void Program::set_input(std::string_view name, const Tensor& plain) {
  const Placed& value = input(name);
  if (!(plain.shape() == value.type.shape)) {
    fail_request("input '{}': expected {}, found {}", name, to_string(value.type),
                 to_string(plain.type()));
  }
  if (value.data == nullptr) return;  // the program does not use it
  for (int64_t i = 0; i < plain.elements(); ++i) {
    store(value, ops::offset_in(value.layout, value.type.shape, i), plain.get(i));
  }
}

Tensor Program::read(std::string_view name) const {
  for (const auto& [key, id] : outputs_) {
    if (key != name) continue;
    const Placed& value = placed(id);
    Tensor plain({DType::f32, value.type.shape});
    for (int64_t i = 0; i < plain.elements(); ++i) {
      plain.as<float>()[i] = load(value, ops::offset_in(value.layout, value.type.shape, i));
    }
    return plain;
  }
  fail_request("the program has no output '{}'", name);
}

float Program::read_scalar(std::string_view name) const {
  for (const auto& [key, id] : outputs_) {
    if (key == name) return load(placed(id), 0);
  }
  fail_request("the program has no output '{}'", name);
}

double Program::flops() const {
  double total = 0;
  for (const Item& item : items_) total += item.flops;
  return total;
}

std::string Program::to_table() const {
  std::string text = fmt::format("{:>4}  {:8}  {:28}  {:30}  {:34}  {:24}  {:>12}\n", "#", "phase",
                                 "layer", "operation", "implementation", "output", "offset");
  for (size_t i = 0; i < items_.size(); ++i) {
    const Item& item = items_[i];
    const Placed out = item.is_first_half() ? placed_sums(item.sums) : placed(item.outputs[0]);
    const std::byte* data = static_cast<const std::byte*>(out.data);
    const bool inside = data >= arena_.bytes() && data < arena_.bytes() + arena_.size();
    text += fmt::format("{:>4}  {:8}  {:28}  {:30}  {:34}  {:24}  {:>12}\n", i,
                        item.phase == Phase::forward ? "forward" : "backward", item.layer,
                        item.operation, item.kernel->implementation(),
                        to_string(out.type) + " " + out.layout.name(),
                        inside ? fmt::format("{}", data - arena_.bytes()) : "own arena");
  }
  return text;
}

}  // namespace syrtos::graph
