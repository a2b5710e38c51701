#include "syrtos/search/conduct.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <ctime>
#include <fstream>

#include "syrtos/base/error.h"
#include "tests/search/virtual_slots.h"
#include "tests/support/temporary.h"

namespace syrtos::search {
namespace {

using testing::HasSubstr;

Plan plan_of(const std::string& more, int64_t epochs = 1) {
  return parse_plan(
      "epochs = " + std::to_string(epochs) +
          "\n[space]\noptimizer.lr = { log = [0.001, 1.0] }\nbatch = [8, 16, 32, 64]\n"
          "[search]\n" +
          more,
      "space.toml");
}

/// Best near a rate of 0.1; larger batches are a little worse; epochs help.
double quality(const Piece& piece, int64_t epoch) {
  const double away = std::log10(piece.job.learning_rate) + 1;
  return 0.9 - 0.1 * away * away - 0.0001 * static_cast<double>(piece.job.batch) -
         0.05 / static_cast<double>(epoch);
}

class Conduct : public TemporaryDirectory {
 protected:
  Directory create(const Plan& plan) { return Directory::create(directory_ / "search", plan); }
  Outcome run(Directory& directory, Slots& slots) {
    Observer nobody;
    return conduct(directory, slots, nobody, [] { return false; });
  }
};

TEST_F(Conduct, KeepsThousandTrialsOn64HostsBusy) {
  const Plan plan = plan_of("sampler = \"random\"\ntrials = 1000");
  Directory directory = create(plan);
  VirtualSlots slots({.hosts = 64, .epoch_s = [](const Piece& piece) {
                        return 0.8 + 0.4 * std::fmod(piece.trial * 0.618, 1.0);
                      }});
  const std::clock_t before = std::clock();
  run(directory, slots);
  const double cpu_s = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
  EXPECT_EQ(directory.ledger().count(TrialState::done), 1000);
  // Without the end, when there are fewer trials left than slots: at most one trial per slot.
  const double bound = slots.busy_s() / 64 / 0.99 + 1.2;
  EXPECT_LT(slots.now(), bound);
  RecordProperty("scheduling_ms", static_cast<int>(1000 * cpu_s));
  RecordProperty("virtual_ms", static_cast<int>(1000 * slots.now()));
  printf("1000 trials on 64 hosts: %.2f s of virtual time, %.3f s of computing for it\n",
         slots.now(), cpu_s);
}

TEST_F(Conduct, HalvesAsynchronouslyAndTrainsTheBestToTheEnd) {
  const Plan plan = plan_of("sampler = \"quasi\"\ntrials = 27\nhalving = 3", 9);
  Directory directory = create(plan);
  VirtualSlots slots({.hosts = 4, .value = quality, .epochs = 9});
  run(directory, slots);
  const Ledger& ledger = directory.ledger();
  int reached[3] = {0, 0, 0};
  for (const Trial& trial : ledger.trials()) {
    reached[0] += trial.epoch >= 1 ? 1 : 0;
    reached[1] += trial.epoch >= 3 ? 1 : 0;
    reached[2] += trial.epoch >= 9 ? 1 : 0;
  }
  EXPECT_EQ(reached[0], 27);
  EXPECT_GE(reached[1], 9);
  EXPECT_GE(reached[2], 3);
  EXPECT_LT(ledger.epochs(), 27 * 9 / 2);
  // The best of all points was trained to the end.
  const Trial* best = ledger.best();
  EXPECT_EQ(best->epoch, 9);
  for (const Trial& trial : ledger.trials()) {
    EXPECT_LE(quality({.job = plan.job_at(trial.point)}, 9),
              quality({.job = plan.job_at(best->point)}, 9));
  }
}

TEST_F(Conduct, TrainsOneToTheEndEvenOfFew) {
  Directory directory = create(plan_of("sampler = \"quasi\"\ntrials = 2\nhalving = 3", 9));
  VirtualSlots slots({.value = quality, .epochs = 9});
  run(directory, slots);
  EXPECT_EQ(directory.ledger().count(TrialState::done), 1);
  EXPECT_EQ(directory.ledger().best()->epoch, 9);
}

TEST_F(Conduct, GoesOnWithoutALostHostAndWithOneThatComesBack) {
  for (const bool shares : {true, false}) {
    const std::string name = shares ? "shared" : "apart";
    Directory directory = Directory::create(
        directory_ / name, plan_of("sampler = \"random\"\ntrials = 20\nhalving = 3", 9));
    VirtualSlots slots({.hosts = 3, .value = quality, .epochs = 9, .shares = shares});
    slots.at(2.5, [&] { slots.lose("h1", 8.0); });
    slots.at(4.5, [&] { slots.lose("h2"); });
    run(directory, slots);
    const Ledger& ledger = directory.ledger();
    EXPECT_EQ(ledger.trials().size(), 20u);
    EXPECT_EQ(ledger.count(TrialState::waiting) + ledger.count(TrialState::failed), 0);
    int lost = 0;
    for (const Trial& trial : ledger.trials()) lost += trial.lost;
    EXPECT_EQ(lost, 2);
    EXPECT_EQ(ledger.best()->epoch, 9);
    bool came_back = false;
    for (const auto& begun : slots.begun()) came_back |= begun.slot == 1 && slots.now() > 8;
    EXPECT_TRUE(came_back);
  }
}

TEST_F(Conduct, GivesUpATrialThatAlwaysEndsItsProcess) {
  Directory directory = create(plan_of("sampler = \"random\"\ntrials = 3\nattempts = 2"));
  VirtualSlots slots({.value = quality});
  for (int i = 0; i < 2; ++i) slots.at(0.5 + i, [&] { slots.lose("h0", slots.now() + 0.1); });
  run(directory, slots);
  const Trial& first = directory.ledger().trial(1);
  EXPECT_EQ(first.state, TrialState::failed);
  EXPECT_THAT(first.message, HasSubstr("2 times"));
  EXPECT_EQ(directory.ledger().count(TrialState::done), 2);
}

TEST_F(Conduct, GoesOnFromItsDirectoryAsIfNothingHadHappened) {
  const Plan plan = plan_of("sampler = \"tpe\"\ntrials = 30");
  const auto all = [&](const std::vector<int>& stops, const std::string& name) {
    std::vector<Point> points;
    const std::filesystem::path path = directory_ / name;
    for (size_t part = 0; part <= stops.size(); ++part) {
      Directory directory =
          part == 0 ? Directory::create(path, plan) : Directory::open_to_resume(path, false);
      VirtualSlots slots({.value = quality});
      Observer nobody;
      conduct(directory, slots, nobody, [&] {
        return part < stops.size() && directory.ledger().count(TrialState::done) >= stops[part];
      });
    }
    const Directory read = Directory::open(path);
    for (const Trial& trial : read.ledger().trials()) {
      EXPECT_EQ(trial.state, TrialState::done);
      points.push_back(trial.point);
    }
    return points;
  };
  const std::vector<Point> at_once = all({}, "at_once");
  EXPECT_EQ(at_once.size(), 30u);
  EXPECT_EQ(all({1, 13, 21}, "in_parts"), at_once);
}

TEST_F(Conduct, TakesItsTrialsFromSlotsOfASearchThatWasKilled) {
  const Plan plan = plan_of("sampler = \"random\"\ntrials = 2");
  {
    Directory directory = create(plan);
    directory.add({.kind = Event::Kind::session});
    directory.add({.kind = Event::Kind::trial, .point = {{"batch", "8"}}});
    directory.add({.kind = Event::Kind::start, .trial = 1, .host = "h0"});
  }
  Directory directory = Directory::open_to_resume(directory_ / "search", false);
  VirtualSlots slots({});
  run(directory, slots);
  ASSERT_EQ(slots.begun().size(), 2u);
  EXPECT_EQ(slots.begun().front().trial, 1);
  EXPECT_TRUE(slots.begun().front().force) << "nobody was lost, and somebody may have it";
  EXPECT_EQ(directory.ledger().count(TrialState::done), 2);
}

TEST_F(Conduct, IgnoresALineThatWasCut) {
  const Plan plan = plan_of("sampler = \"random\"\ntrials = 4");
  {
    Directory directory = create(plan);
    VirtualSlots slots({});
    run(directory, slots);
  }
  const auto file = directory_ / "search" / "trials.jsonl";
  std::ofstream(file, std::ios::app) << R"({"event": "tri)";
  Directory directory = Directory::open_to_resume(directory_ / "search", false);
  Settings more = plan.settings;
  more.trials = 6;
  directory.change(more);
  VirtualSlots slots({});
  run(directory, slots);
  EXPECT_EQ(Directory::open(directory_ / "search").ledger().count(TrialState::done), 6);
}

TEST(Ledger, TakesWhatIsToldLateAndForgetsWhatIsTrainedAgain) {
  Ledger ledger(true);
  ledger.add({.kind = Event::Kind::trial});
  const auto tell = [&](int64_t epoch, double value) {
    ledger.add({.kind = Event::Kind::epoch, .trial = 1, .epoch = epoch, .value = value});
  };
  tell(1, 0.1);
  tell(2, 0.2);
  // It was killed when its third epoch was saved and not told.
  ledger.add({.kind = Event::Kind::begin, .trial = 1, .epoch = 3});
  for (const int64_t epoch : {1, 2, 3, 4}) tell(epoch, 0.1 * static_cast<double>(epoch));
  EXPECT_EQ(ledger.trial(1).scores.size(), 4u);
  EXPECT_EQ(ledger.trial(1).epoch, 4);
  ledger.add({.kind = Event::Kind::begin, .trial = 1, .epoch = 1});
  EXPECT_EQ(ledger.trial(1).scores.size(), 1u);
  EXPECT_EQ(ledger.trial(1).epoch, 1);
}

TEST_F(Conduct, IsOneSearchsAlone) {
  const Plan plan = plan_of("trials = 4");
  const Directory directory = create(plan);
  EXPECT_THROW(Directory::open_to_resume(directory.path(), false), RequestError);
  EXPECT_THROW(Directory::create(directory.path(), plan), RequestError);
}

/// One slot, on which the first trials are complete after an epoch and all others fail.
class Failing final : public Slots {
 public:
  explicit Failing(int good = 0) : good_(good) {}

