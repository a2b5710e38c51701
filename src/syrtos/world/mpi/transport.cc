#include "syrtos/world/mpi/transport.h"

#include <algorithm>
#include <cstring>

#include "syrtos/world/mpi/limits.h"

namespace syrtos::world {

namespace {

constexpr int kHeaderTag = 0;
constexpr int kAnybody = -1;

SyrtosMpiElement type_of(Element element) {
  switch (element) {
    case Element::f32:
      return SYRTOS_MPI_F32;
    case Element::f64:
      return SYRTOS_MPI_F64;
    case Element::i64:
      return SYRTOS_MPI_I64;
    case Element::bf16:
      break;
  }
  fail_request("MPI has no all-reduce of {}: choose another one for it", to_string(element));
}

SyrtosMpiReduction operation_of(Reduction reduction) {
  switch (reduction) {
    case Reduction::sum:
      return SYRTOS_MPI_SUM;
    case Reduction::min:
      return SYRTOS_MPI_MIN;
    case Reduction::max:
      break;
  }
  return SYRTOS_MPI_MAX;
}

std::string text_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& thrown) {
    return thrown.what();
  } catch (...) {
    return "unknown";
  }
}

}  // namespace

MpiWorld::Transport::Transport(MpiWorld& world, const Communicator& ranks)
    : world_(world),
      mpi_(ranks.mpi()),
      comm_(ranks.get()),
      highest_tag_(mpi_->highest_tag(comm_)),
      left_(static_cast<size_t>(world.size())),
      still_here_(world.size() - 1),
      headers_(sizeof(Header) + kInlineBytes),
      segments_(kLocalSegmentBytes),
      pieces_(mpi_),
      granted_(static_cast<size_t>(world.size())),
      in_flight_(static_cast<size_t>(world.size())) {
  for (size_t slot = 0; slot < kSlots; ++slot) {
    slots_[slot] = headers_.take();
    post_header(slot);
  }
}

MpiWorld::Transport::~Transport() {
  for (SyrtosMpiHandle& request : slot_requests_) {
    int cancelled = 0;
    if (request != 0) mpi_->cancel(&request, &cancelled);
  }
}

size_t MpiWorld::Transport::segment_bytes(Rank peer) const {
  return world_.host(peer) == world_.host(world_.rank()) ? kLocalSegmentBytes : kSegmentBytes;
}

void MpiWorld::Transport::post_header(size_t slot) {
  mpi_.check(mpi_->start_recv(comm_, slots_[slot].get(), static_cast<int>(headers_.bytes()),
                              kAnybody, kHeaderTag, &slot_requests_[slot]),
             "MPI_Irecv");
}

/// One slot after the other: several may have been filled, and lanes must keep their order.
bool MpiWorld::Transport::take_headers() {
  for (bool any = false;; any = true) {
    int done = 0;
    int from = 0;
    int bytes = 0;
    mpi_.check(mpi_->test(&slot_requests_[next_slot_], &done, &from, &bytes), "MPI_Test");
    if (done == 0) return any;
    const size_t slot = next_slot_;
    next_slot_ = (next_slot_ + 1) % kSlots;
    handle(from, slots_[slot].get(), static_cast<size_t>(bytes));
    if (broken_) return true;
    post_header(slot);
  }
}

void MpiWorld::Transport::handle(Rank from, const std::byte* data, size_t bytes) {
  Header header;
  SYRTOS_CHECK(bytes >= sizeof(header), "{} bytes", bytes);
  std::memcpy(&header, data, sizeof(header));
  switch (header.kind) {
    case Kind::offer:
      return handle_offer(from, {header, {data + sizeof(header), data + bytes}});
    case Kind::grant:
      return handle_grant(header.id);
    case Kind::refuse:
      return handle_refuse(header.id);
    case Kind::withdraw:
      return handle_withdraw(from, header);
    case Kind::farewell:
      return handle_farewell(
          from, header.round != 0,
          {reinterpret_cast<const char*>(data) + sizeof(header), bytes - sizeof(header)});
  }
}

void MpiWorld::Transport::write(Rank to, const Header& header, const Source& inlined) {
  Buffer buffer = headers_.take();
  std::memcpy(buffer.get(), &header, sizeof(header));
  if (inlined.bytes > 0) std::memcpy(buffer.get() + sizeof(header), inlined.data, inlined.bytes);
  const auto bytes = static_cast<int>(sizeof(header) + inlined.bytes);
  const std::byte* data = buffer.get();
  SyrtosMpiHandle* request = pieces_.add({Piece::Kind::control, nullptr, 0, 0, std::move(buffer)});
  mpi_.check(mpi_->start_send(comm_, data, bytes, to, kHeaderTag, request), "MPI_Isend");
}

