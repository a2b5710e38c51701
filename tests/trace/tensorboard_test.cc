#include "syrtos/trace/tensorboard.h"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <algorithm>
#include <bit>
#include <csignal>
#include <stdexcept>

#include "tests/support/event_records.h"
#include "tests/support/temporary.h"

namespace syrtos::trace {
namespace {

using event_records::all;
using event_records::Field;
using event_records::one;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

double wall_time(const std::string& event) { return std::bit_cast<double>(one(event, 1).value); }

/// "tag=value" of every scalar of an event.
std::vector<std::string> scalars(const std::string& event) {
  std::vector<std::string> found;
  for (const auto& [tag, value] : event_records::scalars(event)) {
    found.push_back(fmt::format("{}={}", tag, value));
  }
  return found;
}

/// A node's attribute, serialised.
std::string attribute(const std::string& node, const std::string& key) {
  for (const Field& entry : all(node, 5)) {
    if (one(entry.bytes, 1).bytes == key) return one(entry.bytes, 2).bytes;
  }
  throw std::runtime_error("no attribute " + key);
}

/// No file grows beyond this size while it lives, as on a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int);
};

class EventFiles : public TemporaryDirectory {
 protected:
  static std::vector<std::string> events(const EventFile& file) {
    return event_records::events(read(file.path()));
  }
};

// By hand from event.proto and the format of records; the checksums by a bitwise division.
TEST_F(EventFiles, HaveExactlyTheseBytes) {
  EventFile file(directory_, 1.0);
  file.scalars(5, {{{"a", 0.5}}}, 2.0);
  std::string hex;
  for (const char byte : read(file.path())) hex += fmt::format("{:02x}", byte & 0xff);
  EXPECT_EQ(hex,
            "1800000000000000"
            "a37f4b22"  // 24 bytes follow
            "09"
            "000000000000f03f"  // wall_time 1.0
            "1a"
            "0d"
            "627261696e2e4576656e743a32"  // file_version "brain.Event:2"
            "86bf577a"
            "1700000000000000"
            "e7cef81e"  // 23 bytes follow
            "09"
            "0000000000000040"  // wall_time 2.0
            "10"
            "05"  // step 5
            "2a"
            "0a"  // summary
            "0a"
            "08"  // value
            "0a"
            "01"
            "61"  // tag "a"
            "15"
            "0000003f"  // simple_value 0.5
            "3cd523b1");
}

TEST_F(EventFiles, BeginWithTheirVersion) {
  const EventFile file(directory_ / "run" / "events", 1234.5);
  ASSERT_THAT(events(file), SizeIs(1));
  EXPECT_EQ(one(events(file)[0], 3).bytes, "brain.Event:2");
  EXPECT_EQ(wall_time(events(file)[0]), 1234.5);
  EXPECT_THAT(file.path().filename().string(),
              testing::StartsWith("events.out.tfevents.0000001234."));
}

TEST_F(EventFiles, HoldSeveralScalarsInOneEvent) {
  EventFile file(directory_);
  const Scalar values[] = {{"loss/train", 0.5}, {"accuracy/test", -1e-3}, {"", 1e300}};
  file.scalars(int64_t{1} << 40, values, 7.25);
  const std::string event = events(file).at(1);
  EXPECT_EQ(one(event, 2).value, uint64_t{1} << 40);
  EXPECT_EQ(wall_time(event), 7.25);
  EXPECT_THAT(scalars(event), ElementsAre("loss/train=0.5", "accuracy/test=-0.001", "=inf"));
}

TEST_F(EventFiles, HoldARecordLongerThanOneLengthByte) {
  EventFile file(directory_);
  const std::string tag(1000, 't');
  file.scalars(3, {{{tag, 1.0}}});
  EXPECT_THAT(scalars(events(file).at(1)), ElementsAre(tag + "=1"));
}

TEST_F(EventFiles, HoldGraphs) {
  EventFile file(directory_);
  const GraphNode nodes[] = {{"image", "Input", {}, {-1, 3, 32, 32}, "u8"},
                             {"c1/conv", "Convolution", {"image"}, {42, 6}, "bf16"},
                             {"loss", "Loss", {"c1/conv", "image:1"}, {}, ""}};
  file.graph(nodes);
  const std::string graph = one(events(file).at(1), 4).bytes;
  const auto found = all(graph, 1);
  ASSERT_THAT(found, SizeIs(3));

  const std::string& conv = found[1].bytes;
  EXPECT_EQ(one(conv, 1).bytes, "c1/conv");
  EXPECT_EQ(one(conv, 2).bytes, "Convolution");
  EXPECT_EQ(one(conv, 3).bytes, "image");
  EXPECT_EQ(one(attribute(conv, "T"), 6).value, 14U);
  EXPECT_EQ(one(attribute(found[0].bytes, "dtype"), 6).value, 4U);
  EXPECT_THAT(all(found[2].bytes, 3), SizeIs(2));
  EXPECT_THAT(all(found[2].bytes, 5), SizeIs(1)) << "a type that is not said is left out";

  const auto sizes = [](const std::string& node) {
    std::vector<int64_t> dims;
    const std::string shape = one(one(attribute(node, "_output_shapes"), 1).bytes, 7).bytes;
    for (const Field& dim : all(shape, 2)) {
      dims.push_back(static_cast<int64_t>(one(dim.bytes, 1).value));
    }
    return dims;
  };
  EXPECT_THAT(sizes(found[0].bytes), ElementsAre(-1, 3, 32, 32));
  EXPECT_THAT(sizes(conv), ElementsAre(42, 6));
  EXPECT_THAT(sizes(found[2].bytes), ElementsAre());
}

TEST_F(EventFiles, SayFromWhichStepARunGoesOn) {
  EventFile file(directory_);
  file.restarted_at(30, 2.0);
  const std::string event = events(file).at(1);
  EXPECT_EQ(one(event, 2).value, 30U);
  EXPECT_EQ(one(one(event, 7).bytes, 1).value, 1U) << "SessionLog.START";
}

TEST_F(EventFiles, OpenedAgainAreNewAndNamedLaterWhateverTheClockSays) {
  std::vector<std::string> names;
  for (const double now : {1000.0, 1000.0, 1.0, 1001.5, 5000.0}) {
    EventFile file(directory_, now);
    EXPECT_THAT(events(file), SizeIs(1));
    names.push_back(file.path().filename());
  }
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

TEST_F(EventFiles, TakeBackARecordThatDoesNotFit) {
  EventFile file(directory_);
  file.scalars(1, {{{"loss", 0.5}}});
  const std::string before = read(file.path());
  {
    const FileSizeLimit limit(before.size() + 10);
    EXPECT_THAT(refusal<RunError>([&] {
                  file.scalars(2, {{{"loss", 0.25}}});
                }),
                HasSubstr("cannot write " + file.path().string()));
    EXPECT_EQ(read(file.path()), before);
  }
  file.scalars(3, {{{"loss", 0.125}}});
  EXPECT_THAT(scalars(events(file).at(2)), ElementsAre("loss=0.125"));
}

TEST_F(EventFiles, ThatCannotBeBegunLeaveNothingBehind) {
  {
    const FileSizeLimit limit(10);
    EXPECT_THROW(EventFile(directory_ / "run"), RunError);
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory_ / "run"));
}

TEST_F(EventFiles, InAPlaceThatIsNoDirectoryAreRefused) {
  const auto file = write("file", "x");
  EXPECT_THAT(refusal<RunError>([&] { EventFile{file}; }), HasSubstr("file"));
  EXPECT_THAT(refusal<RunError>([&] { EventFile{file / "below"}; }), HasSubstr("cannot create"));
}

}  // namespace
}  // namespace syrtos::trace
