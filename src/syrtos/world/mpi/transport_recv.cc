#include <algorithm>

#include "syrtos/world/mpi/limits.h"
#include "syrtos/world/mpi/transport.h"

namespace syrtos::world {

void MpiWorld::Transport::recv(Message& message) {
  if (broken_) return message.fail(broken_error());
  Lane& its_lane = lane(message.peer, message.tag.lane());
  if (!its_lane.arrivals.empty()) {
    Arrival arrival = std::move(its_lane.arrivals.front());
    its_lane.arrivals.pop_front();
    return match(message, arrival);
  }
  if (has_left(message.peer)) {
    return message.fail(world_.peer_lost(message, why_left(message.peer)));
  }
  its_lane.recvs.push(message);
}

void MpiWorld::Transport::handle_offer(Rank from, Arrival arrival) {
  if (closed_) return;  // the sender learns it from the farewell
  Lane& its_lane = lane(from, arrival.header.lane);
  if (its_lane.recvs.empty()) {
    its_lane.arrivals.push_back(std::move(arrival));
  } else {
    match(static_cast<Message&>(its_lane.recvs.pop()), arrival);
  }
}

void MpiWorld::Transport::match(Message& message, Arrival& arrival) {
  const Header& header = arrival.header;
  if (header.round != message.tag.round || header.bytes != message.bytes()) {
    Tag found = message.tag;
    found.round = header.round;
    message.fail(world_.mismatch(message, found, header.bytes));
    if (header.carries == Carries::segments) {
      write(message.peer, {.kind = Kind::refuse, .id = header.id});
    }
    if (arrival.own != nullptr) arrival.own->finish();
    return;
  }
  if (header.carries == Carries::segments) return receive_segments(message, header);
  message.moved = message.bytes();
  if (arrival.own != nullptr) {
    land(message.target, 0, arrival.own->source.data, arrival.own->source.bytes);
    arrival.own->moved = arrival.own->bytes();
    arrival.own->finish();
  } else {
    land(message.target, 0, arrival.data.data(), arrival.data.size());
    world_.count().messages_received += 1;
    world_.count().bytes_received += message.bytes();
  }
  message.finish();
}

void MpiWorld::Transport::receive_segments(Message& message, const Header& header) {
  Incoming& incoming = incoming_[{message.peer, header.id}] = {&message, message.peer, header.id,
                                                               message.bytes(), message.bytes()};
  message.state = &incoming;
  for (int i = 0; i < kSegmentsInFlight && incoming.posted < incoming.coming; ++i) {
    post_segment(incoming);
  }
  write(message.peer, {.kind = Kind::grant, .id = header.id});
}

void MpiWorld::Transport::post_segment(Incoming& incoming) {
  Piece piece{Piece::Kind::segment_in, &incoming, incoming.posted,
              std::min(segment_bytes(incoming.from), incoming.bytes - incoming.posted), nullptr};
  incoming.posted += piece.bytes;
  post(incoming, std::move(piece));
}

/// They arrive in place if nothing has to be done with the bytes.
void MpiWorld::Transport::post(Incoming& incoming, Piece piece) {
  const Message* message = incoming.message;
  const bool in_place =
      message != nullptr && message->target.landing.copies() && message->target.data != nullptr;
  std::byte* to = nullptr;
  if (in_place) {
    to = static_cast<std::byte*>(message->target.data) + piece.offset;
  } else {
    piece.buffer = segments_.take();
    to = piece.buffer.get();
  }
  const auto bytes = static_cast<int>(piece.bytes);
  SyrtosMpiHandle* request = pieces_.add(std::move(piece));
  mpi_.check(mpi_->start_recv(comm_, to, bytes, incoming.from, tag_of(incoming.id), request),
             "MPI_Irecv");
}

void MpiWorld::Transport::segment_landed(Piece& piece) {
  auto& incoming = *static_cast<Incoming*>(piece.owner);
  incoming.landed += piece.bytes;
  if (Message* message = incoming.message) {
    if (piece.buffer) land(message->target, piece.offset, piece.buffer.get(), piece.bytes);
    message->moved = incoming.landed;
  }
  segments_.give_back(std::move(piece.buffer));
  if (incoming.posted < incoming.coming) post_segment(incoming);
  end_if_complete(incoming);
}

void MpiWorld::Transport::end_if_complete(Incoming& incoming) {
  if (incoming.landed < incoming.coming) return;
  Message* message = incoming.message;
  const bool whole = incoming.coming == incoming.bytes;
  incoming_.erase({incoming.from, incoming.id});
  if (message == nullptr) return;
  message->state = nullptr;
  if (!whole) return message->fail(world_.peer_lost(*message, "it gave the message up"));
  world_.count().messages_received += 1;
  world_.count().bytes_received += message->bytes();
  message->finish();
}

void MpiWorld::Transport::handle_withdraw(Rank from, const Header& header) {
  std::erase_if(lane(from, header.lane).arrivals,
                [&](const Arrival& arrival) { return arrival.header.id == header.id; });
  const auto found = incoming_.find({from, header.id});
  if (found == incoming_.end()) return;
  Incoming& incoming = found->second;
  incoming.coming = header.bytes;
  incoming.posted = std::min(incoming.posted, incoming.coming);
  for (Piece& piece : pieces_.cancel(&incoming, incoming.coming, false).never_began) {
    segments_.give_back(std::move(piece.buffer));
  }
  while (incoming.posted < incoming.coming) post_segment(incoming);
  end_if_complete(incoming);
}

void MpiWorld::Transport::abandon_recv(Message& message) {
  auto* incoming = static_cast<Incoming*>(message.state);
  if (incoming == nullptr) return message.unlink();
  incoming->message = nullptr;
  Pieces::Cancelled cancelled = pieces_.cancel(incoming, 0, true);
  for (Piece& piece : cancelled.never_began) post(*incoming, std::move(piece));
  for (Piece& piece : cancelled.ended) segment_landed(piece);
}

}  // namespace syrtos::world
