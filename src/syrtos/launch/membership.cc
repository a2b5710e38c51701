#include "syrtos/launch/membership.h"

#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <csignal>

#include <array>

#include "syrtos/base/error.h"
#include "syrtos/launch/wait.h"

namespace syrtos::launch {

namespace {

using nlohmann::json;

constexpr auto kReportEvery = std::chrono::milliseconds(100);
constexpr auto kBeat = std::chrono::seconds(1);  // one who has nothing to say is still there
constexpr auto kFarewellTime = std::chrono::milliseconds(1000);
constexpr const char* kLauncherGone = "the launcher is gone";

json to_json(const Waiting& waiting) {
  json message = {{"port", waiting.port}, {"misses", waiting.misses}};
  if (waiting.step) message["step"] = *waiting.step;
  return {{"waits", message}};
}

}  // namespace

Assignment parse_assignment(const json& message, Rank seat, const std::string& token) {
  Assignment assignment{.team = message.at("team"), .rank = -1, .members = {}, .token = token};
  for (const json& one : message.at("members")) {
    if (one.at("seat") == seat) assignment.rank = static_cast<Rank>(assignment.members.size());
    assignment.members.push_back(
        {.seat = one.at("seat"),
         .role = one.at("role") == to_string(Role::server) ? Role::server : Role::worker,
         .host = one.at("host"),
         .address = one.at("address"),
         .port = one.at("port")});
  }
  for (const json& one : message.value("lost", json::array())) {
    assignment.lost.push_back({.seat = one.at("seat"), .host = one.at("host")});
  }
  SYRTOS_CHECK(assignment.rank >= 0, "seat {} is in no team", seat);
  return assignment;
}

Membership::Membership(const JoinOptions& options, Channel channel, Assignment assignment,
                       std::vector<json> further)
    : options_(options),
      assignment_(std::move(assignment)),
      channel_(std::move(channel)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      further_(std::move(further)) {
  // Signals are for the thread that made this.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread(&Membership::watch, this);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Membership::~Membership() { finish(); }

void Membership::report(std::string doing) {
  const std::lock_guard lock(mutex_);
  doing_ = std::move(doing);
  news_ = true;
}

void Membership::misses(Rank lost) {
  {
    const std::lock_guard lock(mutex_);
    missed_.push_back(lost);
  }
  eventfd_write(wake_.get(), 1);
}

void Membership::begun() {
  begun_ = true;
  eventfd_write(wake_.get(), 1);
  begun_told_.wait(false);
}

const Assignment& Membership::next_team(const Waiting& waiting) {
  std::unique_lock lock(mutex_);
  begun_ = begun_told_ = false;
  waiting_ = waiting;
  next_.reset();
  eventfd_write(wake_.get(), 1);
  // The scheduler, whose life the thread watches, answers in any case.
  changed_.wait(lock, [this] { return next_ || !over_.empty(); });
  if (!next_ && over_ == kLauncherGone) throw LauncherGone(over_);
  if (!next_) fail_run("{}", over_);
  assignment_ = std::move(*next_);
  next_.reset();
  regroup_requested_ = false;
  return assignment_;
}

void Membership::leave() {
  leaving_ = true;
  finish();
}

void Membership::finish() {
  if (!thread_.joinable()) return;
  finished_ = true;
  eventfd_write(wake_.get(), 1);
  thread_.join();
}

void Membership::watch() {
  watch_until_over();
  begun_told_ = true;  // nobody waits for what will not be
  begun_told_.notify_all();
}

void Membership::watch_until_over() {
  if (!handle(further_)) return;
  for (;;) {
    std::array<pollfd, 3> watched = {{{.fd = wake_.get(), .events = POLLIN, .revents = 0},
                                      {.fd = channel_.descriptor(), .events = POLLIN, .revents = 0},
                                      {.fd = options_.input, .events = POLLIN, .revents = 0}}};
    if (channel_.has_unsent()) watched[1].events |= POLLOUT;
    poll(watched.data(), watched.size(), static_cast<int>(kReportEvery.count()));
    if (finished_) break;
    if (eventfd_t count = 0; watched[0].revents != 0) eventfd_read(wake_.get(), &count);
    if (watched[1].revents != 0 && !receive()) return;
    if (watched[2].revents != 0 && at_end(options_.input)) return end(kLauncherGone);
    send_report();
  }
  send_report();
  if (leaving_) channel_.send({{"leave", true}});
  const Clock::time_point deadline = Clock::now() + kFarewellTime;
  while (channel_.has_unsent() && channel_.flush() && Clock::now() < deadline) {
    pollfd socket{.fd = channel_.descriptor(), .events = POLLOUT, .revents = 0};
    poll(&socket, 1, milliseconds_until(deadline));
  }
}

// False: it is over.
bool Membership::receive() {
  std::vector<json> messages;
  const bool open = channel_.receive(messages) && channel_.flush();
  if (!handle(messages)) return false;
  if (!open) end(kLauncherGone);
  return open;
}

// False: it is over.
bool Membership::handle(const std::vector<json>& messages) {
  for (const json& message : messages) {
    if (message.contains("stop")) stop_requested_ = true;
    if (message.contains("regroup")) regroup_requested_ = true;
    if (message.contains("members")) {
      const std::lock_guard lock(mutex_);
      next_ = parse_assignment(message, options_.invitation.rank, options_.token);
      changed_.notify_all();
    }
    if (message.contains("end")) {
      end(message["end"].get<std::string>());
      return false;
    }
  }
  return true;
}

void Membership::send_report() {
  {
    const std::lock_guard lock(mutex_);  // or next_team() could set back what is told here
    if (begun_ && !begun_told_) {
      channel_.send({{"begun", true}});
      begun_told_ = true;
      begun_told_.notify_all();
    }
  }
  if (const Rank lost = blamed_.exchange(-1); lost >= 0) channel_.send({{"blames", lost}});
  json message;
  {
    const std::lock_guard lock(mutex_);
    for (const Rank lost : std::exchange(missed_, {})) channel_.send({{"misses", lost}});
    if (const auto waiting = std::exchange(waiting_, std::nullopt))
      channel_.send(to_json(*waiting));
    if (std::exchange(news_, false)) {
      message = {{"doing", doing_}};
    } else if (Clock::now() - said_ >= kBeat) {
      message = {{"beat", true}};
    } else {
      return;
    }
  }
  // Only the newest counts: nothing piles up behind a slow connection.
  if (channel_.has_unsent()) return;
  channel_.send(message);
  said_ = Clock::now();
}

void Membership::end(const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    over_ = why;
    changed_.notify_all();
  }
  if (options_.ended) options_.ended(why);
  const Clock::time_point deadline = Clock::now() + options_.grace;
  pollfd woken{.fd = wake_.get(), .events = POLLIN, .revents = 0};
  while (Clock::now() < deadline) {
    if (finished_) return;
    eventfd_t count = 0;
    if (poll(&woken, 1, milliseconds_until(deadline)) > 0) eventfd_read(wake_.get(), &count);
  }
  if (options_.overdue) options_.overdue();
}

}  // namespace syrtos::launch
