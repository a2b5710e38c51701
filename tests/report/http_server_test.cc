#include "syrtos/report/http_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <vector>

#include "syrtos/base/descriptor.h"
#include "syrtos/report/http_request.h"

namespace syrtos::report {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

const std::string kHead = "GET /x HTTP/1.1\r\nHost: localhost\r\n";
constexpr auto kHangs = std::chrono::seconds(60);

/// Some browser, or whoever else comes along.
class Client {
 public:
  explicit Client(int port) : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  bool connected() const { return connected_; }
  /// False: nobody takes it any more.
  bool say(const std::string& text) const {
    return send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(text.size());
  }
  /// Everything to the end.
  std::string hear() const {
    std::string all;
    char block[4096];
    for (;;) {
      pollfd watched{.fd = socket_.get(), .events = POLLIN, .revents = 0};
      if (poll(&watched, 1, 60'000) <= 0) return all + " (and then nothing)";
      const ssize_t count = recv(socket_.get(), block, sizeof block, 0);
      if (count <= 0) return all;
      all.append(block, static_cast<size_t>(count));
    }
  }

 private:
  Descriptor socket_;
  bool connected_ = false;
};

HttpOptions options_of(const std::string& body = "here it is") {
  return {
      .answer = [body](const std::string& path) { return HttpAnswer{.body = path + ": " + body}; }};
}

std::string ask(const HttpServer& server, const std::string& text) {
  const Client client(server.port());
  client.say(text);
  return client.hear();
}

size_t resident_bytes() {
  std::ifstream in("/proc/self/statm");
  size_t all = 0, resident = 0;
  in >> all >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

TEST(HttpServer, AnswersGetAndNothingElse) {
  const HttpServer server(options_of());
  EXPECT_THAT(ask(server, kHead + "\r\n"), StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(ask(server, kHead + "\r\n"), EndsWith("\r\n\r\n/x: here it is"));
  for (const char* method : {"POST", "HEAD", "PUT", "DELETE", "OPTIONS", "CONNECT"}) {
    EXPECT_THAT(ask(server, method + kHead.substr(3) + "\r\n"), StartsWith("HTTP/1.1 405 "));
  }
  for (const char* odd :
       {"\r\n\r\n", "GET\r\n\r\n", "GET x HTTP/1.1\r\n\r\n", "GET /% HTTP/1.1\r\n\r\n",
        "GET /%zz HTTP/1.1\r\n\r\n", "GET / SMTP\r\n\r\n"}) {
    EXPECT_THAT(ask(server, odd), StartsWith("HTTP/1.1 400 ")) << odd;
  }
}

TEST(HttpServer, RefusesWhoIsNotMeant) {
  const HttpServer open(options_of());
  EXPECT_THAT(ask(open, "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n"),
              StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(ask(open, "GET / HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 403 "));
  HttpOptions options = options_of();
  options.token = "secret";
  const HttpServer closed(std::move(options));
  EXPECT_THAT(ask(closed, kHead + "\r\n"), StartsWith("HTTP/1.1 401 "));
  EXPECT_THAT(ask(closed, kHead + "authorization:  Bearer secret\r\n\r\n"),
              StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(ask(closed, "GET /?a=b&token=secret HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(ask(closed, "GET /?token=secre HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 401 "));
}

TEST(HttpServer, TakesNoMoreThanAHead) {
  const HttpServer server(options_of());
  const size_t before = resident_bytes();
  const std::string block(1 << 20, 'x');
  const std::vector<std::string> heads = {
      kHead + "X: ",
      "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: evil.example\r\n\r\n",
      "GET /",
  };
  for (const std::string& head : heads) {
    const Client client(server.port());
    client.say(head);
    int taken = 0;
    while (taken < 200 && client.say(block)) ++taken;
    EXPECT_LT(taken, 100) << "somebody reads it: " << head;
  }
  EXPECT_LT(resident_bytes(), before + (32 << 20));
}

TEST(HttpServer, ServesBehindAnyNumberOfIdleConnections) {
  const HttpServer server(options_of());
  std::vector<std::unique_ptr<Client>> idle;
  for (int i = 0; i < 300; ++i) {
    idle.push_back(std::make_unique<Client>(server.port()));
    ASSERT_TRUE(idle.back()->connected());
    if (i % 3 == 1) idle.back()->say("GET / HT");
    if (i % 3 == 2) idle.back()->say(kHead + "\r\n");  // and never reads
  }
  EXPECT_THAT(ask(server, kHead + "\r\n"), HasSubstr("here it is"));
  size_t open = 0;
  for ([[maybe_unused]] const auto& one : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++open;
  }
  EXPECT_LT(open, 300 + 64U) << "of which 300 are the clients' own";
}

TEST(HttpServer, EndsWhateverClientsDo) {
  auto server = std::make_unique<HttpServer>(options_of(std::string(64 << 20, 'x')));
  const Client idle(server->port()), slow(server->port());
  slow.say(kHead + "\r\n");  // 64 MB that it does not take
  EXPECT_THAT(ask(*server, kHead + "\r\n"), StartsWith("HTTP/1.1 200 "));
  const int port = server->port();
  auto ended = std::async(std::launch::async, [&] { server.reset(); });
  ASSERT_EQ(ended.wait_for(kHangs), std::future_status::ready);
  const HttpServer again({.port = port, .answer = {}});
  EXPECT_EQ(again.port(), port);
}

TEST(HttpServer, ErrorsOfTheAnswerAreAnAnswer) {
  const HttpServer server({.answer = [](const std::string&) -> HttpAnswer {
    throw std::runtime_error("no such run");
  }});
  EXPECT_THAT(ask(server, kHead + "\r\n"), HasSubstr("no such run"));
}

TEST(HttpRequest, IsReadFromAnyHead) {
  const auto request =
      parse_request("GET /run/a%20b/?x=1&token=t%2B HTTP/1.1\r\nhOST:  [::1]:80 \r\nNone\r\n:");
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(request->path, "/run/a b/");
  EXPECT_EQ(request->token, "t+");
  EXPECT_EQ(request->host, "[::1]:80");
}

}  // namespace
}  // namespace syrtos::report
