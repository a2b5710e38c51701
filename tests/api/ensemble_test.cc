// Ensembles that one training leaves, and networks that learn of others.

#include "syrtos/api/ensemble.h"

#include <gmock/gmock.h>

#include <fstream>

#include "syrtos/api/together.h"
#include "syrtos/api/train.h"
#include "syrtos/base/error.h"
#include "syrtos/nn/side_by_side.h"
#include "syrtos/nn/zoo/zoo.h"
#include "syrtos/train/checkpoint/checkpoint.h"
#include "tests/support/temporary.h"

namespace syrtos::api {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

class Ensembles : public TemporaryDirectory {
 protected:
  TrainRequest small(const std::string& run, const std::string& network = "lenet5") {
    TrainRequest request;
    request.job = {.network = network,
                   .data = "random",
                   .samples = 70,
                   .batch = 16,
                   .epochs = 2,
                   .precision = "f32",
                   .threads = 1};
    request.job.learning_rate = 0.01;
    request.job.run = (directory_ / run).string();
    return request;
  }
  /// Answers of teachers are kept in the test's own directory.
  Surroundings here() const {
    Surroundings around;
    around.cache_home = directory_ / "cache";
    return around;
  }
  class Silent final : public train::TrainObserver {
   public:
    void started(const train::StartInfo&) override {}
    void step(const train::StepProgress&) override {}
    void epoch(const run::EpochMetrics&) override {}
  };
  Trained train_here(const TrainRequest& request) {
    Silent nobody;
    return train(request, here(), nobody);
  }
  std::vector<float> tensor(const std::filesystem::path& file, const std::string& name) {
    train::CheckpointReader reader(file);
    return reader.read(*reader.find(name)).to_vector();
  }
  std::string message_of(const TrainRequest& request) {
    try {
      train_here(request);
    } catch (const RequestError& error) {
      return error.what();
    }
    return "no error";
  }
};

constexpr const char* kTensors[] = {"parameters/conv1.weight", "parameters/conv2.weight",
                                    "parameters/fc1.weight", "parameters/fc3.bias"};

// Sums are taken in another order by other kernels, so that bits differ.
TEST_F(Ensembles, AMemberLearnsWhatItWouldAlone) {
  const Trained alone = train_here(small("alone"));
  TrainRequest request = small("all", "lenet5:members=3");
  const Trained all = train_here(request);
  const Ensemble ensemble = read_ensemble(all.run);
  ASSERT_EQ(ensemble.members.size(), 3U);
  for (const char* name : kTensors) {
    const std::vector<float> own = tensor(alone.run / "last.ckpt", name);
    const std::vector<float> first = tensor(ensemble.members[0], name);
    const std::vector<float> second = tensor(ensemble.members[1], name);
    ASSERT_EQ(first.size(), own.size()) << name;
    double off = 0;
    for (size_t i = 0; i < own.size(); ++i) {
      EXPECT_NEAR(first[i], own[i], 1e-4) << name;
      off += std::abs(second[i] - own[i]);
    }
    EXPECT_GT(off / static_cast<double>(own.size()), 1e-4) << name << ": members are not different";
  }
  EXPECT_NEAR(all.outcome.epochs.back().train_loss, alone.outcome.epochs.back().train_loss, 0.2);
}

TEST_F(Ensembles, OfOneProgramAnswerAsTheirMembersDo) {
  const Trained trained = train_here(small("all", "lenet5:members=3"));
  EnsemblePredictor members({.checkpoint = trained.run, .threads = 1}, here());
  const EnsembleEvaluation apart = members.evaluate_test();
  const train::Evaluation together =
      evaluate({.checkpoint = trained.run / "best.ckpt", .threads = 1}, here());
  EXPECT_EQ(apart.members.size(), 3U);
  EXPECT_NEAR(apart.all.loss, together.loss, 1e-4);
  EXPECT_GT(apart.disagreement, 0);
}

TEST_F(Ensembles, OfARunAreWhatItHadLearntAfterEachCycle) {
  TrainRequest request = small("cycles");
  request.job.epochs = 6;
  request.job.schedule = "cosine";
  request.job.cycles = 3;
  const Trained trained = train_here(request);
  const Ensemble ensemble = read_ensemble(trained.run);
  ASSERT_EQ(ensemble.members.size(), 3U);
  EXPECT_EQ(tensor(ensemble.members[2], kTensors[0]),
            tensor(trained.run / "last.ckpt", kTensors[0]));
  EXPECT_NE(tensor(ensemble.members[0], kTensors[0]), tensor(ensemble.members[1], kTensors[0]));
  // What the first has is what a run of one cycle ends with.
  TrainRequest first = small("first");
  first.job.schedule = "cosine";
  EXPECT_EQ(tensor(ensemble.members[0], kTensors[0]),
            tensor(train_here(first).run / "last.ckpt", kTensors[0]));
}

TEST_F(Ensembles, OfCyclesSurviveAnInterruption) {
  TrainRequest request = small("cycles");
  request.job.epochs = 4;
  request.job.schedule = "cosine";
  request.job.cycles = 2;
  const Trained whole = train_here(request);
  request.job.run = (directory_ / "cut").string();
  Surroundings around = here();
  int asked = 0;
  around.should_stop = [&] { return ++asked > 12; };  // in the third epoch
  Silent nobody;
  const Trained cut = train(request, around, nobody);
  ASSERT_EQ(cut.outcome.end, train::Outcome::End::interrupted);
  EXPECT_FALSE(is_ensemble(cut.run));
  request.resume = cut.run;
  train_here(request);
  const Ensemble ensemble = read_ensemble(cut.run);
  ASSERT_EQ(ensemble.members.size(), 2U);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(tensor(ensemble.members[i], kTensors[0]),
              tensor(read_ensemble(whole.run).members[i], kTensors[0]));
  }
}

