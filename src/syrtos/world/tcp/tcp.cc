#include "syrtos/world/tcp/tcp.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "syrtos/base/log.h"
#include "syrtos/world/tcp/handshake.h"
#include "syrtos/world/tcp/peer.h"
#include "syrtos/world/tcp/rendezvous.h"

namespace syrtos::world {

namespace {

std::vector<std::string> hosts_of(const TcpOptions& options) {
  std::vector<std::string> hosts;
  for (const TcpMember& member : options.members) hosts.push_back(member.host);
  return hosts;
}

std::vector<Rank> numbers_of(const TcpOptions& options) {
  std::vector<Rank> numbers;
  for (const TcpMember& member : options.members) {
    const auto rank = static_cast<Rank>(numbers.size());
    numbers.push_back(member.number < 0 ? rank : member.number);
  }
  return numbers;
}

void watch(int epoll, int descriptor, uint32_t events, void* whom) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = whom;
  SYRTOS_CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) == 0, "errno {}", errno);
}

}  // namespace

TcpWorld::TcpWorld(TcpOptions options, Listener listener)
    : World(options.rank, hosts_of(options), agenda_, numbers_of(options)),
      options_(std::move(options)),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      wake_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      work_([this] { wake(); }) {
  SYRTOS_CHECK(rank() >= 0 && rank() < size() && options_.connections > 0, "{} of {}", rank(),
               size());
  SYRTOS_CHECK(epoll_.valid() && wake_.valid(), "errno {}", errno);
  // Nobody else is expected afterwards: the listener ends here.
  Listener ours = std::move(listener);
  auto streams = tcp::Rendezvous(options_, ours).meet();
  watch(epoll_.get(), wake_.get(), EPOLLIN, nullptr);
  for (Rank rank = 0; rank < size(); ++rank) {
    peers_.push_back(nullptr);
    if (rank == this->rank()) continue;
    auto& of_peer = streams[static_cast<size_t>(rank)];
    for (const auto& stream : of_peer) {
      prepare_for_messages(stream->descriptor(), options_.lost_after);
    }
    // Every rank goes in the order of ranks, so that no two wait for each other.
    std::unique_ptr<tcp::SharedMemory> shared;
    const bool near = !tcp::Handshake::leaves_the_host(host(rank), host(this->rank()),
                                                       of_peer.front()->descriptor());
    if (options_.shared_memory && near) shared = agree_with(rank, of_peer.front()->descriptor());
    const TcpMember& member = options_.members[static_cast<size_t>(rank)];
    log_info("connected to rank {} on {} ({} port {}), {}", rank, member.host, member.address,
             member.port,
             shared                        ? "through shared memory"
             : options_.encrypted && !near ? "by TCP, encrypted"
                                           : "by TCP");
    if (shared) ++sharing_;
    peers_.back() = std::make_unique<tcp::Peer>(*this, rank, std::move(of_peer), std::move(shared));
    for (tcp::Connection& connection : peers_.back()->connections()) {
      if (connection.descriptor() < 0) continue;
      watch(epoll_.get(), connection.descriptor(), EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
            &connection);
    }
  }
  last_beat_ = now();
  next_beat_ = last_beat_ + beat_interval();
  // Looking instead of sleeping must not take a core from another rank.
  spins_ = sharing_ > 0 && sharing_ < static_cast<int>(std::thread::hardware_concurrency());
  thread_ = std::thread([this] { work(); });
}

std::unique_ptr<tcp::SharedMemory> TcpWorld::agree_with(Rank rank, int socket) const {
  try {
    return tcp::SharedMemory::agree(socket, rank < this->rank(), options_.connect_timeout);
  } catch (const RunError& error) {
    // It came, and then it did not stay until all had met.
    throw NotMet(rank, fmt::format("{}: {}", name(rank), error.what()));
  }
}

bool TcpWorld::shares_memory_with(Rank rank) const { return peer(rank).shares_memory(); }

TcpWorld::~TcpWorld() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake();
  thread_.join();
}

void TcpWorld::wake() const {
  const uint64_t one = 1;
  (void)!write(wake_.get(), &one, sizeof(one));
}

void TcpWorld::run(Task<> main) {
  // A program is called once.
  run([&](World&) { return std::move(main); });
}

void TcpWorld::run(const RankProgram& program) {
  {
    const std::lock_guard lock(mutex_);
    SYRTOS_CHECK(!used_, "a world runs once");
    used_ = true;
    program_ = &program;
  }
  wake();
  work_.serve();
  const std::lock_guard lock(mutex_);
  if (error_) std::rethrow_exception(error_);
}

bool TcpWorld::is_lost(Rank rank) const { return rank != this->rank() && peer(rank).lost(); }

std::vector<LinkUse> TcpWorld::links() const {
  std::vector<LinkUse> all;
  for (Rank rank = 0; rank < size(); ++rank) {
    if (rank == this->rank() || host(rank) == host(this->rank()) || peer(rank).lost()) continue;
    LinkUse link{.peer = rank};
    // Several connections are busy at the same time.
    for (const tcp::Connection& connection : peer(rank).connections()) {
      const tcp::StreamUse use = connection.use();
      link.bytes += use.bytes;
      link.busy_s = std::max(link.busy_s, use.busy_s);
      link.retransmitted += use.retransmitted;
    }
    if (link.bytes > 0) all.push_back(link);
  }
  return all;
}

void TcpWorld::start_send(Message& message) {
  SYRTOS_CHECK(message.source.data != nullptr || message.source.bytes == 0);
  if (message.peer == rank()) return meet_self(message);
  peer(message.peer).send(message);
}

void TcpWorld::start_recv(Message& message) {
  if (message.peer == rank()) return meet_self(message);
  peer(message.peer).recv(message);
}

/// A message to ourselves crosses when both of its ends are there.
void TcpWorld::meet_self(Message& message) {
  Lane& lane = to_self_[message.tag.lane()];
  const bool sending = message.direction == Message::Direction::send;
  (sending ? lane.sends : lane.recvs).push(message);
  if (lane.sends.empty() || lane.recvs.empty()) return;
  auto& send = static_cast<Message&>(lane.sends.pop());
  auto& recv = static_cast<Message&>(lane.recvs.pop());
  send.finish();
  if (send.tag.round != recv.tag.round || send.bytes() != recv.bytes()) {
    return recv.fail(mismatch(recv, send.tag, send.bytes()));
  }
  land(recv.target, 0, send.source.data, send.bytes());
  send.moved = recv.moved = send.bytes();
  recv.finish();
}

void TcpWorld::abandon(Message& message) {
  if (message.peer == rank()) return message.unlink();
  peer(message.peer).abandon(message);
}

void TcpWorld::start_compute(Compute& compute) {
  if (compute.where == Where::pool) return work_.put(compute);
  try {
    compute.work();
    compute.finish();
  } catch (...) {
    compute.fail(std::current_exception());
  }
}

void TcpWorld::abandon(Compute& compute) { work_.drop(compute); }

void TcpWorld::give_up(Rank rank, const std::string& why) {
  if (rank != this->rank()) peer(rank).lose(why);
}

}  // namespace syrtos::world
