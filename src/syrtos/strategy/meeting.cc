#include "syrtos/strategy/meeting.h"

#include "syrtos/strategy/text.h"
#include "syrtos/world/control.h"
#include "syrtos/world/started.h"

namespace syrtos::strategy {

using world::PeerLost;
using world::Started;

namespace {

Tag tag_of(uint32_t round) { return world::control_tag(world::ControlItem::meeting, round); }

}  // namespace

Task<std::string> Meetings::meet(std::string mine, Decide decide) {
  ++round_;
  if (world_.rank() != 0) {
    co_await send_text(world_, 0, tag_of(round_), mine);
    // Rank 0 may wait for others itself.
    const world::Patience patience{.silence = spare_ ? world::Patience::kForever : 0};
    co_return co_await receive_text(world_, 0, tag_of(round_), patience);
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
    const world::Patience patience{.silence = spare_ ? kMostDeadlines * world_.deadline() : 0};
    text = co_await receive_text(world_, worker, tag_of(round_), patience);
  } catch (const PeerLost&) {
    if (!spare_) throw;
    present_[static_cast<size_t>(worker)] = false;
  }
}

Task<> Meetings::answer(Rank worker, const std::string& text) {
  try {
    co_await send_text(world_, worker, tag_of(round_), text);
  } catch (const PeerLost&) {
    if (!spare_) throw;
    present_[static_cast<size_t>(worker)] = false;
  }
}

}  // namespace syrtos::strategy
