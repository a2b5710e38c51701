#pragma once

#include <memory>
#include <vector>

#include "syrtos/world/tcp/frame.h"
#include "syrtos/world/tcp/stream.h"

namespace syrtos::world::tcp {

struct Incoming;
struct Outgoing;
class Peer;

/// A frame that is being written, from the sender's own memory.
struct OutFrame {
  FrameHeader header;
  const std::byte* data = nullptr;
  Outgoing* message = nullptr;        ///< null for those without, and after it was abandoned
  std::unique_ptr<std::byte[]> copy;  ///< of what is left, when the memory had to go
};

/// One of the connections to a peer: takes frames from the peer's queue when it can write and
/// brings what it reads to the peer's inbox. Never blocks.
class Connection {
 public:
  Connection(Peer& peer, std::unique_ptr<Stream> stream);

  /// For the kernel to watch; -1: there is nothing to watch.
  int descriptor() const { return stream_->descriptor(); }
  /// False: it carries control frames only.
  void set_carries_data(bool carries) { carries_data_ = carries; }
  bool closed() const { return closed_; }
  void close();

  // What the kernel said last.
  void set_readable() { readable_ = true; }
  void set_writable() { writable_ = true; }
  void set_ending() { ending_ = readable_ = true; }

  /// Goes before the next data.
  void push(const FrameHeader& frame) { control_.push_back(frame); }
  /// Nothing is being written and it could be.
  bool idle() const { return writable_ && !closed_ && batch_.empty(); }
  bool flushed() const { return batch_.empty() && control_.empty(); }
  /// Bytes that the other side has not acknowledged.
  size_t unacknowledged() const { return closed_ ? 0 : stream_->unacknowledged(); }
  StreamUse use() const { return closed_ ? StreamUse{} : stream_->use(); }
  /// What is left of the message's frames goes on from a copy.
  void detach(const Outgoing& message);

  /// Moves some bytes each way; true when there may be more to do at once.
  bool pump();
  void write();
  /// Reads what had arrived when the connection broke.
  void drain();
  /// Reads what is there, even if it is less than the kernel would wake us for.
  void look();

 private:
  void fill_batch();
  void cannot_write();
  void advance(size_t written);
  void read();
  void read_until_empty();
  /// Takes what is in the stage; false when the connection is over.
  bool parse();
  bool begin_frame();
  bool holds(const FrameHeader& next);
  void end_frame();
  ssize_t read_some();

  Peer& peer_;
  std::unique_ptr<Stream> stream_;
  bool carries_data_ = true;
  bool closed_ = false;
  bool readable_ = false;
  bool writable_ = true;
  bool ending_ = false;  // the kernel has more to say than bytes

  std::vector<FrameHeader> control_;
  std::vector<OutFrame> batch_;
  size_t written_ = 0;  // of the batch's first frame

  std::unique_ptr<std::byte[]> stage_;
  size_t begin_ = 0;  // of what is in the stage
  size_t end_ = 0;
  FrameHeader frame_;
  Incoming* incoming_ = nullptr;
  size_t left_ = 0;        // of the frame
  double held_until_ = 0;  // when a frame waits for its recv
};

}  // namespace syrtos::world::tcp
