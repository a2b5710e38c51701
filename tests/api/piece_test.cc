// A piece of a trial: it goes on with what the trial has, and with nothing else.
#include "syrtos/api/piece.h"

#include <gmock/gmock.h>

#include <fstream>

#include "syrtos/job/file.h"
#include "syrtos/job/record.h"
#include "tests/support/temporary.h"

namespace syrtos::api {
namespace {

using search::News;
using search::Piece;
using search::PieceEnd;
using testing::HasSubstr;

class ATrial : public TemporaryDirectory {
 protected:
  Piece piece(double rate) const {
    return {.trial = 1,
            .job = {.network = "mlp",
                    .data = "random",
                    .samples = 64,
                    .batch = 16,
                    .epochs = 2,
                    .precision = "f32",
                    .threads = 1,
                    .learning_rate = rate,
                    .metric = "accuracy"},
            .run = directory_ / "0001"};
  }
  static std::vector<News> trained(const Piece& piece) {
    std::vector<News> all;
    train_piece(piece, {}, {}, [&](const News& news) { all.push_back(news); });
    return all;
  }
  std::string rate() const {
    const job::Record record = job::read_record(directory_ / "0001" / "job.toml");
    return job::field_text(*record.request, *job::find_field("optimizer.lr"));
  }
};

TEST_F(ATrial, ThatIsCompleteIsToldAgain) {
  const std::vector<News> first = trained(piece(0.1));
  ASSERT_EQ(first.size(), 4u) << first.back().message;
  EXPECT_EQ(first.back().end, PieceEnd::complete);
  const std::vector<News> again = trained(piece(0.1));
  ASSERT_EQ(again.size(), 4u);
  EXPECT_EQ(again.front().kind, News::Kind::begin);
  EXPECT_EQ(again.front().epoch, 2);
  EXPECT_EQ(again.back().end, PieceEnd::complete);
}

TEST_F(ATrial, TakesNoOthersRunForItsOwn) {
  trained(piece(0.1));
  const std::vector<News> other = trained(piece(0.2));
  ASSERT_EQ(other.size(), 4u) << other.back().message;
  EXPECT_EQ(other.front().epoch, 0) << "it goes on with the other's run";
  EXPECT_EQ(other.back().end, PieceEnd::complete);
  EXPECT_EQ(rate(), "0.2");
  EXPECT_TRUE(std::filesystem::exists(directory_ / "0001.other-1" / "last.ckpt"));
}

TEST_F(ATrial, OfAnotherLengthIsAnother) {
  Piece shorter = piece(0.1);
  shorter.job.epochs = 1;
  trained(shorter);
  EXPECT_EQ(trained(piece(0.1)).front().epoch, 0);
}

TEST_F(ATrial, IsItsOwnHoweverItIsSaid) {
  Piece first = piece(0.1);
  first.until = 1;
  first.job.input = "1x32x32";
  first.job.weight_decay = 1e-3;
  first.job.schedule = "step";
  EXPECT_EQ(trained(first).back().end, PieceEnd::paused);
  Piece again = first;
  again.until = 0;
  again.job.input = "32";
  again.job.threads = 2;
  const std::vector<News> whole = trained(again);
  EXPECT_EQ(whole.front().epoch, 1) << whole.back().message;
  EXPECT_EQ(whole.back().end, PieceEnd::complete);
}

}  // namespace
}  // namespace syrtos::api
