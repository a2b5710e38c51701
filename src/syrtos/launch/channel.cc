#include "syrtos/launch/channel.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "syrtos/base/secret.h"

namespace syrtos::launch {

namespace {

constexpr std::string_view kGreeting = "syrtos 1 ";
constexpr size_t kSealLength = kTokenLength;
// The longest line: a stranger gets no memory from us, the table of a large cluster fits.
constexpr size_t kStrangerLimit = 4096;
constexpr size_t kMemberLimit = size_t{4} << 20;

Channel::Side other(Channel::Side side) {
  return side == Channel::Side::member ? Channel::Side::scheduler : Channel::Side::member;
}

}  // namespace

Channel::Channel(Descriptor socket, std::string token, Side side)
    : socket_(std::move(socket)),
      token_(std::move(token)),
      side_(side),
      own_challenge_(random_token()),
      unsent_(fmt::format("{}{}\n", kGreeting, own_challenge_)) {}

std::string Channel::seal_of(Side side, uint64_t number, std::string_view text) const {
  const bool from_scheduler = side_ == Side::scheduler;
  return seal_text(
      token_, fmt::format("{} {} {} {} {}", from_scheduler ? own_challenge_ : challenge_,
                          from_scheduler ? challenge_ : own_challenge_, static_cast<char>(side),
                          number, text));
}

void Channel::queue(const std::string& text) {
  unsent_ += fmt::format("{} {}\n", seal_of(side_, sent_++, text), text);
}

void Channel::send(const nlohmann::json& message) {
  // What programs and people wrote need not be UTF-8.
  std::string text = message.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (challenge_.empty()) {
    waiting_.push_back(std::move(text));
  } else {
    queue(text);
  }
  flush();
}

bool Channel::flush() {
  while (!unsent_.empty()) {
    const ssize_t count = ::send(socket_.get(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
    unsent_.erase(0, static_cast<size_t>(count));
  }
  return true;
}

bool Channel::receive(std::vector<nlohmann::json>& messages) {
  std::array<char, 16384> block;
  for (;;) {
    const ssize_t count = recv(socket_.get(), block.data(), block.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
    if (count == 0) return false;
    std::string_view rest(block.data(), static_cast<size_t>(count));
    for (size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
      line_ += rest.substr(0, end);
      rest.remove_prefix(end + 1);
      if (line_.size() > (proven() ? kMemberLimit : kStrangerLimit) ||
          !take_line(line_, messages)) {
        return false;
      }
      line_.clear();
    }
    line_ += rest;
    if (line_.size() > (proven() ? kMemberLimit : kStrangerLimit)) return false;
  }
}

bool Channel::take_line(std::string_view line, std::vector<nlohmann::json>& messages) {
  if (challenge_.empty()) {
    if (!line.starts_with(kGreeting) || line.size() != kGreeting.size() + kSealLength) return false;
    challenge_ = line.substr(kGreeting.size());
    for (const std::string& text : std::exchange(waiting_, {})) queue(text);
    return flush();
  }
  if (line.size() <= kSealLength) return false;
  const std::string_view text = line.substr(kSealLength + 1);
  if (!same_secret(line.substr(0, kSealLength), seal_of(other(side_), received_, text))) {
    return false;
  }
  ++received_;
  messages.push_back(nlohmann::json::parse(text, nullptr, false));
  return messages.back().is_object();
}

}  // namespace syrtos::launch
