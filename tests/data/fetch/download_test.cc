#include "syrtos/data/fetch/download.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "tests/support/temporary.h"

namespace syrtos::data {
namespace {

using testing::HasSubstr;
using testing::Not;

// An HTTP server on the loopback: answer(request) is sent as it is and the connection closed.
class Server {
 public:
  using Answer = std::function<std::string(const std::string& request)>;

  explicit Server(Answer answer) : answer_(std::move(answer)) {
    listening_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    bind(listening_, reinterpret_cast<sockaddr*>(&address), size);
    listen(listening_, 8);
    getsockname(listening_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~Server() {
    stop_ = true;
    thread_.join();
    close(listening_);
  }

  std::string url() const { return fmt::format("http://127.0.0.1:{}/file", port_); }
  std::vector<std::string> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  void serve() {
    while (!stop_) {
      pollfd event{.fd = listening_, .events = POLLIN, .revents = 0};
      if (poll(&event, 1, 20) <= 0) continue;
      const int connection = accept(listening_, nullptr, nullptr);
      std::string request;
      char block[4096];
      while (request.find("\r\n\r\n") == std::string::npos) {
        const ssize_t got = read(connection, block, sizeof(block));
        if (got <= 0) break;
        request.append(block, static_cast<size_t>(got));
      }
      {
        const std::lock_guard lock(mutex_);
        requests_.push_back(request);
      }
      const std::string answer = answer_(request);
      send(connection, answer.data(), answer.size(), MSG_NOSIGNAL);
      close(connection);
    }
  }

  Answer answer_;
  int listening_ = -1;
  int port_ = 0;
  std::atomic<bool> stop_ = false;
  mutable std::mutex mutex_;
  std::vector<std::string> requests_;
  std::thread thread_;
};

std::string whole(const std::string& body, const std::string& tag = "\"one\"") {
  return fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nETag: {}\r\n\r\n{}", body.size(),
                     tag, body);
}
std::string rest(const std::string& body, size_t from) {
  return fmt::format(
      "HTTP/1.1 206 Partial Content\r\nContent-Length: {}\r\nContent-Range: bytes {}-{}/{}\r\n"
      "ETag: \"one\"\r\n\r\n{}",
      body.size() - from, from, body.size() - 1, body.size(), body.substr(from));
}
std::string cut(const std::string& answer, size_t bytes) {
  return answer.substr(0, answer.size() - bytes);
}

class Download : public TemporaryDirectory {
 protected:
  static void SetUpTestSuite() { setenv("no_proxy", "127.0.0.1", 1); }
  void fetch(const Server& server, const std::function<bool()>& should_stop = {}) const {
    download(server.url(), directory_ / "file", {}, {}, should_stop);
  }
  bool nothing_but(const std::string& name) const {
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
      if (entry.path().filename() != name) return false;
    }
    return true;
  }
};

const std::string kBody = std::string(5000, 'a') + std::string(5000, 'b');

TEST_F(Download, BringsTheFileAndSaysHowFarItIs) {
  const Server server([](const std::string&) { return whole(kBody); });
  int64_t last = 0;
  int64_t total = 0;
  download(server.url(), directory_ / "file", {},
           [&](int64_t done, int64_t of) { last = done, total = of; }, {});
  EXPECT_EQ(read(directory_ / "file"), kBody);
  EXPECT_EQ(last, 10000);
  EXPECT_EQ(total, 10000);
  EXPECT_TRUE(nothing_but("file"));
}

TEST_F(Download, GoesOnAfterACutConnection) {
  const Server server([](const std::string& request) {
    return request.find("Range: bytes=7000-") != std::string::npos ? rest(kBody, 7000)
                                                                   : cut(whole(kBody), 3000);
  });
  EXPECT_THAT(refusal<RunError>([&] { fetch(server); }), HasSubstr("after 7000 bytes"));
  EXPECT_FALSE(std::filesystem::exists(directory_ / "file"));
  fetch(server);
  EXPECT_EQ(read(directory_ / "file"), kBody);
  EXPECT_THAT(server.requests().back(), HasSubstr("If-Range: \"one\""));
  EXPECT_TRUE(nothing_but("file"));
}

TEST_F(Download, BeginsAnewWhenTheServerHasAnotherFile) {
  const std::string other(8000, 'c');
  int answers = 0;
  const Server server([&](const std::string&) {
    return answers++ == 0 ? cut(whole(kBody), 3000) : whole(other, "\"two\"");
  });
  EXPECT_THAT(refusal<RunError>([&] { fetch(server); }), HasSubstr("go on"));
  fetch(server);
  EXPECT_EQ(read(directory_ / "file"), other);
}

TEST_F(Download, BeginsAnewWhenTheServerSendsAnotherPart) {
  int answers = 0;
  const Server server([&](const std::string& request) {
    if (answers++ == 0) return cut(whole(kBody), 3000);
    return request.find("Range: bytes=") != std::string::npos ? rest(kBody, 6000) : whole(kBody);
  });
  EXPECT_THAT(refusal<RunError>([&] { fetch(server); }), HasSubstr("go on"));
  fetch(server);
  EXPECT_EQ(read(directory_ / "file"), kBody);
}

TEST_F(Download, BeginsAnewWhenTheNoteAboutThePartMakesNoSense) {
  const Server server([](const std::string&) { return whole(kBody); });
  for (const char* note :
       {"{\"url\": 1, \"tag\": [], \"length\": \"x\"}", "[]", "{", "{\"url\": null}"}) {
    write("file.part", "aaa");
    write("file.part.from", note);
    fetch(server);
    EXPECT_EQ(read(directory_ / "file"), kBody) << note;
    EXPECT_THAT(server.requests().back(), Not(HasSubstr("Range:"))) << note;
    EXPECT_TRUE(nothing_but("file")) << note;
  }
}

TEST_F(Download, AnErrorPageIsNoFile) {
  const Server server([](const std::string&) {
    return std::string("HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy");
  });
  const std::string text = refusal<RunError>([&] { fetch(server); });
  EXPECT_THAT(text, HasSubstr(server.url()));
  EXPECT_THAT(text, HasSubstr("HTTP 503"));
  EXPECT_TRUE(nothing_but(""));
}

TEST_F(Download, RedirectionsComeToAnEnd) {
  const Server server([](const std::string&) {
    return std::string(
        "HTTP/1.1 302 Found\r\nLocation: /again\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
  });
  EXPECT_THAT(refusal<RunError>([&] { fetch(server); }), HasSubstr("redirects"));
  EXPECT_LE(server.requests().size(), 7U);
}

TEST_F(Download, OtherProtocolsAreRefused) {
  const std::string secret = write("secret", "x").string();
  EXPECT_THAT(
      refusal<RunError>([&] { download("file://" + secret, directory_ / "file", {}, {}, {}); }),
      Not(HasSubstr("accepted")));
  EXPECT_FALSE(std::filesystem::exists(directory_ / "file"));
}

TEST_F(Download, ALargerFileThanAllowedIsRefused) {
  const Server server([](const std::string&) { return whole(kBody); });
  EXPECT_THAT(refusal<RunError>([&] {
                download(server.url(), directory_ / "file", {.most_bytes = 100}, {}, {});
              }),
              HasSubstr("expected at most 100 bytes, found 10000"));
}

TEST_F(Download, StopsWhenAsked) {
  const Server server([](const std::string&) { return whole(kBody); });
  EXPECT_THAT(refusal<RunError>([&] { fetch(server, [] { return true; }); }), HasSubstr("stopped"));
  EXPECT_FALSE(std::filesystem::exists(directory_ / "file"));
}

}  // namespace
}  // namespace syrtos::data
