#include "syrtos/world/mpi/mpi_world.h"

#include <sys/prctl.h>

#include <algorithm>
#include <thread>

#include "syrtos/world/mpi/transport.h"
#include "syrtos/world/started.h"

namespace syrtos::world {

namespace {

using std::chrono::duration_cast;
using std::chrono::microseconds;

constexpr auto kSpin = microseconds(20);
constexpr auto kLongestRest = microseconds(1000);
constexpr auto kToLeave = std::chrono::seconds(30);

}  // namespace

MpiWorld::MpiWorld(Rank rank, std::vector<std::string> hosts, std::unique_ptr<Communicator> ranks)
    : World(rank, std::move(hosts), agenda_),
      ranks_(std::move(ranks)),
      transport_(std::make_unique<Transport>(*this, *ranks_)) {}

MpiWorld::~MpiWorld() {
  if (transport_->broken()) abort();
  if (!ran_) transport_->farewell(nullptr);
  // After a failure the others leave as soon as they hear of it; who does not is stuck. Where all
  // is well, some may have much to do yet.
  const Clock::time_point until = Clock::now() + kToLeave;
  while (!transport_->everybody_left()) {
    if (!step()) rest();
    if (failed_ && Clock::now() >= until) abort();
  }
}

void MpiWorld::abort() {
  if (before_abort_) before_abort_();
  ranks_->mpi()->abort_job(1);
}

bool MpiWorld::is_lost(Rank rank) const { return transport_->has_left(rank); }

void MpiWorld::start_send(Message& message) { transport_->send(message); }
void MpiWorld::start_recv(Message& message) { transport_->recv(message); }
void MpiWorld::abandon(Message& message) { transport_->abandon(message); }
void MpiWorld::start_all_reduce(AllReduce& all_reduce) { transport_->all_reduce(all_reduce); }
void MpiWorld::abandon_all_reduce(AllReduce& all_reduce) { transport_->abandon(all_reduce); }

void MpiWorld::start_compute(Compute& compute) {
  if (compute.where == Where::pool) return work_.put(compute);
  try {
    compute.work();
    compute.finish();
  } catch (...) {
    compute.fail(std::current_exception());
  }
}

void MpiWorld::run(Task<> program) {
  SYRTOS_CHECK(!ran_, "a world runs one program");
  ran_ = true;
  std::exception_ptr error;
  std::thread thread([&] {
    prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0);  // ns: short rests are meant
    try {
      loop(std::move(program), error);
    } catch (...) {
      error = std::current_exception();
    }
    work_.close();
  });
  work_.serve();
  thread.join();
  if (error) std::rethrow_exception(error);
}

void MpiWorld::loop(Task<> program, std::exception_ptr& error) {
  Started task(*this, std::move(program));
  last_event_ = Clock::now();
  while (true) {
    agenda_.run_ready();
    if (task.done()) break;
    if (!step() && agenda_.ready.empty()) rest();
  }
  error = task.error();
  task.cancel();
  failed_ = error != nullptr;
  transport_->farewell(error);
}

/// Whatever can be done without waiting; false when that was nothing.
bool MpiWorld::step() {
  const bool worked = work_.collect();
  bool any = transport_->progress() || worked;
  while (!agenda_.timers.empty() && agenda_.timers.first().at() <= now()) {
    auto& next = static_cast<Operation&>(agenda_.timers.first());
    next.stop();
    next.expire();
    any = true;
  }
  if (any) last_event_ = Clock::now();
  return any;
}

void MpiWorld::rest() {
  const auto moment = Clock::now();
  const auto quiet = duration_cast<microseconds>(moment - last_event_);
  if (quiet < kSpin) return;
  auto until = moment + std::min(quiet / 8, kLongestRest);
  if (!agenda_.timers.empty()) {
    const std::chrono::duration<double> next(agenda_.timers.first().at());
    until = std::min(until, start_ + duration_cast<Clock::duration>(next));
  }
  work_.wait_until(until);
}

}  // namespace syrtos::world
