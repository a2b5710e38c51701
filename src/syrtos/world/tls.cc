#include "syrtos/world/tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "syrtos/base/error.h"

namespace syrtos::world {

namespace {

constexpr const char* kCipher = "TLS_AES_128_GCM_SHA256";
constexpr unsigned char kCipherNumber[] = {0x13, 0x01};
constexpr std::string_view kIdentity = "syrtos";
// RFC 8446 advises against more than 2^24.5 records with the same keys.
constexpr size_t kMostWithOneKey = size_t{1} << 36;  // bytes

SSL_SESSION* session_of(SSL* ssl, const SecretBytes& key) {
  SSL_SESSION* session = SSL_SESSION_new();
  if (session == nullptr) return nullptr;
  if (SSL_SESSION_set1_master_key(session, key.data(), key.size()) == 1 &&
      SSL_SESSION_set_cipher(session, SSL_CIPHER_find(ssl, kCipherNumber)) == 1 &&
      SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) == 1) {
    return session;
  }
  SSL_SESSION_free(session);
  return nullptr;
}

}  // namespace

/// What OpenSSL asks for: the key that both ends know, and the bytes of the other end.
struct Tls::Callbacks {
  static const Tls& self_of(SSL* ssl) { return *static_cast<const Tls*>(SSL_get_app_data(ssl)); }

  static int use_key(SSL* ssl, const EVP_MD* /*hash*/, const unsigned char** identity,
                     size_t* length, SSL_SESSION** session) {
    *session = session_of(ssl, self_of(ssl).key_);
    *identity = reinterpret_cast<const unsigned char*>(kIdentity.data());
    *length = kIdentity.size();
    return *session != nullptr ? 1 : 0;
  }
  static int find_key(SSL* ssl, const unsigned char* identity, size_t length,
                      SSL_SESSION** session) {
    *session = nullptr;
    if (std::string_view(reinterpret_cast<const char*>(identity), length) != kIdentity) return 1;
    *session = session_of(ssl, self_of(ssl).key_);
    return *session != nullptr ? 1 : 0;
  }

  static int put(BIO* bio, const char* data, size_t bytes, size_t* written) {
    auto& self = *static_cast<Tls*>(BIO_get_data(bio));
    self.out_.insert(self.out_.end(), data, data + bytes);
    *written = bytes;
    return 1;
  }
  static int get(BIO* bio, char* data, size_t bytes, size_t* got) {
    auto& self = *static_cast<Tls*>(BIO_get_data(bio));
    *got = std::min(bytes, self.end_ - self.begin_);
    BIO_clear_retry_flags(bio);
    if (*got == 0) {
      BIO_set_retry_read(bio);
      return 0;
    }
    std::memcpy(data, self.in_.get() + self.begin_, *got);
    self.begin_ += *got;
    return 1;
  }
  static long control(BIO* /*bio*/, int command, long /*number*/, void* /*pointer*/) {
    return command == BIO_CTRL_FLUSH ? 1 : 0;
  }
  static const BIO_METHOD* method() {
    static BIO_METHOD* const method = [] {
      BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "rank");
      SYRTOS_CHECK(made != nullptr);
      BIO_meth_set_write_ex(made, put);
      BIO_meth_set_read_ex(made, get);
      BIO_meth_set_ctrl(made, control);
      return made;
    }();
    return method;
  }

  static SSL_CTX* make_context() {
    SSL_CTX* context = SSL_CTX_new(TLS_method());
    SYRTOS_CHECK(context != nullptr);
    SYRTOS_CHECK(SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1 &&
                 SSL_CTX_set_ciphersuites(context, kCipher) == 1);
    SSL_CTX_set_num_tickets(context, 0);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    // Ranks that have nothing to say need no memory.
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_psk_use_session_callback(context, use_key);
    SSL_CTX_set_psk_find_session_callback(context, find_key);
    return context;
  }
  static SSL_CTX* context() {
    static SSL_CTX* const made = make_context();
    return made;
  }
};

void Tls::Free::operator()(ssl_st* session) const { SSL_free(session); }

