#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/base/log.h"
#include "syrtos/launch/membership.h"
#include "syrtos/launch/wait.h"
#include "syrtos/world/socket.h"

namespace syrtos::launch {

namespace {

using nlohmann::json;

constexpr auto kPause = std::chrono::milliseconds(50);
constexpr auto kLook = std::chrono::milliseconds(200);  // whether to stop

class Joining {
 public:
  explicit Joining(const JoinOptions& options)
      : options_(options), deadline_(Clock::now() + options.timeout) {}

  std::unique_ptr<Membership> run() {
    const Clock::time_point patience = std::min(deadline_, Clock::now() + options_.reach_timeout);
    for (;;) {
      trouble_now_.clear();
      auto membership = attempt(patience);
      if (trouble_now_.empty()) return membership;
      if (Clock::now() >= patience) {
        fail_run("rank {} cannot join: the scheduler at {}:{} {}", invitation().rank,
                 invitation().scheduler_address, invitation().scheduler_port, trouble_);
      }
      pause();
    }
  }

 private:
  const Invitation& invitation() const { return options_.invitation; }

  // With trouble_now_ another attempt may do better.
  std::unique_ptr<Membership> attempt(Clock::time_point patience) {
    Descriptor socket = world::begin_connect(
        world::resolve(invitation().scheduler_address, invitation().scheduler_port));
    if (!socket.valid()) return try_again(std::strerror(errno));
    if (!wait(socket.get(), POLLOUT, patience)) return try_again("does not answer");
    if (const int error = world::connect_error(socket.get()); error != 0) {
      return try_again(std::strerror(error));
    }
    world::watch_closely(socket.get(), invitation().lost_after());
    Channel channel(std::move(socket), options_.token, Channel::Side::member);
    json hello = {{"rank", invitation().rank},
                  {"host", invitation().host},
                  {"address", invitation().address},
                  {"port", options_.port},
                  {"process", getpid()}};
    if (!options_.refuses.empty()) hello["refuses"] = options_.refuses;
    channel.send(hello);
    for (;;) {
      // The scheduler answers at once; then it may be long until the last rank has joined.
      const Clock::time_point until = channel.proven() ? deadline_ : patience;
      if (!wait(channel.descriptor(), channel.has_unsent() ? POLLIN | POLLOUT : POLLIN, until)) {
        if (!channel.proven()) return try_again("does not answer");
        fail_run(
            "{} waited {} for the other ranks to join; the first rank, or the launcher, names them",
            name(), format_duration(std::chrono::duration<double>(options_.timeout).count()));
      }
      std::vector<json> messages;
      const bool open = channel.receive(messages) && channel.flush();
      if (!options_.refuses.empty() && !messages.empty()) return nullptr;  // it has heard why
      for (size_t i = 0; i < messages.size(); ++i) {
        if (messages[i].contains("members")) {
          const json members = messages[i];
          messages.erase(messages.begin(), messages.begin() + static_cast<ptrdiff_t>(i) + 1);
          return member(std::move(channel), members, std::move(messages));
        }
        check(messages[i]);
      }
      if (!open && channel.proven())
        fail_run("{}: the launcher, or the first rank, is gone", name());
      if (!open) return try_again("closed the connection: the token is not this job's");
    }
  }

  std::unique_ptr<Membership> try_again(const char* trouble) {
    log_trace("the scheduler at {}:{} {}: trying again", invitation().scheduler_address,
              invitation().scheduler_port, trouble);
    trouble_now_ = trouble;
    if (trouble_.empty()) trouble_ = trouble;  // the first says most
    return nullptr;
  }

  void check(const json& message) const {
    if (message.contains("refused")) {
      fail_run("{} cannot join: {}", name(), message["refused"].get<std::string>());
    }
    if (message.contains("end")) fail_run("{}: {}", name(), message["end"].get<std::string>());
    if (message.contains("stop")) fail_run("{}: stopped before all ranks had joined", name());
  }

  std::unique_ptr<Membership> member(Channel channel, const json& members,
                                     std::vector<json> further) const {
    Assignment assignment = parse_assignment(members, invitation().rank, options_.token);
    log_info("joined the scheduler at {}:{}: {} ranks", invitation().scheduler_address,
             invitation().scheduler_port, assignment.members.size());
    return std::make_unique<Membership>(options_, std::move(channel), std::move(assignment),
                                        std::move(further));
  }

  // False: the time is up.
  bool wait(int descriptor, short events, Clock::time_point until) const {
    for (;;) {
      std::array<pollfd, 2> both = {{{.fd = descriptor, .events = events, .revents = 0},
                                     {.fd = options_.input, .events = POLLIN, .revents = 0}}};
      if (options_.should_stop && options_.should_stop()) {
        fail_run("{}: stopped before all ranks had joined", name());
      }
      const Clock::time_point look = options_.should_stop ? Clock::now() + kLook : until;
      const int ready = poll(both.data(), both.size(), milliseconds_until(std::min(look, until)));
      if (both[1].revents != 0 && at_end(options_.input))
        fail_run("{}: the launcher is gone", name());
      if (both[0].revents != 0) return true;
      if (ready == 0 && Clock::now() >= until) return false;
    }
  }

  void pause() const { wait(-1, 0, Clock::now() + kPause); }

  std::string name() const {
    return fmt::format("rank {} on {}", invitation().rank, invitation().host);
  }

  const JoinOptions& options_;
  Clock::time_point deadline_;
  std::string trouble_;
  std::string trouble_now_;  // of the latest attempt; empty: it was good
};

}  // namespace

std::unique_ptr<Membership> join(const JoinOptions& options) { return Joining(options).run(); }

}  // namespace syrtos::launch
