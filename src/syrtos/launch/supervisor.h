#pragma once

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "syrtos/base/clock.h"
#include "syrtos/base/memory.h"
#include "syrtos/base/scribe.h"
#include "syrtos/launch/launch.h"
#include "syrtos/launch/process.h"
#include "syrtos/launch/routes.h"
#include "syrtos/launch/scheduler.h"

namespace syrtos::launch {

/// One rank's process, seen from the launcher.
struct RankProcess {
  Process process;
  RankOutput output;
  RankOutput error;
  bool settled = false;                                      ///< its end was looked at
  std::optional<Clock::time_point> ended_at = std::nullopt;  ///< seen to have ended
};

/// When a rank that was lost is started again, and how often it was.
struct Replacing {
  std::optional<Clock::time_point> at = std::nullopt;
  int times = 0;
};

/// The launcher at work: see launch().
class Supervisor {
 public:
  explicit Supervisor(const LaunchOptions& options);
  LaunchEnd run();

 private:
  static constexpr int kExitFailed = 1;
  static constexpr int kExitRequest = 2;

  struct Failure {
    Rank rank;
    std::string text;
    Ending ending = {};
    bool loss = false;     // by no fault of its own: it was killed, or cannot be reached
    bool starved = false;  // of memory
  };

  void print(Stream stream, std::string_view text);
  Process start(const Placement& placement);
  bool may_start(const Placement& placement) const;
  void start_more();
  void start_rank(const Placement& placement);
  void wait();
  void forward();
  bool all_ended();
  std::optional<Failure> trouble_of(Rank rank);
  void look_for_trouble();
  Rank culprit_of(Rank witness) const;
  std::vector<Rank> most_blamed() const;
  void look_for_missed();
  std::string in_own_words(const Failure& failure) const;
  bool may_learn_more() const;
  void judge();
  void look_at_time();
  void look_at_servers();
  bool may_regroup(const Failure& failure) const;
  void lose(Failure failure);
  void look_at_team();
  void dismiss();
  bool all_wait() const;
  void look_for_strays();
  void leave_out_missed();
  std::vector<Rank> next_team() const;
  void form_team(const std::vector<Rank>& seats);
  void let_first_speak(Rank seat);
  void give_up_team(size_t left);
  void look_for_replacements();
  bool may_be_lost(Rank rank) const;
  bool may_go_on_after(const Failure& failure) const;
  bool has_said_all(RankProcess& process, const Seat& seat) const;
  bool has_begun() const;
  void end_all(const std::string& why, int code);
  std::chrono::milliseconds to_join() const;
  std::string load_text() const;
  std::string missing() const;
  std::string name_of(Rank rank) const;
  std::string describe(Rank rank, const std::string& what) const;
  void note(const std::string& text) { printer_.line(Stream::error, text); }

  const LaunchOptions& options_;
  // Writes to our own streams; what was said last, such as how it ended, counts most.
  Scribe output_{1000, Scribe::LeavesOut::oldest};
  Printer printer_;
  const Routes routes_;
  std::unique_ptr<Scheduler> scheduler_;
  std::vector<std::unique_ptr<RankProcess>> ranks_;  // that were started
  const int cores_ = static_cast<int>(std::thread::hardware_concurrency());
  const int64_t memory_kills_ = memory_kills();  // when this began
  std::vector<Failure> failures_;
  std::vector<Failure> losses_;                  // since the last team was formed
  std::vector<Replacing> replacing_;             // by seat
  std::vector<int> missed_again_;                // by seat: teams in a row that others missed it in
  std::optional<Clock::time_point> regrouping_;  // since the first rank left its team
  Rank first_ = 0;                               // the seat of rank 0
  bool asked_to_regroup_ = false;                // the team
  Clock::time_point first_failure_;
  std::optional<Clock::time_point> judge_at_;
  std::optional<Clock::time_point> kill_at_;
  Clock::time_point join_by_;
  bool over_ = false;  // everything is being ended
  bool servers_asked_ = false;
  LaunchEnd end_;
};

}  // namespace syrtos::launch
