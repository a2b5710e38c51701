#include "syrtos/report/http_server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "syrtos/base/clock.h"
#include "syrtos/base/descriptor.h"
#include "syrtos/base/error.h"
#include "syrtos/base/secret.h"
#include "syrtos/report/http_request.h"

namespace syrtos::report {

namespace {

constexpr size_t kMostConnections = 32;
constexpr size_t kMostHead = 16 * 1024;     // bytes of a request
constexpr size_t kMostIgnored = 64 * 1024;  // bytes that follow it and are not read by anybody
constexpr auto kToAsk = std::chrono::seconds(5);    // from the connection to the whole request
constexpr auto kToTake = std::chrono::seconds(10);  // any part of the answer
constexpr auto kToLeave = std::chrono::seconds(1);
constexpr auto kPause = std::chrono::milliseconds(100);  // without descriptors

bool names_loopback(std::string host) {
  const size_t colon = host.rfind(':');
  if (colon != host.npos && host.find(']', colon) == host.npos) host.resize(colon);
  return host == "localhost" || host == "127.0.0.1" || host == "[::1]";
}

/// 0, or the status of a refusal.
int refusal(const HttpRequest& request, const std::string& token) {
  if (token.empty()) return names_loopback(request.host) ? 0 : 403;
  if (same_secret(request.authorization, "Bearer " + token)) return 0;
  return same_secret(request.token, token) ? 0 : 401;
}

const char* words_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 431:
      return "Request Header Fields Too Large";
    default:
      return "Internal Server Error";
  }
}

std::string to_text(const HttpAnswer& answer) {
  return fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n"
      "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
      "Referrer-Policy: no-referrer\r\nContent-Security-Policy: default-src 'none'; style-src "
      "'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; img-src data:\r\n{}\r\n{}",
      answer.status, words_of(answer.status), answer.type, answer.body.size(),
      answer.status == 405 ? "Allow: GET\r\n" : "", answer.body);
}

/// Not valid: the address cannot be listened at.
Descriptor listen_at(const std::string& address, int port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) {
    return Descriptor();
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(found, freeaddrinfo);
  Descriptor listener(
      socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, found->ai_protocol));
  const int yes = 1;
  if (!listener.valid()) return listener;
  setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  const bool ours = bind(listener.get(), found->ai_addr, found->ai_addrlen) == 0 &&
                    listen(listener.get(), kMostConnections) == 0;
  return ours ? std::move(listener) : Descriptor();
}

int port_of(int listener) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  std::array<char, NI_MAXSERV> service{};
  getnameinfo(reinterpret_cast<sockaddr*>(&address), size, nullptr, 0, service.data(),
              service.size(), NI_NUMERICSERV);
  return std::atoi(service.data());
}

/// One client: it asks, takes the answer, and leaves.
struct Connection {
  enum class Phase { asks, takes, leaves };
  Descriptor socket;
  Clock::time_point until;
  Phase phase = Phase::asks;
  std::string head = {};
  std::string answer = {};
  size_t sent = 0;
  size_t ignored = 0;
};

}  // namespace

