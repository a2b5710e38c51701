#include "syrtos/launch/channel.h"

#include <array>
#include <cerrno>

#include "syrtos/base/secret.h"

namespace syrtos::launch {

namespace {

// The longest line: the table of a large cluster fits.
constexpr size_t kLongestLine = size_t{4} << 20;
// A launcher has as many of these as there are ranks.
constexpr size_t kBlock = 16 * 1024;

SecretBytes key_of(std::string_view token) {
  constexpr std::string_view kPurpose = "syrtos channel 1";
  return seal(token, {reinterpret_cast<const uint8_t*>(kPurpose.data()), kPurpose.size()});
}

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK; }

}  // namespace

Channel::Channel(Descriptor socket, std::string_view token, Side side)
    : socket_(std::move(socket)),
      tls_(std::make_unique<world::Tls>(
          key_of(token),
          side == Side::member ? world::Tls::Side::connects : world::Tls::Side::accepts, kBlock)) {
  if (side == Side::member) meet();  // the scheduler waits for its first word
}

void Channel::send(const nlohmann::json& message) {
  // What programs and people wrote need not be UTF-8.
  queued_ += message.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  queued_ += '\n';
  flush();
}

bool Channel::meet() {
  if (met_) return true;
  const world::Tls::State state = tls_->meet(socket_.get());
  met_ = state == world::Tls::State::done;
  return state != world::Tls::State::failed;
}

// Does not read: what came together with the end of meeting would not be looked at.
bool Channel::flush() {
  while (met_ && !queued_.empty()) {
    const size_t bytes = std::min(queued_.size(), kBlock);
    if (tls_->write(socket_.get(), queued_.data(), bytes) < 0) return would_block();
    queued_.erase(0, bytes);
  }
  return tls_->flush(socket_.get()) || would_block();
}

bool Channel::receive(std::vector<nlohmann::json>& messages) {
  if (!meet() || !flush()) return false;
  std::array<char, kBlock> block;
  while (met_) {
    const ssize_t count = tls_->read(socket_.get(), block.data(), block.size());
    if (count < 0) return would_block();
    if (count == 0 || !take({block.data(), static_cast<size_t>(count)}, messages)) return false;
  }
  return true;
}

bool Channel::take(std::string_view text, std::vector<nlohmann::json>& messages) {
  for (size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    line_ += text.substr(0, end);
    text.remove_prefix(end + 1);
    messages.push_back(nlohmann::json::parse(line_, nullptr, false));
    line_.clear();
    if (!messages.back().is_object()) return false;
    proven_ = true;
  }
  line_ += text;
  return line_.size() <= kLongestLine;
}

}  // namespace syrtos::launch