Tls::Tls(const SecretBytes& key, Side side, size_t block)
    : block_(block),
      key_(key),
      session_(SSL_new(Callbacks::context())),
      in_(std::make_unique_for_overwrite<unsigned char[]>(block)) {
  SYRTOS_CHECK(session_ != nullptr);
  BIO* bio = BIO_new(Callbacks::method());
  SYRTOS_CHECK(bio != nullptr);
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  SSL_set_bio(session_.get(), bio, bio);
  SSL_set_app_data(session_.get(), this);
  if (side == Side::connects) {
    // What answers may have no key, and come with a certificate instead: nobody's is good.
    SSL_set_verify(session_.get(), SSL_VERIFY_PEER, nullptr);
    SSL_set_connect_state(session_.get());
  } else {
    SSL_set_accept_state(session_.get());
  }
}

Tls::~Tls() = default;

Tls::State Tls::meet(int socket) {
  for (;;) {
    ERR_clear_error();
    const int result = SSL_do_handshake(session_.get());
    const bool more = result != 1 && SSL_get_error(session_.get(), result) == SSL_ERROR_WANT_READ;
    // Also why it failed is told.
    const bool flushed = flush(socket) || errno == EAGAIN || errno == EWOULDBLOCK;
    if (!flushed || (result != 1 && !more)) return State::failed;
    if (result == 1) return SSL_session_reused(session_.get()) == 1 ? State::done : State::failed;
    if (receive(socket)) continue;
    return errno == EAGAIN || errno == EWOULDBLOCK ? State::working : State::failed;
  }
}

bool Tls::receive(int socket) {
  if (begin_ > 0) std::memmove(in_.get(), in_.get() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  ssize_t got = -1;
  do {
    got = recv(socket, in_.get() + end_, block_ - end_, MSG_DONTWAIT);
  } while (got < 0 && errno == EINTR);
  if (got > 0) end_ += static_cast<size_t>(got);
  closed_ = got == 0;
  if (closed_) errno = ECONNRESET;
  return got > 0;
}

bool Tls::flush(int socket) {
  while (sent_ < out_.size()) {
    const ssize_t count =
        send(socket, out_.data() + sent_, out_.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    sent_ += static_cast<size_t>(count);
  }
  out_.clear();
  sent_ = 0;
  return true;
}

ssize_t Tls::write(int socket, const void* data, size_t bytes) {
  // Nothing more is taken before what was taken is gone, so that little is held here.
  if (!flush(socket)) return -1;
  const auto* next = static_cast<const unsigned char*>(data);
  size_t taken = 0;
  while (taken < bytes) {
    size_t count = 0;
    ERR_clear_error();
    if (SSL_write_ex(session_.get(), next + taken, bytes - taken, &count) != 1) {
      errno = EBADMSG;
      return -1;
    }
    taken += count;
  }
  renew_keys(bytes);
  const bool whole = flush(socket);
  if (!whole && errno != EAGAIN && errno != EWOULDBLOCK) return -1;
  return static_cast<ssize_t>(bytes);
}

void Tls::renew_keys(size_t bytes) {
  written_ += bytes;
  if (written_ < kMostWithOneKey) return;
  written_ = 0;
  SSL_key_update(session_.get(), SSL_KEY_UPDATE_NOT_REQUESTED);
}

ssize_t Tls::read(int socket, void* data, size_t bytes) {
  for (;;) {
    size_t count = 0;
    ERR_clear_error();
    if (SSL_read_ex(session_.get(), data, bytes, &count) == 1) return static_cast<ssize_t>(count);
    const int error = SSL_get_error(session_.get(), 0);
    if (error == SSL_ERROR_ZERO_RETURN) return 0;
    if (error != SSL_ERROR_WANT_READ) {
      errno = EBADMSG;
      return -1;
    }
    if (receive(socket)) continue;
    return closed_ ? 0 : -1;
  }
}

size_t Tls::unread() const {
  return end_ - begin_ + static_cast<size_t>(SSL_pending(session_.get()));
}

}  // namespace syrtos::world
