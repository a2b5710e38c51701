#pragma once

#include <poll.h>

#include <array>
#include <cstddef>
#include <string>

#include "syrtos/base/secret.h"
#include "syrtos/world/socket.h"
#include "syrtos/world/tcp/options.h"
#include "syrtos/world/tcp/stream.h"

namespace syrtos::world::tcp {

/// How two ranks recognise each other on a new connection, without blocking:
///
///   connector -> acceptor   hello: rank, index of the connection, sizes, nonce
///   acceptor -> connector   another nonce; proof that it knows the token
///   connector -> acceptor   proof that it knows the token
///   acceptor -> connector   welcome
///   both                    TLS, where the two are on different hosts
///
/// Proofs cover both nonces, both ranks and the sizes, so none can be used a second time or
/// elsewhere; TLS has such a one as its key, so that nobody can join two connections crosswise.
/// Nobody gets more than a hundred bytes in before it has shown its proof.
class Handshake {
 public:
  enum class State { working, done, failed };

  /// For a connection that was begun to `peer`.
  static Handshake connecting(const TcpOptions& options, Rank peer, int index, Descriptor socket,
                              double until);
  /// For one that came from anybody.
  static Handshake accepted(const TcpOptions& options, Descriptor socket, double until);

  /// Does what can be done now.
  State step();
  short events() const { return step_ == Step::connect ? POLLOUT : POLLIN; }
  int descriptor() const { return socket_.get(); }
  double until() const { return until_; }  ///< it must be done
  bool outgoing() const { return outgoing_; }
  Rank peer() const { return peer_; }
  int index() const { return index_; }
  /// Why it failed.
  const std::string& why() const { return why_; }
  /// Once it is done.
  std::unique_ptr<Stream> take();

  /// Whether what crosses this connection leaves the machine: machines may have the same name. Both
  /// ends say the same.
  static bool leaves_the_host(const std::string& one, const std::string& other, int socket);

 private:
  enum class Step { connect, hello, challenge, proof, welcome, secure };
  struct Hello;

  Handshake(const TcpOptions& options, Descriptor socket, double until)
      : options_(&options), socket_(std::move(socket)), until_(until) {}
  State fail(std::string why);
  bool put(const void* data, size_t bytes);
  /// Fills the buffer to `bytes`; working until it is full.
  State get(size_t bytes);
  /// What only who knows the token can make, for this connection alone.
  SecretBytes proof(char role) const;

  State connect();
  State take_hello();
  State take_challenge();
  State take_proof();
  State take_welcome();
  State secure();

  const TcpOptions* options_;
  Descriptor socket_;
  double until_;
  bool outgoing_ = false;
  Rank peer_ = -1;
  int index_ = -1;
  Step step_ = Step::hello;
  std::string why_;
  std::unique_ptr<Tls> tls_;
  std::array<uint8_t, 64> hello_{};
  SecretBytes nonce_{};  // the acceptor's
  std::array<uint8_t, 64> buffer_{};
  size_t filled_ = 0;
};

}  // namespace syrtos::world::tcp