  double now() override { return now_; }
  std::vector<News> wait(double seconds) override {
    now_ += seconds;
    return std::exchange(news_, {});
  }
  void start(int slot, const Piece& piece) override {
    if (piece.trial <= good_) {
      news_.push_back({.kind = News::Kind::epoch, .slot = slot, .epoch = 1, .value = 0.5});
      news_.push_back({.kind = News::Kind::end, .slot = slot, .end = PieceEnd::complete});
      return;
    }
    news_.push_back({.kind = News::Kind::end,
                     .slot = slot,
                     .end = PieceEnd::failed,
                     .message = "no such file: data" + std::to_string(piece.trial)});
  }
  void stop(int) override {}
  const std::string& host(int) const override { return host_; }
  bool shares(int, const std::string&) const override { return true; }
  std::string none_left() const override { return {}; }

 private:
  const int good_;
  double now_ = 0;
  std::string host_ = "a";
  std::vector<News> news_ = {{.kind = News::Kind::free, .slot = 0}};
};

TEST_F(Conduct, StopsWhenAllTrialsFail) {
  Directory directory = create(plan_of("sampler = \"random\"\ntrials = 100"));
  Failing slots;
  const Outcome outcome = run(directory, slots);
  EXPECT_EQ(outcome.end, Outcome::End::hopeless);
  EXPECT_EQ(directory.ledger().trials().size(), 4u);
  EXPECT_THAT(outcome.message, HasSubstr("4 of 4 trials failed for the same reason: no such file"));
}

TEST_F(Conduct, StopsWhenAllTrialsFailFromSomeTimeOn) {
  Directory directory = create(plan_of("sampler = \"random\"\nhours = 0.1"));
  Failing slots(1);
  const Outcome outcome = run(directory, slots);
  EXPECT_EQ(outcome.end, Outcome::End::hopeless);
  EXPECT_EQ(directory.ledger().trials().size(), 17u);
  EXPECT_THAT(outcome.message, HasSubstr("16 of 17 trials failed for the same reason"));
  EXPECT_EQ(directory.ledger().best()->number, 1);
}

/// Trials cannot be kept where there is no room, whatever their values are.
class Full final : public Slots {
 public:
  double now() override { return now_; }
  std::vector<News> wait(double seconds) override {
    now_ += seconds;
    return std::exchange(news_, {});
  }
  void start(int slot, const Piece&) override {
    news_.push_back({.kind = News::Kind::begin, .slot = slot});
    News end{.kind = News::Kind::end, .slot = slot};
    if (full) {
      end.end = PieceEnd::interrupted;
      end.message = "No space left on device";
    } else {
      news_.push_back({.kind = News::Kind::epoch, .slot = slot, .epoch = 1, .value = 0.5});
    }
    news_.push_back(end);
  }
  void stop(int) override {}
  const std::string& host(int) const override { return name_; }
  bool shares(int, const std::string&) const override { return true; }
  std::string none_left() const override { return {}; }

