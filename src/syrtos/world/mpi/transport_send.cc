#include <fmt/format.h>

#include <algorithm>

#include "syrtos/world/mpi/limits.h"
#include "syrtos/world/mpi/transport.h"

namespace syrtos::world {

void MpiWorld::Transport::send(Message& message) {
  if (broken_) return message.fail(broken_error());
  if (message.peer == world_.rank()) return offer_to_self(message);
  if (has_left(message.peer)) {
    return message.fail(world_.peer_lost(message, why_left(message.peer)));
  }
  Header header{.kind = Kind::offer,
                .lane = message.tag.lane(),
                .round = message.tag.round,
                .id = next_id_++,
                .bytes = message.bytes()};
  const bool has_data = message.source.data != nullptr && message.bytes() > 0;
  if (!has_data || message.bytes() <= kInlineBytes) {
    header.carries = has_data ? Carries::all : Carries::nothing;
    write(message.peer, header, has_data ? message.source : Source{});
    message.moved = message.bytes();
    world_.count().messages_sent += 1;
    world_.count().bytes_sent += message.bytes();
    return message.finish();
  }
  header.carries = Carries::segments;
  write(message.peer, header);
  Outgoing& outgoing = outgoing_[header.id] = {&message, message.peer, header.id};
  message.state = &outgoing;
}

void MpiWorld::Transport::offer_to_self(Message& message) {
  Arrival arrival{{.kind = Kind::offer,
                   .lane = message.tag.lane(),
                   .round = message.tag.round,
                   .bytes = message.bytes()},
                  {},
                  &message};
  handle_offer(world_.rank(), std::move(arrival));
}

void MpiWorld::Transport::handle_grant(uint64_t id) {
  const auto found = outgoing_.find(id);
  if (found == outgoing_.end()) return;  // it was withdrawn meanwhile
  found->second.granted = true;
  granted_[static_cast<size_t>(found->second.to)].push_back(&found->second);
}

/// The receiver expected something else, and fails: the sender need not.
void MpiWorld::Transport::handle_refuse(uint64_t id) {
  const auto found = outgoing_.find(id);
  if (found == outgoing_.end()) return;
  finish_send(found->second);
}

void MpiWorld::Transport::send_segments(Rank to) {
  auto& waiting = granted_[static_cast<size_t>(to)];
  int& in_flight = in_flight_[static_cast<size_t>(to)];
  while (!waiting.empty() && in_flight < kSegmentsInFlight) {
    const auto most = std::max_element(waiting.begin(), waiting.end(), [](auto* a, auto* b) {
      return a->message->priority < b->message->priority;
    });
    Outgoing& outgoing = **most;
    const Source& source = outgoing.message->source;
    const size_t bytes = std::min(segment_bytes(to), source.bytes - outgoing.begun);
    const std::byte* data = static_cast<const std::byte*>(source.data) + outgoing.begun;
    SyrtosMpiHandle* request =
        pieces_.add({Piece::Kind::segment_out, &outgoing, outgoing.begun, bytes, nullptr});
    mpi_.check(
        mpi_->start_send(comm_, data, static_cast<int>(bytes), to, tag_of(outgoing.id), request),
        "MPI_Isend");
    outgoing.begun += bytes;
    ++outgoing.in_flight;
    ++in_flight;
    if (outgoing.begun == source.bytes) waiting.erase(most);
  }
}

void MpiWorld::Transport::segment_left(Piece& piece) {
  auto& outgoing = *static_cast<Outgoing*>(piece.owner);
  --in_flight_[static_cast<size_t>(outgoing.to)];
  --outgoing.in_flight;
  outgoing.ended += piece.bytes;
  if (outgoing.message == nullptr) return;
  outgoing.message->moved = outgoing.ended;
  if (outgoing.ended < outgoing.message->bytes()) return;
  world_.count().messages_sent += 1;
  world_.count().bytes_sent += outgoing.ended;
  finish_send(outgoing);
}

void MpiWorld::Transport::finish_send(Outgoing& outgoing) {
  Message& message = *outgoing.message;
  outgoing_.erase(outgoing.id);
  message.state = nullptr;
  message.finish();
}

void MpiWorld::Transport::abandon_send(Message& message) {
  if (message.peer == world_.rank()) {
    std::erase_if(lane(message.peer, message.tag.lane()).arrivals,
                  [&](const Arrival& arrival) { return arrival.own == &message; });
    return;
  }
  auto* outgoing = static_cast<Outgoing*>(message.state);
  if (outgoing == nullptr) return;
  outgoing->message = nullptr;
  std::erase(granted_[static_cast<size_t>(outgoing->to)], outgoing);
  // MPI still reads the memory of segments on their way; the receiver has places for them, and
  // takes them unless it is stuck itself.
  const Clock::time_point until = Clock::now() + kToTakeSegments;
  while (outgoing->in_flight > 0 && !broken_) {
    progress();
    if (outgoing->in_flight > 0 && Clock::now() >= until) {
      break_down(
          fmt::format("{} does not take what is on its way to it", world_.name(outgoing->to)));
    }
  }
  if (broken_) return;
  if (outgoing->begun < message.bytes()) {
    write(outgoing->to, {.kind = Kind::withdraw,
                         .lane = message.tag.lane(),
                         .id = outgoing->id,
                         .bytes = outgoing->begun});
  }
  outgoing_.erase(outgoing->id);
}

/// What it has granted it still takes.
void MpiWorld::Transport::fail_sends_to(Rank to) {
  for (auto next = outgoing_.begin(); next != outgoing_.end();) {
    Outgoing& outgoing = (next++)->second;
    if (outgoing.to != to || outgoing.granted || outgoing.message == nullptr) continue;
    Message& message = *outgoing.message;
    outgoing_.erase(outgoing.id);
    message.state = nullptr;
    message.fail(world_.peer_lost(message, why_left(to)));
  }
}

}  // namespace syrtos::world