TEST_F(Ensembles, CyclesThatDoNotFitAreRefused) {
  TrainRequest request = small("cycles");
  request.job.cycles = 2;
  EXPECT_THAT(message_of(request), HasSubstr("--schedule cosine"));
  request.job.schedule = "cosine";
  request.job.epochs = 3;
  EXPECT_THAT(message_of(request), HasSubstr("use --epochs 4"));
  request.job.epochs = job::kUnset;
  request.job.steps = 10;
  EXPECT_THAT(message_of(request), HasSubstr("in place of --steps"));
}

TEST_F(Ensembles, TheGradientOfAllIsNotClipped) {
  TrainRequest request = small("all", "lenet5:members=2");
  request.job.clip = 1;
  EXPECT_THAT(message_of(request), HasSubstr("--clip"));
}

TEST_F(Ensembles, TheChoiceMeasuresBothWays) {
  TrainRequest request = small("x");
  const job::Job job = job::resolve(request.job, cpu_info(), "nowhere");
  const TogetherChoice choice = measure_together(job, 4, here());
  EXPECT_GT(choice.together_samples_per_s, 0);
  EXPECT_GT(choice.apart.best.samples_per_s, 0);
  EXPECT_THAT(to_string(choice, 4), HasSubstr("4 members in one program"));
  request.job.network = "googlenet";
  request.job.input = "1x64x64";
  request.job.samples = 16;
  request.job.batch = 2;
  const TogetherChoice other =
      measure_together(job::resolve(request.job, cpu_info(), "nowhere"), 2, here());
  EXPECT_FALSE(other.is_better());
  EXPECT_THAT(to_string(other, 2), HasSubstr("side by side"));
}

class Teachers : public Ensembles {
 protected:
  TrainRequest taught(const std::string& run, const std::filesystem::path& teacher) {
    TrainRequest request = small(run, "mlp");
    request.job.teacher = teacher.string();
    return request;
  }
};

TEST_F(Teachers, SayTheSameOnceAndInEachStep) {
  const Trained teacher = train_here(small("teacher"));
  TrainRequest once = taught("once", teacher.run);
  once.job.teacher_answers = "once";
  TrainRequest steps = taught("steps", teacher.run);
  steps.job.teacher_answers = "steps";
  const std::vector<float> a = tensor(train_here(once).run / "last.ckpt", "parameters/fc1.weight");
  const std::vector<float> b = tensor(train_here(steps).run / "last.ckpt", "parameters/fc1.weight");
  const std::vector<float> untaught =
      tensor(train_here(small("untaught", "mlp")).run / "last.ckpt", "parameters/fc1.weight");
  ASSERT_EQ(a.size(), b.size());
  double off = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_NEAR(a[i], b[i], 1e-5);
    off += std::abs(a[i] - untaught[i]);
  }
  EXPECT_GT(off / static_cast<double>(a.size()), 1e-5) << "the teacher has no effect";
}

TEST_F(Teachers, AreAskedOnceWhoeverTrains) {
  const Trained teacher = train_here(small("teacher"));
  train_here(taught("first", teacher.run));
  const auto answers = directory_ / "cache" / "syrtos" / "answers";
  ASSERT_EQ(std::distance(std::filesystem::directory_iterator(answers), {}), 1);
  const auto first = std::filesystem::directory_iterator(answers)->path();
  EXPECT_EQ(std::filesystem::file_size(first), 70U * 10 * sizeof(float));
  const auto written = std::filesystem::last_write_time(first);
  train_here(taught("second", teacher.run));
  EXPECT_EQ(std::filesystem::last_write_time(first), written);
  std::filesystem::resize_file(first, 100);  // damaged: asked again
  train_here(taught("third", teacher.run));
  EXPECT_EQ(std::filesystem::file_size(first), 70U * 10 * sizeof(float));
}

