#include "syrtos/world/tcp/connection.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "syrtos/world/socket.h"
#include "syrtos/world/tcp/inbox.h"
#include "syrtos/world/tcp/peer.h"

namespace syrtos::world::tcp {

namespace {

constexpr size_t kStageBytes = kFrameBytes + 4096;
constexpr size_t kPeek = 8192;         // read at once when no frame is under way
constexpr size_t kTurn = 1024 * 1024;  // bytes moved before the others have their turn
constexpr size_t kMostDrained = 256 * 1024 * 1024;
constexpr double kPatience = 0.5e-3;  // s
constexpr size_t kBatchBytes = 64 * 1024;
constexpr size_t kBatchFrames = 16;

std::string loss_text(int error) {
  if (error == EBADMSG) return "what came was changed on its way";
  return error == ECONNRESET || error == EPIPE ? "connection closed" : error_text(error);
}

bool would_block(int error) { return error == EAGAIN || error == EWOULDBLOCK; }

}  // namespace

Connection::Connection(Peer& peer, std::unique_ptr<Stream> stream)
    : peer_(peer),
      stream_(std::move(stream)),
      stage_(std::make_unique_for_overwrite<std::byte[]>(kStageBytes)) {}

void Connection::close() {
  closed_ = true;
  batch_.clear();
  control_.clear();
  incoming_ = nullptr;
  stream_->close();
}

void Connection::detach(const Outgoing& message) {
  for (size_t i = 0; i < batch_.size(); ++i) {
    OutFrame& frame = batch_[i];
    if (frame.message != &message) continue;
    frame.message = nullptr;
    frame.copy = std::make_unique_for_overwrite<std::byte[]>(frame.header.bytes);
    if (frame.header.bytes > 0) std::memcpy(frame.copy.get(), frame.data, frame.header.bytes);
    frame.data = frame.copy.get();
  }
}

bool Connection::pump() {
  stream_->poll(readable_, writable_);
  if (!closed_ && (readable_ || held_until_ > 0)) read();
  if (!closed_ && writable_) write();
  return !closed_ && (readable_ || held_until_ > 0 ||
                      (writable_ && (!flushed() || (carries_data_ && peer_.has_frames()))));
}

void Connection::fill_batch() {
  size_t bytes = 0;
  for (const OutFrame& frame : batch_) bytes += frame.header.bytes;
  size_t taken = 0;
  while (taken < control_.size() && batch_.size() < kBatchFrames) {
    batch_.push_back({control_[taken++], nullptr, nullptr, nullptr});
  }
  control_.erase(control_.begin(), control_.begin() + static_cast<ptrdiff_t>(taken));
  OutFrame frame;
  while (carries_data_ && bytes < kBatchBytes && batch_.size() < kBatchFrames &&
         peer_.next_frame(frame)) {
    bytes += frame.header.bytes;
    batch_.push_back(std::move(frame));
  }
}

void Connection::write() {
  size_t moved = 0;
  while (!closed_ && moved < kTurn) {
    if (!stream_->flush()) return cannot_write();
    fill_batch();
    if (batch_.empty()) return;
    std::array<iovec, 2 * kBatchFrames> parts;
    size_t count = 0;
    size_t skip = written_;
    for (OutFrame& frame : batch_) {
      const auto add = [&](const void* data, size_t bytes) {
        const size_t done = std::min(skip, bytes);
        skip -= done;
        if (done == bytes) return;
        parts[count++] = {static_cast<std::byte*>(const_cast<void*>(data)) + done, bytes - done};
      };
      add(&frame.header, sizeof(FrameHeader));
      add(frame.data, frame.header.bytes);
    }
    const ssize_t sent = stream_->write(parts.data(), count);
    if (sent < 0) {
      if (errno == EINTR) continue;
      return cannot_write();
    }
    moved += static_cast<size_t>(sent);
    advance(static_cast<size_t>(sent));
  }
}

void Connection::cannot_write() {
  writable_ = false;
  if (!would_block(errno)) peer_.broken(loss_text(errno));
}

void Connection::advance(size_t written) {
  peer_.note_sent();
  written_ += written;
  size_t done = 0;
  while (done < batch_.size()) {
    OutFrame& frame = batch_[done];
    const size_t size = sizeof(FrameHeader) + frame.header.bytes;
    if (written_ < size) break;
    written_ -= size;
    if (frame.message != nullptr) peer_.written(*frame.message, frame.header.bytes);
    ++done;
  }
  batch_.erase(batch_.begin(), batch_.begin() + static_cast<ptrdiff_t>(done));
}

void Connection::drain() {
  readable_ = ending_ = true;
  for (size_t moved = 0; readable_ && !closed_ && moved < kMostDrained; moved += kTurn) read();
}

void Connection::look() {
  if (closed_) return;
  readable_ = true;
  read();
}

void Connection::read() {
  read_until_empty();
  // Being woken for each packet would cost more than the packet.
  if (!readable_) stream_->wake_at(std::max<size_t>(1, left_ - std::min(left_, end_ - begin_)));
}

void Connection::read_until_empty() {
  size_t moved = 0;
  if (held_until_ > 0 && (!parse() || held_until_ > 0)) return;
  while (readable_ && moved < kTurn) {
    const ssize_t got = read_some();
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && would_block(errno)) {
      readable_ = false;
      return;
    }
    if (got <= 0) {
      readable_ = false;
      return peer_.broken(got == 0 ? "connection closed" : loss_text(errno));
    }
    peer_.note_heard();
    moved += static_cast<size_t>(got);
    if (!parse() || held_until_ > 0) return;
  }
}