bool MpiWorld::Transport::progress() {
  if (broken_) return false;
  try {
    bool any = take_headers();
    if (broken_) return true;
    std::vector<Piece>& ended_now = pieces_.ended();
    for (Piece& piece : ended_now) ended(piece);
    any = any || !ended_now.empty();
    for (Rank rank = 0; rank < world_.size(); ++rank) send_segments(rank);
    return any;
  } catch (const RunError& error) {
    break_down(error.what());
    return true;
  }
}

void MpiWorld::Transport::ended(Piece& piece) {
  switch (piece.kind) {
    case Piece::Kind::control:
      return headers_.give_back(std::move(piece.buffer));
    case Piece::Kind::segment_out:
      return segment_left(piece);
    case Piece::Kind::segment_in:
      return segment_landed(piece);
    case Piece::Kind::all_reduce: {
      auto& operation = *static_cast<AllReduce*>(piece.owner);
      if (--operation.parts > 0) return;
      std::erase(all_reduces_, &operation);
      operation.finish();
    }
  }
}

void MpiWorld::Transport::abandon(Message& message) {
  if (broken_) return message.unlink();
  if (message.direction == Message::Direction::send) {
    abandon_send(message);
  } else {
    abandon_recv(message);
  }
}

void MpiWorld::Transport::all_reduce(AllReduce& operation) {
  if (broken_) return operation.fail(broken_error());
  const size_t element_bytes = bytes_of(operation.element);
  for (size_t i = 0; i < operation.count; i += kAllReducePart) {
    const size_t count = std::min(kAllReducePart, operation.count - i);
    SyrtosMpiHandle* request =
        pieces_.add({Piece::Kind::all_reduce, &operation, 0, count * element_bytes, nullptr});
    auto* values = static_cast<std::byte*>(operation.values) + i * element_bytes;
    mpi_.check(
        mpi_->start_all_reduce(comm_, values, static_cast<int>(count), type_of(operation.element),
                               operation_of(operation.reduction), request),
        "MPI_Iallreduce");
    ++operation.parts;
  }
  if (operation.parts == 0) return operation.finish();
  all_reduces_.push_back(&operation);
}

void MpiWorld::Transport::abandon(AllReduce& operation) {
  std::erase(all_reduces_, &operation);
  // MPI would go on writing to memory that is no longer there.
  break_down("an all-reduce was given up");
}

template <typename Visitor>
void MpiWorld::Transport::for_each_recv_from(Rank from, Visitor&& visit) {
  for (auto& [key, lane] : lanes_) {
    if (key.first != from) continue;
    while (!lane.recvs.empty()) visit(static_cast<Message&>(lane.recvs.pop()));
  }
}

void MpiWorld::Transport::farewell(const std::exception_ptr& error) {
  closed_ = true;
  if (broken_) return;
  const std::string text = error ? "it failed: " + text_of(error) : "it has ended";
  const Source inlined{text.data(), std::min(text.size(), kInlineBytes)};
  for (Rank rank = 0; rank < world_.size(); ++rank) {
    if (rank == world_.rank()) continue;
    write(rank, {.kind = Kind::farewell, .round = error ? 1U : 0U}, inlined);
  }
}

void MpiWorld::Transport::handle_farewell(Rank from, bool failed, std::string_view why) {
  left_[static_cast<size_t>(from)] = why;
  --still_here_;
  for_each_recv_from(from, [&](Message& recv) { recv.fail(world_.peer_lost(recv, why)); });
  fail_sends_to(from);
  // A rank that has ended well may have done its part of a sum; one that failed has not.
  if (failed && !all_reduces_.empty()) {
    break_down(fmt::format("{} is lost ({})", world_.name(from), why));
  }
}

std::exception_ptr MpiWorld::Transport::broken_error() const {
  return std::make_exception_ptr(RunError(
      fmt::format("{}: MPI cannot go on: {}", world_.name(world_.rank()), broken_.value_or(""))));
}

void MpiWorld::Transport::break_down(const std::string& why) {
  if (broken_) return;
  broken_ = why;
  for (Rank rank = 0; rank < world_.size(); ++rank) {
    for_each_recv_from(rank, [&](Message& recv) { recv.fail(broken_error()); });
  }
  for (auto& [key, lane] : lanes_) {
    for (Arrival& arrival : lane.arrivals) {
      if (arrival.own != nullptr) arrival.own->fail(broken_error());
    }
    lane.arrivals.clear();
  }
  for (auto& [id, outgoing] : outgoing_) {
    if (outgoing.message != nullptr) outgoing.message->fail(broken_error());
  }
  for (auto& [key, incoming] : incoming_) {
    if (incoming.message != nullptr) incoming.message->fail(broken_error());
  }
  for (AllReduce* operation : std::exchange(all_reduces_, {})) operation->fail(broken_error());
}

}  // namespace syrtos::world
