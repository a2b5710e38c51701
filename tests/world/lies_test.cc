// A peer that knows the token and lies: whatever it sends over its two connections, this rank takes
// no more memory than came, and either gets its messages or says that the other one is lost.

#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "syrtos/base/error.h"
#include "tests/world/raw_rank.h"

namespace syrtos::world {
namespace {

constexpr size_t kCount = 100'000;  // floats: two frames
constexpr uint16_t kLanes = 3;

Tag tag_of(uint16_t item) { return {Purpose::gather, item, 0}; }

/// Waits for a message in each lane, twice.
Task<> receive_all(World& world) {
  std::vector<float> values(kCount);
  for (uint32_t round = 0; round < 2; ++round) {
    for (uint16_t item = 0; item < kLanes; ++item) {
      Tag tag = tag_of(item);
      tag.round = round;
      co_await world.recv(1, tag, {values.data(), values.size() * sizeof(float)});
    }
  }
}

/// A frame as a right sender would make it, or with one thing wrong.
tcp::FrameHeader some_frame(std::mt19937& random) {
  const auto below = [&](uint64_t end) { return random() % end; };
  const uint64_t total = kCount * sizeof(float);
  tcp::FrameHeader frame;
  frame.lane = tag_of(static_cast<uint16_t>(below(kLanes))).lane();
  frame.sequence = below(3);
  frame.round = static_cast<uint32_t>(frame.sequence);
  frame.total = total;
  frame.offset = below(2) * tcp::kFrameBytes;
  frame.bytes = static_cast<uint32_t>(std::min<uint64_t>(tcp::kFrameBytes, total - frame.offset));
  switch (below(16)) {
    case 0:
      frame.bytes = static_cast<uint32_t>(below(frame.bytes + 1) & ~uint64_t{63});
      break;
    case 1:
      frame.offset = below(total) & ~uint64_t{63};
      break;
    case 2:
      frame.total = below(uint64_t{1} << (1 + below(63)));
      break;
    case 3:
      frame.sequence = below(uint64_t{1} << (1 + below(63)));
      break;
    case 4:
      frame.type = static_cast<tcp::FrameType>(below(8));
      frame.bytes = 0;
      break;
    case 5:
      frame.type = tcp::FrameType::withdrawn;
      frame.bytes = 0;
      break;
    case 6:
      frame.type = tcp::FrameType::offer;
      frame.bytes = 0;
      frame.offset = random();
      break;
    case 7:
      frame.type = tcp::FrameType::taken;
      frame.bytes = 0;
      frame.offset = below(64);
      break;
    case 8:
      frame.round = static_cast<uint32_t>(random());
      break;
    case 9:
      frame.magic = static_cast<uint16_t>(random());
      break;
    default:
      break;
  }
  return frame;
}

class Liar {
 public:
  explicit Liar(uint32_t seed) : random_(seed), rank_(receive_all, 60, 2) {}

  /// Parts of frames, now on this connection, now on that one. False: nobody listens any more.
  bool lie() {
    const int connection = static_cast<int>(random_() % 2);
    std::string& rest = rest_[connection];
    if (rest.empty()) {
      const tcp::FrameHeader frame = some_frame(random_);
      rest.assign(reinterpret_cast<const char*>(&frame), sizeof frame);
      rest.append(frame.type == tcp::FrameType::data ? frame.bytes : 0, 'x');
    }
    const size_t some = std::min(rest.size(), size_t{1} << (random_() % 20));
    const bool taken = rank_.try_write(connection, rest.data(), some);
    rest.erase(0, some);
    return taken;
  }
  std::exception_ptr end() {
    rank_.close_all();
    return rank_.finish();
  }

 private:
  std::mt19937 random_;
  RawRank rank_;
  std::string rest_[2];
};

TEST(Lies, EndWithMessagesOrALoss) {
  const int seeds = 150;
  for (int seed = 0; seed < seeds; ++seed) {
    SCOPED_TRACE(seed);
    Liar liar(static_cast<uint32_t>(seed));
    for (int i = 0; i < 60 && liar.lie(); ++i) {
    }
    try {
      if (const std::exception_ptr error = liar.end()) std::rethrow_exception(error);
    } catch (const RunError&) {
      // Who lies is lost, or its messages do not fit.
    }
  }
}

/// Two frames at one offset do not make a message.
TEST(Lies, BytesThatComeTwiceAreRefused) {
  RawRank rank(receive_all, 60, 2);
  tcp::FrameHeader frame;
  frame.lane = tag_of(0).lane();
  frame.total = 2 * tcp::kFrameBytes;
  frame.bytes = tcp::kFrameBytes;
  const std::string bytes(tcp::kFrameBytes, 'x');
  for (const int connection : {0, 1}) {
    rank.try_write(connection, &frame, sizeof frame);
    rank.try_write(connection, bytes.data(), bytes.size());
  }
  EXPECT_THROW(std::rethrow_exception(rank.finish()), RunError);
}

/// A frame that is still coming on the other connection belongs to its message.
TEST(Lies, AMessageIsNotOverWhileAFrameOfItComes) {
  RawRank rank(receive_all, 60, 2);
  tcp::FrameHeader frame;
  frame.lane = tag_of(0).lane();
  frame.total = kCount * sizeof(float);
  frame.bytes = tcp::kFrameBytes;
  const std::string bytes(tcp::kFrameBytes, 'x');
  rank.try_write(0, &frame, sizeof frame);
  rank.try_write(0, bytes.data(), 1000);  // the rest comes later
  frame.offset = tcp::kFrameBytes;
  frame.bytes = static_cast<uint32_t>(frame.total - tcp::kFrameBytes);
  rank.try_write(1, &frame, sizeof frame);
  rank.try_write(1, bytes.data(), frame.bytes);
  frame.type = tcp::FrameType::withdrawn;  // although all of it was begun
  frame.offset = frame.bytes;
  frame.bytes = 0;
  rank.try_write(1, &frame, sizeof frame);
  rank.try_write(0, bytes.data(), bytes.size() - 1000);
  EXPECT_THROW(std::rethrow_exception(rank.finish()), RunError);
}

TEST(Lies, ClaimedBytesTakeNoMemory) {
  const auto resident = [] {
    std::ifstream in("/proc/self/statm");
    size_t all = 0, pages = 0;
    in >> all >> pages;
    return pages * 4096;
  };
  RawRank rank(receive_all, 60, 2);
  const size_t before = resident();
  for (uint64_t sequence = 1; sequence < 200; ++sequence) {
    tcp::FrameHeader frame;
    frame.lane = tag_of(1).lane();
    frame.sequence = sequence;
    frame.total = uint64_t{1} << 35;
    frame.bytes = 64;
    const std::string bytes(64, 'x');
    if (!rank.try_write(0, &frame, sizeof frame) || !rank.try_write(0, bytes.data(), 64)) break;
  }
  rank.close_all();
  EXPECT_THROW(std::rethrow_exception(rank.finish()), RunError);
  EXPECT_LT(resident(), before + (256 << 20));
}

}  // namespace
}  // namespace syrtos::world
