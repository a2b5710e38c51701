#pragma once

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "syrtos/base/secret.h"

struct ssl_st;

namespace syrtos::world {

/// One end of a connection that nobody else can read, change or take part in: TLS 1.3, for which
/// both ends must know a key that is made of the job's token and of what the connection is for, so
/// that nobody can join one end to the other end of another connection. What crosses has keys of
/// its own: who learns the token afterwards learns nothing of it. There are no certificates that
/// somebody would have to make, hand out and renew.
///
/// The socket stays with its owner and does not block.
class Tls {
 public:
  enum class Side { connects, accepts };
  enum class State { working, done, failed };

  /// Asks the kernel for so many bytes at once.
  Tls(const SecretBytes& key, Side side, size_t block = 64 * 1024);
  ~Tls();
  Tls(const Tls&) = delete;
  Tls& operator=(const Tls&) = delete;

  /// Does what can be done now until both ends have shown that they know the token.
  State meet(int socket);

  /// Takes some bytes, of which unsent() may keep the last ones back; -1 with errno as for send().
  ssize_t write(int socket, const void* data, size_t bytes);
  /// Hands what was taken on to the socket; false with errno: some is left.
  bool flush(int socket);
  size_t unsent() const { return out_.size() - sent_; }

  /// As recv(); EBADMSG: what came was made, or changed, by somebody else.
  ssize_t read(int socket, void* data, size_t bytes);
  /// Bytes that have come, and were not read.
  size_t unread() const;

 private:
  struct Callbacks;
  struct Free {
    void operator()(ssl_st* session) const;
  };

  /// False with errno when nothing is there now, or ever.
  bool receive(int socket);
  void renew_keys(size_t bytes);

  const size_t block_;
  const SecretBytes key_;
  std::unique_ptr<ssl_st, Free> session_;
  std::unique_ptr<unsigned char[]> in_;  // as it came
  size_t begin_ = 0;                     // of what was not taken from it
  size_t end_ = 0;
  std::vector<unsigned char> out_;
  size_t sent_ = 0;     // of it
  size_t written_ = 0;  // with these keys
  bool closed_ = false;
};

}  // namespace syrtos::world