class HttpServer::Loop {
 public:
  explicit Loop(HttpOptions options)
      : options_(std::move(options)),
        listener_(listen_at(options_.address, options_.port)),
        wake_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    if (!listener_.valid() || !wake_.valid()) {
      fail_request(
          "cannot listen at {}:{}: the port is taken, not allowed, or {} is no address of "
          "this machine; choose another --port (0: any that is free)",
          options_.address, options_.port, options_.address);
    }
    port_ = port_of(listener_.get());
    thread_ = std::thread([this] { run(); });
  }
  ~Loop() {
    stop_ = true;
    eventfd_write(wake_.get(), 1);
    thread_.join();
  }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  int port() const { return port_; }

 private:
  void run() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);  // signals are for the program's other threads
    while (!stop_) {
      wait();
      for (auto at = connections_.begin(); at != connections_.end();) {
        Connection& connection = *at;
        const bool stays = serve(connection) && Clock::now() < connection.until;
        at = stays ? std::next(at) : connections_.erase(at);
      }
      accept_all();
    }
  }

  void wait() {
    std::vector<pollfd> watched = {{.fd = wake_.get(), .events = POLLIN, .revents = 0}};
    const bool listens = Clock::now() >= listen_again_;
    watched.push_back({.fd = listens ? listener_.get() : -1, .events = POLLIN, .revents = 0});
    Clock::time_point until = Clock::now() + std::chrono::seconds(1);
    if (!listens) until = std::min(until, listen_again_);
    for (const Connection& connection : connections_) {
      const short events = connection.phase == Connection::Phase::takes ? POLLOUT : POLLIN;
      watched.push_back({.fd = connection.socket.get(), .events = events, .revents = 0});
      until = std::min(until, connection.until);
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    poll(watched.data(), watched.size(), static_cast<int>(std::max<int64_t>(0, left)));
  }

  void accept_all() {
    for (size_t i = 0; i < kMostConnections; ++i) {
      Descriptor socket(accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (!socket.valid()) {
        const bool exhausted = errno == EMFILE || errno == ENFILE || errno == ENOMEM;
        if (exhausted && !make_room()) listen_again_ = Clock::now() + kPause;
        return;
      }
      if (connections_.size() >= kMostConnections && !make_room()) return;
      connections_.push_back({.socket = std::move(socket), .until = Clock::now() + kToAsk});
    }
  }

  /// Who has not asked for anything yet goes first, the longest of all; then who does not take what
  /// it asked for.
  bool make_room() {
    for (const auto phase :
         {Connection::Phase::leaves, Connection::Phase::asks, Connection::Phase::takes}) {
      const auto found = std::find_if(connections_.begin(), connections_.end(),
                                      [&](const Connection& one) { return one.phase == phase; });
      if (found == connections_.end()) continue;
      connections_.erase(found);
      return true;
    }
    return false;
  }

  /// False: it is over with this one.
  bool serve(Connection& connection) {
    switch (connection.phase) {
      case Connection::Phase::asks:
        return hear(connection);
      case Connection::Phase::takes:
        return send(connection);
      case Connection::Phase::leaves:
        return ignore(connection);
    }
    return false;
  }

  bool hear(Connection& connection) {
    std::array<char, 4096> block;
    const ssize_t count = recv(connection.socket.get(), block.data(), block.size(), 0);
    if (count == 0) return false;
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    connection.head.append(block.data(), static_cast<size_t>(count));
    const size_t end = connection.head.find("\r\n\r\n");
    if (end == std::string::npos && connection.head.size() < kMostHead) return true;
    const auto begun = Clock::now();
    const HttpAnswer answer =
        end == std::string::npos || end > kMostHead
            ? HttpAnswer{.status = 431, .body = "this is too long for a request\n"}
            : answer_to(std::string_view(connection.head).substr(0, end));
    connection.answer = to_text(answer);
    connection.phase = Connection::Phase::takes;
    connection.until = Clock::now() + kToTake;
    // The others are not to blame for the time that it took.
    for (Connection& other : connections_) {
      if (&other != &connection) other.until += Clock::now() - begun;
    }
    return send(connection);
  }

  HttpAnswer answer_to(std::string_view head) const {
    const std::optional<HttpRequest> request = parse_request(head);
    if (!request) return {.status = 400, .body = "this is no request\n"};
    if (const int refused = refusal(*request, options_.token)) {
      return {.status = refused,
              .body = refused == 401
                          ? "this page needs its token: open the address that was printed\n"
                          : "without a token this page is for http://localhost alone\n"};
    }
    if (request->method != "GET") return {.status = 405, .body = "here is only something to GET\n"};
    try {
      return options_.answer(request->path);
    } catch (const std::exception& error) {
      return {.status = 500, .body = fmt::format("{}\n", error.what())};
    }
  }

  static bool send(Connection& connection) {
    while (connection.sent < connection.answer.size()) {
      const std::string_view rest = std::string_view(connection.answer).substr(connection.sent);
      const ssize_t count = ::send(connection.socket.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return errno == EAGAIN;
      connection.sent += static_cast<size_t>(count);
      connection.until = Clock::now() + kToTake;
    }
    // Closing at once would take back what is still on its way, if it has sent more than we read.
    shutdown(connection.socket.get(), SHUT_WR);
    connection.phase = Connection::Phase::leaves;
    connection.until = Clock::now() + kToLeave;
    return true;
  }

  static bool ignore(Connection& connection) {
    std::array<char, 4096> block;
    const ssize_t count = recv(connection.socket.get(), block.data(), block.size(), 0);
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    connection.ignored += static_cast<size_t>(count);
    return count > 0 && connection.ignored < kMostIgnored;
  }

  const HttpOptions options_;
  Descriptor listener_;
  Descriptor wake_;
  int port_ = 0;
  std::list<Connection> connections_;  // the oldest first
  Clock::time_point listen_again_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

HttpServer::HttpServer(HttpOptions options)
    : loop_(std::make_unique<Loop>(std::move(options))), port_(loop_->port()) {}

HttpServer::~HttpServer() = default;

void HttpServer::stop() { loop_.reset(); }

}  // namespace syrtos::report