  bool full = true;

 private:
  double now_ = 0;
  const std::string name_ = "here";
  std::vector<News> news_ = {{.kind = News::Kind::free, .slot = 0}};
};

TEST_F(Conduct, LosesNoTrialToAFullDisk) {
  Directory directory = create(plan_of("sampler = \"random\"\ntrials = 6"));
  Full slots;
  const Outcome outcome = run(directory, slots);
  EXPECT_EQ(outcome.end, Outcome::End::no_room);
  EXPECT_THAT(outcome.message, HasSubstr("No space left"));
  EXPECT_EQ(directory.ledger().trials().size(), 1u);
  Full more;
  more.full = false;
  EXPECT_EQ(run(directory, more).end, Outcome::End::complete);
  EXPECT_EQ(directory.ledger().count(TrialState::done), 6);
}

TEST_F(Conduct, ThatHasNothingButFailedTrialsHasFailed) {
  Directory directory = create(plan_of("sampler = \"random\"\ntrials = 2"));
  Failing slots;
  EXPECT_EQ(run(directory, slots).end, Outcome::End::hopeless);
}

TEST_F(Conduct, EndsHopelessTrials) {
  Directory directory =
      create(plan_of("sampler = \"random\"\ntrials = 30\nhopeless = \"median\"", 9));
  VirtualSlots slots({.value = quality, .epochs = 9});
  run(directory, slots);
  int hopeless = 0;
  for (const Trial& trial : directory.ledger().trials()) {
    if (trial.end != PieceEnd::hopeless) continue;
    ++hopeless;
    EXPECT_GE(trial.epoch, 3);
  }
  EXPECT_GT(hopeless, 5);
  EXPECT_EQ(directory.ledger().best()->epoch, 9);
}

TEST_F(Conduct, KeepsToTheLimits) {
  Directory by_epochs = Directory::create(
      directory_ / "epochs", plan_of("sampler = \"random\"\ntotal_epochs = 20\nhalving = 3", 9));
  VirtualSlots slots({.hosts = 2, .value = quality, .epochs = 9});
  run(by_epochs, slots);
  EXPECT_LE(by_epochs.ledger().epochs(), 20);
  EXPECT_GE(by_epochs.ledger().epochs(), 15);

  Directory by_time =
      Directory::create(directory_ / "time", plan_of("sampler = \"random\"\nhours = 0.01"));
  VirtualSlots others({.hosts = 2, .value = quality});
  run(by_time, others);
  EXPECT_NEAR(others.now(), 36, 0.5);
}

}  // namespace
}  // namespace syrtos::search