/// Reads straight to its place where that is possible, with room for the header that follows.
ssize_t Connection::read_some() {
  if (begin_ > 0) {
    std::memmove(stage_.get(), stage_.get() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  std::array<iovec, 2> parts;
  size_t count = 0;
  size_t wanted = 0;
  size_t direct = 0;
  const auto add = [&](std::byte* data, size_t bytes) {
    parts[count++] = {data, bytes};
    wanted += bytes;
  };
  std::byte* place = left_ > 0 ? incoming_->place(frame_.offset + frame_.bytes - left_) : nullptr;
  if (place != nullptr) {
    direct = left_;
    add(place, left_);
    add(stage_.get() + end_, sizeof(FrameHeader));
  } else if (left_ > 0) {
    add(stage_.get() + end_, left_ - end_ + sizeof(FrameHeader));
  } else {
    add(stage_.get() + end_, kPeek);
  }
  const ssize_t got = stream_->read(parts.data(), count);
  if (got > 0) {
    const size_t to_place = std::min(static_cast<size_t>(got), direct);
    left_ -= to_place;
    end_ += static_cast<size_t>(got) - to_place;
    if (direct > 0 && left_ == 0) end_frame();
    // There is no more, and we shall be told when there is.
    if (static_cast<size_t>(got) < wanted && !ending_) readable_ = false;
  }
  return got;
}

bool Connection::parse() {
  while (!closed_) {
    const size_t there = end_ - begin_;
    if (left_ == 0) {
      if (there < sizeof(FrameHeader)) return true;
      FrameHeader next;
      std::memcpy(&next, stage_.get() + begin_, sizeof(next));
      if (holds(next)) return true;
      if (!begin_frame()) return false;
      continue;
    }
    size_t bytes = std::min(there, left_);
    const size_t offset = frame_.offset + frame_.bytes - left_;
    if (std::byte* place = incoming_->place(offset); place != nullptr) {
      std::memcpy(place, stage_.get() + begin_, bytes);
    } else {
      if (bytes < left_) bytes -= bytes % kLandingGrain;
      if (begin_ % kLandingGrain != 0) {
        std::memmove(stage_.get(), stage_.get() + begin_, there);
        begin_ = 0;
        end_ = there;
      }
      incoming_->land(offset, stage_.get() + begin_, bytes);
    }
    if (bytes == 0) return true;
    begin_ += bytes;
    left_ -= bytes;
    if (left_ == 0) end_frame();
  }
  return false;
}

/// A large message comes before its recv: often that follows at once, and saves a copy.
bool Connection::holds(const FrameHeader& next) {
  const bool hold = next.magic == kFrameMagic && next.type == FrameType::data && !ending_ &&
                    !peer_.inbox().expects(next);
  const double time = hold ? peer_.now() : 0;
  if (hold && held_until_ == 0) held_until_ = time + kPatience;
  if (!hold || time > held_until_) held_until_ = 0;
  return held_until_ > 0;
}

bool Connection::begin_frame() {
  std::memcpy(&frame_, stage_.get() + begin_, sizeof(frame_));
  begin_ += sizeof(frame_);
  bool right = frame_.magic == kFrameMagic;
  if (right && frame_.type == FrameType::data) {
    incoming_ = peer_.inbox().begin(frame_);
    right = incoming_ != nullptr;
    if (right) {
      left_ = frame_.bytes;
      if (left_ == 0) end_frame();
    }
  } else if (right) {
    right = frame_.bytes == 0 && peer_.control(frame_);
  }
  if (!right) peer_.lose("sent garbage");
  return !closed_;
}

void Connection::end_frame() {
  Incoming& incoming = *incoming_;
  incoming_ = nullptr;
  peer_.inbox().end(incoming, frame_.bytes);
}

}  // namespace syrtos::world::tcp
