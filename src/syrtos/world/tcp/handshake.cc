#include "syrtos/world/tcp/handshake.h"

#include <cerrno>
#include <cstring>
#include <vector>

#include "syrtos/base/error.h"

namespace syrtos::world::tcp {

struct Handshake::Hello {
  char magic[8] = {'s', 'y', 'r', 't', 'o', 's', ' ', '1'};  // and the protocol's version
  uint32_t rank = 0;
  uint32_t index = 0;
  uint32_t size = 0;
  uint32_t connections = 0;
  uint32_t to = 0;
  uint32_t ways = 0;  // see below
  SecretBytes nonce{};
};

namespace {

/// What both must want alike.
uint32_t ways_of(const TcpOptions& options) {
  return (options.shared_memory ? 1U : 0U) | (options.encrypted ? 2U : 0U);
}

constexpr char kWelcome[8] = {'w', 'e', 'l', 'c', 'o', 'm', 'e', '\n'};

}  // namespace

Handshake Handshake::connecting(const TcpOptions& options, Rank peer, int index, Descriptor socket,
                                double until) {
  static_assert(sizeof(Hello) == sizeof(hello_));
  Handshake handshake(options, std::move(socket), until);
  handshake.outgoing_ = true;
  handshake.step_ = Step::connect;
  handshake.peer_ = peer;
  handshake.index_ = index;
  Hello hello;
  hello.rank = static_cast<uint32_t>(options.rank);
  hello.index = static_cast<uint32_t>(index);
  hello.size = static_cast<uint32_t>(options.members.size());
  hello.connections = static_cast<uint32_t>(options.connections);
  hello.to = static_cast<uint32_t>(peer);
  hello.ways = ways_of(options);
  hello.nonce = random_secret();
  std::memcpy(handshake.hello_.data(), &hello, sizeof(hello));
  return handshake;
}

Handshake Handshake::accepted(const TcpOptions& options, Descriptor socket, double until) {
  return {options, std::move(socket), until};
}

Handshake::State Handshake::fail(std::string why) {
  why_ = std::move(why);
  return State::failed;
}

Handshake::State Handshake::step() {
  // Each step falls through to the next as soon as its bytes are there.
  switch (step_) {
    case Step::connect:
      return connect();
    case Step::hello:
      return take_hello();
    case Step::challenge:
      return take_challenge();
    case Step::proof:
      return take_proof();
    case Step::welcome:
      return take_welcome();
    case Step::secure:
      return secure();
  }
  return State::failed;
}

bool Handshake::put(const void* data, size_t bytes) {
  // So little always fits into the buffer of a new connection.
  return send(socket_.get(), data, bytes, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes);
}

Handshake::State Handshake::get(size_t bytes) {
  while (filled_ < bytes) {
    const ssize_t got = recv(socket_.get(), buffer_.data() + filled_, bytes - filled_, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return State::working;
    if (got < 0) return fail(error_text(errno));
    if (got == 0) return fail("it closed the connection: is it a rank of the same run?");
    filled_ += static_cast<size_t>(got);
  }
  filled_ = 0;
  return State::done;
}

SecretBytes Handshake::proof(char role) const {
  std::vector<uint8_t> text(hello_.begin(), hello_.end());
  text.insert(text.end(), nonce_.begin(), nonce_.end());
  text.push_back(static_cast<uint8_t>(role));
  return seal(options_->token, text);
}

Handshake::State Handshake::connect() {
  if (const int error = connect_error(socket_.get()); error != 0) return fail(error_text(error));
  if (!put(hello_.data(), hello_.size())) {
    return errno == EAGAIN || errno == ENOTCONN ? State::working : fail(error_text(errno));
  }
  step_ = Step::challenge;
  return take_challenge();
}

Handshake::State Handshake::take_hello() {
  if (const State state = get(hello_.size()); state != State::done) return state;
  hello_ = buffer_;
  Hello hello;
  std::memcpy(&hello, hello_.data(), sizeof(hello));
  const auto size = static_cast<uint32_t>(options_->members.size());
  const auto mine = static_cast<uint32_t>(options_->rank);
  if (std::memcmp(hello.magic, Hello().magic, sizeof(hello.magic)) != 0) return fail("a stranger");
  if (hello.to != mine || hello.size != size || hello.rank <= mine || hello.rank >= size ||
      hello.connections != static_cast<uint32_t>(options_->connections) ||
      hello.index >= hello.connections || hello.ways != ways_of(*options_)) {
    return fail("a rank of another run");
  }
  peer_ = static_cast<Rank>(hello.rank);
  index_ = static_cast<int>(hello.index);
  nonce_ = random_secret();
  const SecretBytes mine_too = proof('a');
  std::array<uint8_t, sizeof(SecretBytes) + sizeof(SecretBytes)> challenge;
  std::memcpy(challenge.data(), nonce_.data(), sizeof(SecretBytes));
  std::memcpy(challenge.data() + sizeof(SecretBytes), mine_too.data(), sizeof(SecretBytes));
  if (!put(challenge.data(), challenge.size())) return fail(error_text(errno));
  step_ = Step::proof;
  return take_proof();
}

Handshake::State Handshake::take_challenge() {
  if (const State state = get(sizeof(SecretBytes) + sizeof(SecretBytes)); state != State::done)
    return state;
  SecretBytes theirs;
  std::memcpy(nonce_.data(), buffer_.data(), sizeof(SecretBytes));
  std::memcpy(theirs.data(), buffer_.data() + sizeof(SecretBytes), sizeof(SecretBytes));
  if (!same_secret(theirs, proof('a'))) return fail("what answers there has another token");
  const SecretBytes mine = proof('c');
  if (!put(mine.data(), mine.size())) return fail(error_text(errno));
  step_ = Step::welcome;
  return take_welcome();
}

Handshake::State Handshake::take_proof() {
  if (const State state = get(sizeof(SecretBytes)); state != State::done) return state;
  SecretBytes theirs;
  std::memcpy(theirs.data(), buffer_.data(), sizeof(SecretBytes));
  if (!same_secret(theirs, proof('c'))) return fail("a rank with another token");
  if (!put(kWelcome, sizeof(kWelcome))) return fail(error_text(errno));
  step_ = Step::secure;
  return secure();
}

Handshake::State Handshake::take_welcome() {
  if (const State state = get(sizeof(kWelcome)); state != State::done) return state;
  if (std::memcmp(buffer_.data(), kWelcome, sizeof(kWelcome)) != 0) return fail("sent garbage");
  step_ = Step::secure;
  return secure();
}

// Both ends see the same two addresses.
bool Handshake::leaves_the_host(const std::string& one, const std::string& other, int socket) {
  return one != other || !is_to_itself(socket);
}

Handshake::State Handshake::secure() {
  const auto host = [this](Rank rank) { return options_->members[static_cast<size_t>(rank)].host; };
  if (!options_->encrypted || !leaves_the_host(host(peer_), host(options_->rank), socket_.get())) {
    return State::done;
  }
  if (!tls_) {
    tls_ = std::make_unique<Tls>(proof('t'), outgoing_ ? Tls::Side::connects : Tls::Side::accepts);
  }
  switch (tls_->meet(socket_.get())) {
    case Tls::State::working:
      return State::working;
    case Tls::State::done:
      return State::done;
    case Tls::State::failed:
      break;
  }
  return fail("the connection cannot be encrypted: does somebody change what crosses it?");
}

std::unique_ptr<Stream> Handshake::take() {
  if (tls_) return std::make_unique<TlsStream>(std::move(socket_), std::move(tls_));
  return std::make_unique<SocketStream>(std::move(socket_));
}

}  // namespace syrtos::world::tcp
