#pragma once

// Rank 1 of two as a bare socket in the test's hands, and rank 0 as a world in a thread: for what a
// world would never do.

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <future>
#include <string>
#include <vector>

#include "syrtos/world/tcp/frame.h"
#include "syrtos/world/tcp/handshake.h"
#include "syrtos/world/tcp/tcp.h"

namespace syrtos::world {

inline TcpOptions two_ranks(const Listener& first) {
  TcpOptions options;
  options.token = "secret";
  options.connections = 1;
  options.connect_timeout = 60;
  options.encrypted = false;  // so that bare sockets can speak
  options.members = {{"a", "127.0.0.1", first.port()}, {"b", "127.0.0.1", 1}};
  return options;
}

/// Completes the handshake, or fails it.
inline tcp::Handshake::State shake_hands(tcp::Handshake& handshake) {
  auto state = handshake.step();
  while (state == tcp::Handshake::State::working) {
    pollfd polled{handshake.descriptor(), handshake.events(), 0};
    if (poll(&polled, 1, 10'000) <= 0) return tcp::Handshake::State::failed;
    state = handshake.step();
  }
  return state;
}

class RawRank {
 public:
  /// Rank 0 runs the program; what it throws comes out of finish().
  explicit RawRank(RankProgram program, double lost_after = 60, int connections = 1)
      : program_(std::move(program)) {
    Listener listener("127.0.0.1");
    TcpOptions options = two_ranks(listener);
    options.lost_after = lost_after;
    options.connections = connections;
    running_ =
        std::async(std::launch::async, [this, options, ours = std::move(listener)]() mutable {
          TcpWorld world(options, std::move(ours));
          world.run(program_);
        });
    TcpOptions mine = options;
    mine.rank = 1;
    for (int connection = 0; connection < connections; ++connection) {
      auto handshake = tcp::Handshake::connecting(
          mine, 0, connection, begin_connect(resolve("127.0.0.1", options.members[0].port)), 0);
      EXPECT_EQ(shake_hands(handshake), tcp::Handshake::State::done) << handshake.why();
      (connection == 0 ? first_ : second_) = handshake.take();
    }
  }

  /// On either of two connections, as far as somebody takes it.
  bool try_write(int connection, const void* data, size_t bytes) {
    const int socket = (connection == 0 ? first_ : second_)->descriptor();
    const auto* at = static_cast<const char*>(data);
    while (bytes > 0) {
      pollfd polled{socket, POLLOUT, 0};
      if (poll(&polled, 1, 60'000) != 1) return false;
      const ssize_t sent = send(socket, at, bytes, MSG_NOSIGNAL);
      if (sent <= 0) return false;
      at += sent;
      bytes -= static_cast<size_t>(sent);
    }
    return true;
  }
  void close_all() {
    for (const auto* stream : {first_.get(), second_.get()}) {
      if (stream != nullptr) shutdown(stream->descriptor(), SHUT_WR);
    }
  }

  void write(const void* data, size_t bytes) {
    const auto* at = static_cast<const char*>(data);
    while (bytes > 0) {
      wait(POLLOUT);
      const ssize_t sent = send(socket(), at, bytes, MSG_NOSIGNAL);
      ASSERT_GT(sent, 0);
      at += sent;
      bytes -= static_cast<size_t>(sent);
    }
  }

  /// A frame of a message of floats, all of the same value.
  void write_frame(uint32_t lane, uint64_t sequence, size_t first, size_t count, size_t total,
                   float value) {
    tcp::FrameHeader frame;
    frame.lane = lane;
    frame.bytes = static_cast<uint32_t>(count * sizeof(float));
    frame.sequence = sequence;
    frame.offset = first * sizeof(float);
    frame.total = total * sizeof(float);
    const std::vector<float> values(count, value);
    write(&frame, sizeof(frame));
    write(values.data(), frame.bytes);
  }

  /// The next frame that is no heartbeat.
  tcp::FrameHeader read_frame(std::vector<float>& values) {
    tcp::FrameHeader frame;
    do {
      read(&frame, sizeof(frame));
      EXPECT_EQ(frame.magic, tcp::kFrameMagic);
      values.resize(frame.bytes / sizeof(float));
      read(values.data(), frame.bytes);
    } while (frame.type == tcp::FrameType::heartbeat);
    return frame;
  }

  void read_heartbeat() {
    tcp::FrameHeader frame;
    read(&frame, sizeof(frame));
    EXPECT_EQ(frame.type, tcp::FrameType::heartbeat);
  }

  /// Everything that was written arrives, then the end.
  void close() { shutdown(socket(), SHUT_WR); }

  /// What rank 0 threw.
  std::exception_ptr finish() {
    try {
      running_.get();
      return nullptr;
    } catch (...) {
      return std::current_exception();
    }
  }

 private:
  int socket() const { return first_->descriptor(); }
  void wait(short events) {
    pollfd polled{socket(), events, 0};
    EXPECT_EQ(poll(&polled, 1, 60'000), 1);
  }
  void read(void* data, size_t bytes) {
    auto* at = static_cast<char*>(data);
    while (bytes > 0) {
      wait(POLLIN);
      const ssize_t got = recv(socket(), at, bytes, 0);
      ASSERT_GT(got, 0);
      at += got;
      bytes -= static_cast<size_t>(got);
    }
  }

  RankProgram program_;
  std::future<void> running_;
  std::unique_ptr<tcp::Stream> first_;
  std::unique_ptr<tcp::Stream> second_;  // with two connections
};

}  // namespace syrtos::world
