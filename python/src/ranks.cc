#include "ranks.h"

#include <nanobind/stl/string.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "aside.h"
#include "syrtos/api/launch.h"
#include "syrtos/api/rank.h"
#include "syrtos/base/clock.h"
#include "syrtos/base/descriptor.h"
#include "syrtos/base/error.h"
#include "syrtos/base/scribe.h"
#include "syrtos/launch/launch.h"
#include "syrtos/launch/membership.h"
#include "telling.h"

namespace syrtos::python {

namespace nb = nanobind;
using nlohmann::json;

namespace {

constexpr int kExitFailed = 1;
constexpr int kExitRefused = 2;
constexpr std::string_view kStep = R"({"is":"step")";  // json writes its keys in their order

/// Gives what the ranks print to Python, on the thread that waits there; the launcher, whose ranks
/// count on hearing of it, does not wait for that.
class Listener {
 public:
  Listener(Aside& aside, const nb::object& on_line) : aside_(aside), on_line_(on_line) {}

  void hear(std::string_view text) {
    if (text.ends_with('\n')) text.remove_suffix(1);
    std::function<void()> tell = [this, line = std::string(text)] {
      aside_.call([&] {
        if (on_line_(as_str(line)).ptr() == Py_False) aside_.stop();
      });
    };
    if (text.starts_with(kStep)) {
      scribe_.post_newest(0, std::move(tell));
    } else {
      scribe_.post(std::move(tell));
    }
  }

 private:
  Aside& aside_;
  /// Ranks' programs and logins print what they like, also what is no UTF-8.
  static nb::object as_str(const std::string& line) {
    return nb::steal(
        PyUnicode_DecodeUTF8(line.data(), static_cast<Py_ssize_t>(line.size()), "replace"));
  }

  const nb::object& on_line_;
  Scribe scribe_{10'000};
};

/// Worker 0's news as lines.
class LineTeller final : public train::TrainObserver {
 public:
  explicit LineTeller(double every_s) : every_s_(every_s) {}

  void started(const train::StartInfo& info) override { tell("start", start_json(info)); }
  void step(const train::StepProgress& progress) override {
    const bool last = progress.step == progress.total_steps;
    if (!last && every_s_ > 0 && told_ && seconds_since(*told_) < every_s_) return;
    told_ = Clock::now();
    tell("step", step_json(progress));
  }
  void epoch(const run::EpochMetrics& metrics) override { tell("epoch", run::to_json(metrics)); }
  void note(const std::string& text) override { tell("note", text); }

  static void tell(const char* what, json value) {
    const std::string line = dumped({{"is", what}, {"value", std::move(value)}}) + "\n";
    launch::write_to_own_streams(launch::Stream::output, line);
  }

 private:
  const double every_s_;
  std::optional<Clock::time_point> told_;
};

[[noreturn]] void fail(const launch::LaunchEnd& end) {
  if (end.code == kExitRefused) fail_request("{}", end.failure);
  fail_run("{}", end.failure);
}

}  // namespace

std::string train_in_ranks(const TrainCall& call, const RanksCall& ranks) {
  api::TrainRequest request = train_request(call);
  api::RankPrograms programs{.command = ranks.command};
  programs.program = {.identity = ranks.identity, .name = ranks.name};
  programs.hosts = ranks.hosts;
  programs.remote_shell = ranks.remote_shell;
  programs.bring_own = true;
  const bool counted = std::any_of(call.keywords.begin(), call.keywords.end(),
                                   [](const auto& one) { return one.first == "workers"; });
  if (!ranks.hosts.empty() && !counted) {
    request.job = api::fill_hosts(std::move(request.job), launch::read_hosts(ranks.hosts));
  }
  raise_descriptor_limit();
  Aside aside;
  api::Launched launched;
  aside.run([&] {
    Listener listener(aside, ranks.on_line);
    programs.write = [&](launch::Stream, std::string_view text) { listener.hear(text); };
    launched = api::launch_training(request, programs, surroundings(aside.should_stop()));
  });
  if (!launched.end.failure.empty()) fail(launched.end);
  return launched.run.string();
}

int serve_rank(const std::string& join, const Data* train, const Data* test, double tell_every_s) {
  raise_descriptor_limit();
  api::JoinedRank self(join, [] { _exit(launch::kCutOff); });
  job::Own own;
  if (train != nullptr) own.data = job_data(*train, test);
  api::RankHooks hooks;
  hooks.observer = [&] { return std::make_unique<LineTeller>(tell_every_s); };
  hooks.finished = [](const api::Trained& trained) {
    LineTeller::tell("end", outcome_json(trained.outcome));
  };
  int code = 0;
  Aside aside;
  aside.run([&] {
    try {
      const bool good = api::train_as_rank(self, surroundings(aside.should_stop()), hooks, own);
      if (!good) code = kExitFailed;
    } catch (const launch::LauncherGone&) {
      code = launch::kCutOff;
    }
  });
  return code;
}

std::string identity() { return launch::identity_line(cpu_info().cores); }

}  // namespace syrtos::python
