// What a slot does with the lines of its search.
#include "syrtos/api/slot_program.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <nlohmann/json.hpp>
#include <thread>

#include "syrtos/api/piece.h"
#include "syrtos/base/descriptor.h"
#include "tests/support/temporary.h"

namespace syrtos::api {
namespace {

using nlohmann::json;

std::array<Descriptor, 2> make_pipe() {
  std::array<int, 2> ends = {-1, -1};
  EXPECT_EQ(pipe(ends.data()), 0);
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

class ASlot : public TemporaryDirectory {
 protected:
  search::Piece piece(int64_t epochs) const {
    return {.trial = 1,
            .job = {.network = "mlp",
                    .data = "random",
                    .samples = 64,
                    .batch = 16,
                    .epochs = epochs,
                    .precision = "f32",
                    .threads = 1,
                    .metric = "accuracy"},
            .run = directory_ / "0001"};
  }

  /// Serves as a slot that finds `lines` on its standard input, all at once, until it has told the
  /// end of a piece; that news.
  static json end_after(const std::string& lines) {
    auto [in, to_slot] = make_pipe();
    auto [from_slot, out] = make_pipe();
    EXPECT_EQ(::write(to_slot.get(), lines.data(), lines.size()), ssize_t(lines.size()));
    json end;
    std::thread search([&, &from_slot = from_slot, &to_slot = to_slot] {
      std::string text;
      std::array<char, 4096> block;
      for (ssize_t got = 1; got > 0 && end.is_null();) {
        got = ::read(from_slot.get(), block.data(), block.size());
        if (got > 0) text.append(block.data(), static_cast<size_t>(got));
        for (size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n')) {
          const json news = json::parse(text.substr(0, at));
          if (news.at("is") == "end") end = news;
          text.erase(0, at + 1);
        }
      }
      to_slot.close();
    });
    const Descriptor input(dup(STDIN_FILENO));
    const Descriptor output(dup(STDOUT_FILENO));
    dup2(in.get(), STDIN_FILENO);
    dup2(out.get(), STDOUT_FILENO);
    serve_slot({}, [] { FAIL() << "it did not end"; });
    dup2(input.get(), STDIN_FILENO);
    dup2(output.get(), STDOUT_FILENO);
    out.close();
    search.join();
    return end;
  }
};

TEST_F(ASlot, StopsWhatItHasNotBegunYet) {
  const json end = end_after(to_line(piece(60), {}) + "{\"do\": \"stop\"}\n");
  EXPECT_EQ(end.value("end", ""), "interrupted") << end;
}

TEST_F(ASlot, TrainsAfterAStopThatWasMeantForAnother) {
  const json end = end_after("{\"do\": \"stop\"}\n" + to_line(piece(1), {}));
  EXPECT_EQ(end.value("end", ""), "complete") << end;
}

}  // namespace
}  // namespace syrtos::api
