#include "syrtos/strategy/meeting.h"

#include "syrtos/base/error.h"
#include "syrtos/world/started.h"

namespace syrtos::strategy {

using world::PeerLost;
using world::Purpose;
using world::Source;
using world::Started;
using world::Tag;
using world::Target;

namespace {

Tag size_tag(uint32_t round) { return {Purpose::control, 110, round}; }
Tag text_tag(uint32_t round) { return {Purpose::control, 111, round}; }
constexpr uint64_t kLongest = 64U << 20;

}  // namespace

Task<> send_text(World& world, Rank to, uint32_t round, const std::string& text) {
  const uint64_t size = text.size();
  co_await world.send(to, size_tag(round), Source{&size, sizeof(size)});
  co_await world.send(to, text_tag(round), Source{text.data(), text.size()});
}

Task<std::string> receive_text(World& world, Rank from, uint32_t round, bool patient) {
  uint64_t size = 0;
  // Workers that do not keep in step may come much later.
  for (bool came = false; !came;) {
    try {
      co_await world.recv(from, size_tag(round), Target{&size, sizeof(size)});
      came = true;
    } catch (const world::DeadlinePassed&) {
      if (!patient) throw;
    }
  }
  if (size > kLongest) fail_run("{} brings a text of {} bytes", world.name(from), size);
  std::string text(size, ' ');
  co_await world.recv(from, text_tag(round), Target{text.data(), text.size()});
  co_return text;
}

Task<std::string> Meetings::meet(std::string mine, Decide decide) {
  ++round_;
  if (world_.rank() != 0) {
    co_await send_text(world_, 0, round_, mine);
    co_return co_await receive_text(world_, 0, round_, spare_);
  }
  std::vector<std::string> texts(present_.size());
  texts[0] = mine;
  co_await host(texts);
  const std::string decision = decide(texts);
  std::vector<Started> answers;
  for (size_t worker = 1; worker < present_.size(); ++worker) {
    if (present_[worker]) {
      answers.emplace_back(world_, answer(static_cast<Rank>(worker), decision));
    }
  }
  co_await world::join_all(world_, answers);
  co_return decision;
}

Task<> Meetings::host(std::vector<std::string>& texts) {
  std::vector<Started> collecting;
  for (size_t worker = 1; worker < present_.size(); ++worker) {
    if (present_[worker]) {
      collecting.emplace_back(world_, collect(static_cast<Rank>(worker), texts[worker]));
    }
  }
  co_await world::join_all(world_, collecting);
}

Task<> Meetings::collect(Rank worker, std::string& text) {
  try {
    text = co_await receive_text(world_, worker, round_, spare_);
  } catch (const PeerLost&) {
    if (!spare_) throw;
    present_[static_cast<size_t>(worker)] = false;
  }
}

Task<> Meetings::answer(Rank worker, const std::string& text) {
  try {
    co_await send_text(world_, worker, round_, text);
  } catch (const PeerLost&) {
    if (!spare_) throw;
    present_[static_cast<size_t>(worker)] = false;
  }
}

}  // namespace syrtos::strategy