// By the teacher's answers alone, about samples that have no labels, a network becomes like it.
TEST_F(Teachers, AreImitatedOnSamplesWithoutLabels) {
  TrainRequest request = small("teacher");
  request.job.epochs = 6;
  const Trained teacher = train_here(request);
  TrainRequest pupil = taught("pupil", teacher.run);
  pupil.job.teacher_share = 1;
  pupil.job.temperature = 1;
  pupil.job.synthetic = 100;
  pupil.job.epochs = 20;
  const Trained trained = train_here(pupil);
  EXPECT_EQ(trained.outcome.epochs.back().samples, 170);
  TrainRequest untaught = small("untaught", "mlp");
  untaught.job.epochs = 20;
  const job::Job job = job::resolve(request.job, cpu_info(), "nowhere");
  const auto said_by = [&](const std::filesystem::path& run) {
    train::Predictor one = load({.checkpoint = run / "last.ckpt", .threads = 1}, here());
    return one.predict(*job.data.train);
  };
  const auto distance = [](const std::vector<float>& a, const std::vector<float>& b) {
    double sum = 0;
    for (size_t i = 0; i < a.size(); ++i) sum += std::abs(a[i] - b[i]);
    return sum;
  };
  const std::vector<float> said = said_by(teacher.run);
  EXPECT_LT(distance(said, said_by(trained.run)),
            distance(said, said_by(train_here(untaught).run)) / 2);
}

TEST_F(Teachers, MayBeEnsembles) {
  const Trained teacher = train_here(small("all", "lenet5:members=2"));
  EXPECT_GT(train_here(taught("pupil", teacher.run)).outcome.epochs.size(), 0U);
}

TEST_F(Teachers, WorkersLearnOfThemTogether) {
  const Trained teacher = train_here(small("teacher"));
  const Trained alone = train_here(taught("alone", teacher.run));
  TrainRequest request = taught("two", teacher.run);
  request.job.workers = 2;
  request.job.sync = "split";
  const Trained two = train_here(request);
  EXPECT_NEAR(two.outcome.epochs.back().train_loss, alone.outcome.epochs.back().train_loss, 1e-4);
}

TEST_F(Teachers, ARunGoesOnWithItsTeacher) {
  const Trained teacher = train_here(small("teacher"));
  const Trained whole = train_here(taught("whole", teacher.run));
  TrainRequest first = taught("parts", teacher.run);
  first.job.epochs = 1;
  TrainRequest rest = taught("parts", teacher.run);
  rest.resume = train_here(first).run;
  rest.job.epochs = 2;
  EXPECT_EQ(tensor(train_here(rest).run / "last.ckpt", "parameters/fc1.weight"),
            tensor(whole.run / "last.ckpt", "parameters/fc1.weight"));
}

TEST_F(Teachers, ThatDoNotFitAreRefused) {
  const Trained teacher = train_here(small("teacher"));
  EXPECT_THAT(message_of(taught("a", directory_ / "none")), HasSubstr("found nothing there"));
  TrainRequest request = taught("b", teacher.run);
  request.job.classes = 12;
  EXPECT_THAT(message_of(request), HasSubstr("12 classes"));
  request = taught("c", teacher.run);
  request.job.input = "1x32x32";
  EXPECT_THAT(message_of(request), HasSubstr("[1, 32, 32]"));
  request = taught("d", teacher.run);
  request.job.loss = "squared-error";
  EXPECT_THAT(message_of(request), HasSubstr("it teaches classes"));
  request = taught("e", teacher.run);
  request.job.temperature = 0;
  EXPECT_THAT(message_of(request), HasSubstr("--temperature"));
  request = taught("f", teacher.run);
  request.job.teacher_share = 1.5;
  EXPECT_THAT(message_of(request), HasSubstr("--teacher-share"));
  request = taught("g", teacher.run);
  request.job.teacher_answers = "twice";
  EXPECT_THAT(message_of(request), HasSubstr("auto, once or steps"));
  request = small("h");
  request.job.synthetic = 10;
  EXPECT_THAT(message_of(request), HasSubstr("give --teacher too"));
  request = small("i");
  request.job.unlabelled = "mnist";
  EXPECT_THAT(message_of(request), HasSubstr("give --teacher too"));
}

}  // namespace
}  // namespace syrtos::api
