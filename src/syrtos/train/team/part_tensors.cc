#include "syrtos/train/team/part_tensors.h"

#include <nlohmann/json.hpp>

#include "syrtos/base/error.h"
#include "syrtos/strategy/text.h"
#include "syrtos/world/control.h"

namespace syrtos::train {

using nlohmann::json;
using world::ControlItem;
using world::Rank;
using world::Task;

namespace {

world::Tag list_tag() { return world::control_tag(ControlItem::part_list); }
world::Tag tensor_tag() { return world::control_tag(ControlItem::part_tensor); }
world::Tag wanted_tag() { return world::control_tag(ControlItem::part_wanted); }

std::string to_text(const std::vector<NamedShape>& tensors) {
  json list = json::array();
  for (const NamedShape& one : tensors) {
    list.push_back({one.key, std::vector<int64_t>(one.shape.begin(), one.shape.end())});
  }
  return list.dump();
}

std::vector<NamedShape> tensors_in(const std::string& text) {
  std::vector<NamedShape> tensors;
  for (const json& one : json::parse(text)) {
    const auto shape = one.at(1).get<std::vector<int64_t>>();
    tensors.push_back({one.at(0).get<std::string>(), Shape(std::span<const int64_t>(shape))});
  }
  return tensors;
}

}  // namespace

Task<> PartTensors::ask(Rank whom) {
  const char wanted = 1;
  co_await world_.send(whom, wanted_tag(), {&wanted, 1});
}

/// However long the others before this one take.
Task<> PartTensors::wait_until_asked(Rank by) {
  char wanted = 0;
  co_await strategy::receive_patiently(world_, by, wanted_tag(), {&wanted, 1});
}

Task<> PartTensors::send(Rank to, const Tensor& tensor) {
  const auto bytes = static_cast<size_t>(tensor.type().bytes());
  co_await world_.send(to, tensor_tag(), {tensor.data(), bytes});
}

Task<> PartTensors::receive(Rank from, Tensor& tensor) {
  const auto bytes = static_cast<size_t>(tensor.type().bytes());
  co_await world_.recv(from, tensor_tag(), {tensor.data(), bytes});
}

Task<> PartTensors::hand_out(TensorSource* source) {
  if (!takes_part()) co_return;
  if (!is_first()) {
    co_await get();
    co_return;
  }
  of_parts_.resize(static_cast<size_t>(team_.parts));
  for (Rank rank = 1; rank < team_.parts; ++rank) co_await give(rank, source);
}

/// First a list: '1' for each tensor that follows.
Task<> PartTensors::give(Rank to, TensorSource* source) {
  std::vector<NamedShape>& theirs = of_parts_[static_cast<size_t>(to)];
  const std::string list = co_await strategy::receive_text(world_, to, list_tag());
  theirs = tensors_in(list);
  for (const NamedShape& what : theirs) {
    std::optional<Tensor> found;
    co_await world_.compute(0, [&] {
      if (source != nullptr) found = source->find(what);
    });
    co_await wait_until_asked(to);
    const char follows = found ? 1 : 0;
    co_await world_.send(to, tensor_tag(), {&follows, 1});
    if (found) co_await send(to, *found);
  }
}

Task<> PartTensors::get() {
  co_await strategy::send_text(world_, 0, list_tag(), to_text(own_.all()));
  for (size_t i = 0; i < own_.all().size(); ++i) {
    char follows = 0;
    co_await ask(0);
    co_await strategy::receive_patiently(world_, 0, tensor_tag(), {&follows, 1});
    if (follows == 0) continue;
    Tensor tensor({DType::f32, own_.all()[i].shape});
    co_await receive(0, tensor);
    co_await world_.compute(0, [&] { own_.set(i, tensor); });
  }
}

Task<> PartTensors::collect(Spool& spool, const std::filesystem::path& directory) {
  if (!takes_part()) co_return;
  if (is_first()) {
    co_await world_.compute(0, [&] { spool.begin(directory); });
    for (Rank rank = 1; rank < team_.parts; ++rank) co_await fetch(rank, spool);
    co_return;
  }
  for (size_t i = 0; i < own_.all().size(); ++i) {
    std::optional<Tensor> tensor;
    co_await world_.compute(0, [&] { tensor = own_.get(i); });
    co_await wait_until_asked(0);
    co_await send(0, *tensor);
  }
}

Task<> PartTensors::fetch(Rank from, Spool& spool) {
  for (const NamedShape& what : of_parts_[static_cast<size_t>(from)]) {
    Tensor tensor({DType::f32, what.shape});
    co_await ask(from);
    co_await receive(from, tensor);
    co_await world_.compute(0, [&] { spool.add(what, tensor); });
  }
}

}  // namespace syrtos::train
