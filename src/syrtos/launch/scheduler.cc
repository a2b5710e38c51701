#include "syrtos/launch/scheduler.h"

#include <fmt/format.h>
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <numeric>

#include "syrtos/base/error.h"
#include "syrtos/base/log.h"

namespace syrtos::launch {

namespace {

using nlohmann::json;

// A stranger may keep a connection this long, and so many may be there at a time; then the oldest
// goes. Ranks need milliseconds.
constexpr auto kStrangerTime = std::chrono::seconds(5);
constexpr int kMostStrangers = 128;
constexpr size_t kLongestReport = 300;
constexpr size_t kLongestRefusal = 3000;

}  // namespace

std::string Seat::name() const { return fmt::format("rank {} on {}", rank, host); }

Scheduler::Scheduler(const std::string& address, uint16_t port, std::string token,
                     const std::vector<Placement>& placements, const std::vector<Host>& hosts,
                     int patience)
    : token_(std::move(token)),
      events_(epoll_create1(EPOLL_CLOEXEC)),
      listener_(address, port),
      lost_after_(silence_of(patience)) {
  for (const Placement& placement : placements) {
    SYRTOS_CHECK(placement.rank == static_cast<Rank>(seats_.size()), "rank {}", placement.rank);
    Seat seat;
    seat.rank = placement.rank;
    seat.role = placement.role;
    seat.host = hosts.at(static_cast<size_t>(placement.host)).name;
    seats_.push_back(std::move(seat));
  }
  epoll_event event{.events = EPOLLIN, .data = {.ptr = nullptr}};
  if (!events_.valid() ||
      epoll_ctl(events_.get(), EPOLL_CTL_ADD, listener_.descriptor(), &event) != 0) {
    fail_run("cannot watch the scheduler's port: {}", std::strerror(errno));
  }
}

void Scheduler::step() {
  std::array<epoll_event, 64> ready;
  const int count = epoll_wait(events_.get(), ready.data(), static_cast<int>(ready.size()), 0);
  bool knocking = false;
  for (int i = 0; i < count; ++i) {
    auto* connection = static_cast<Connection*>(ready[static_cast<size_t>(i)].data.ptr);
    if (connection == nullptr) {
      knocking = true;
    } else {
      serve(*connection);
    }
  }
  if (knocking) accept_all();  // last: it may drop others
  drop_strangers();
}

void Scheduler::accept_all() {
  constexpr int kAtOnce = 64;  // a flood must not keep us from the ranks
  for (int i = 0; i < kAtOnce; ++i) {
    Descriptor socket = listener_.accept();
    if (!socket.valid()) return;
    const int descriptor = socket.get();
    world::watch_closely(descriptor, lost_after_);
    connections_.push_back({Channel(std::move(socket), token_, Channel::Side::scheduler)});
    Connection& connection = connections_.back();
    ++strangers_;
    epoll_event event{.events = EPOLLIN, .data = {.ptr = &connection}};
    if (epoll_ctl(events_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0 ||
        !connection.channel.flush()) {
      drop(connection);
    }
  }
}

void Scheduler::serve(Connection& connection) {
  std::vector<json> messages;
  bool open = connection.channel.receive(messages);
  try {
    for (const json& message : messages) handle(connection, message);
  } catch (const json::exception&) {
    open = false;  // a message of another kind than ours
  }
  if (!open || !connection.channel.flush()) {
    drop(connection);
  } else {
    want_write(connection);
  }
}

void Scheduler::handle(Connection& connection, const json& message) {
  if (connection.rank >= 0) seats_[static_cast<size_t>(connection.rank)].heard = Clock::now();
  if (connection.rank < 0) {
    admit(connection, message);
  } else if (message.contains("leave")) {
    set_state(connection.rank, Seat::State::left);
    log_info("{} has left", seat(connection.rank).name());
  } else if (message.contains("doing")) {
    seats_[static_cast<size_t>(connection.rank)].doing =
        message["doing"].get<std::string>().substr(0, kLongestReport);
    log_trace("{}: {}", seat(connection.rank).name(), seat(connection.rank).doing);
  } else if (message.contains("begun")) {
    seats_[static_cast<size_t>(connection.rank)].begun = true;
  } else if (message.contains("misses")) {
    const Rank missed = seat_of(message["misses"]);
    const bool sensible = connection.rank == seat_of(0) && missed >= 0 && missed != seat_of(0);
    if (sensible) seats_[static_cast<size_t>(missed)].missed = Clock::now();
  } else if (message.contains("blames")) {
    seats_[static_cast<size_t>(connection.rank)].blames = seat_of(message["blames"]);
  } else if (message.contains("waits")) {
    take_waiting(seats_[static_cast<size_t>(connection.rank)], message["waits"]);
  }
}

/// Of a rank in the current team; -1: there is no such one.
Rank Scheduler::seat_of(Rank rank) const {
  const bool sensible = rank >= 0 && rank < static_cast<Rank>(members_.size());
  return sensible ? members_[static_cast<size_t>(rank)] : -1;
}

void Scheduler::take_waiting(Seat& seat, const json& message) {
  Waiting waiting{.port = message.at("port"), .misses = seat_of(message.at("misses"))};
  if (message.contains("step")) waiting.step = message["step"].get<int64_t>();
  log_info("{} waits for the next team{}", seat.name(),
           waiting.step ? fmt::format(", to go on from step {}", *waiting.step) : "");
  seat.port = waiting.port;
  seat.waiting = waiting;
}

void Scheduler::admit(Connection& connection, const json& message) {
  const Rank rank = message.at("rank");
  if (rank < 0 || rank >= static_cast<Rank>(seats_.size())) {
    say(connection, {{"refused", fmt::format("there is no rank {} in this job", rank)}});
    return;
  }
  Seat& seat = seats_[static_cast<size_t>(rank)];
  if (seat.state != Seat::State::expected) {
    say(connection, {{"refused", fmt::format("{} has joined already", seat.name())}});
    return;
  }
  seat.host = message.value("host", seat.host);
  seat.address = message.at("address");
  seat.port = message.at("port");
  seat.process = message.at("process");
  seat.doing = "joined";
  log_info("{} has joined: process {}, listening at {}:{}", seat.name(), seat.process, seat.address,
           seat.port);
  connection.rank = rank;
  --strangers_;
  seat.refuses = message.value("refuses", "").substr(0, kLongestRefusal);
  set_state(rank, seat.refuses.empty() ? Seat::State::joined : Seat::State::lost);
  say(connection, {{"welcome", true}});
  if (all_joined()) {
    seat.waiting = Waiting{.port = seat.port};
    return;
  }
  const bool complete = std::ranges::none_of(seats_, [](const Seat& one) {
    return one.state == Seat::State::expected || !one.refuses.empty();
  });
  if (!complete) return;
  log_info("all {} ranks have joined", seats_.size());
  std::vector<Rank> all(seats_.size());
  std::iota(all.begin(), all.end(), 0);
  form_team(all);
}

void Scheduler::form_team(const std::vector<Rank>& seats) {
  ++team_;
  json lost = json::array();
  for (const Rank before : members_) {
    if (std::ranges::find(seats, before) != seats.end()) continue;
    lost.push_back({{"seat", before}, {"host", seat(before).host}});
  }
  members_ = seats;
  json members = json::array();
  for (Seat& seat : seats_) seat.in_team = false;
  for (const Rank number : seats) {
    Seat& seat = seats_[static_cast<size_t>(number)];
    seat.in_team = true;
    seat.begun = false;
    seat.blames = -1;
    seat.missed.reset();
    seat.waiting.reset();
    members.push_back({{"seat", number},
                       {"role", to_string(seat.role)},
                       {"host", seat.host},
                       {"address", seat.address},
                       {"port", seat.port}});
  }
  const json message = {{"team", team_}, {"members", members}, {"lost", lost}};
  for (Connection& connection : connections_) {
    if (connection.rank >= 0 && seat(connection.rank).in_team) say(connection, message);
  }
}

void Scheduler::ask_to_regroup() {
  for (Connection& connection : connections_) {
    if (connection.rank >= 0 && seat(connection.rank).in_team) {
      say(connection, {{"regroup", true}});
    }
  }
}

void Scheduler::expect(Rank rank) {
  // What becomes of the connection of who was there before says nothing of who comes.
  connections_.remove_if([rank](const Connection& one) { return one.rank == rank; });
  Seat& seat = seats_[static_cast<size_t>(rank)];
  seat.waiting.reset();
  seat.doing.clear();
  seat.heard = Clock::now();
  set_state(rank, Seat::State::expected);
}

void Scheduler::stop() { say_to_all({{"stop", true}}); }

void Scheduler::stop(Rank rank) {
  for (Connection& connection : connections_) {
    if (connection.rank == rank) say(connection, {{"stop", true}});
  }
}

void Scheduler::end(const std::string& why) { say_to_all({{"end", why}}); }

void Scheduler::end(Rank rank, const std::string& why) {
  for (Connection& connection : connections_) {
    if (connection.rank == rank) say(connection, {{"end", why}});
  }
}

void Scheduler::set_state(Rank rank, Seat::State state) {
  Seat& seat = seats_[static_cast<size_t>(rank)];
  seat.state = state;
  seat.since = Clock::now();
}

void Scheduler::say(Connection& connection, const json& message) {
  connection.channel.send(message);
  want_write(connection);
}

void Scheduler::say_to_all(const json& message) {
  for (Connection& connection : connections_) {
    if (connection.rank >= 0) say(connection, message);
  }
}

void Scheduler::want_write(Connection& connection) {
  const bool writing = connection.channel.has_unsent();
  if (writing == connection.writing) return;
  connection.writing = writing;
  epoll_event event{.events = writing ? EPOLLIN | EPOLLOUT : EPOLLIN, .data = {.ptr = &connection}};
  epoll_ctl(events_.get(), EPOLL_CTL_MOD, connection.channel.descriptor(), &event);
}

void Scheduler::drop(Connection& connection) {
  if (connection.rank < 0) {
    --strangers_;
    ++strangers_refused_;
  } else if (seat(connection.rank).state == Seat::State::joined) {
    set_state(connection.rank, Seat::State::lost);
    log_info("{} is lost: its connection ended", seat(connection.rank).name());
  }
  connections_.remove_if([&](const Connection& other) { return &other == &connection; });
}

void Scheduler::drop_strangers() {
  for (auto at = connections_.begin(); at != connections_.end() && strangers_ > 0;) {
    Connection& connection = *at++;
    if (connection.rank < 0 &&
        (strangers_ > kMostStrangers || Clock::now() - connection.since > kStrangerTime)) {
      drop(connection);
    }
  }
}

}  // namespace syrtos::launch
