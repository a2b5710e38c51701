#pragma once

#include <functional>
#include <memory>
#include <string>

namespace syrtos::report {

struct HttpAnswer {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body = {};
};

struct HttpOptions {
  std::string address = "127.0.0.1";
  int port = 0;            ///< 0: any that is free
  std::string token = {};  ///< that a request must have (?token=T or as bearer); empty: none
  /// Called with the path of a GET, on the server's thread: others wait meanwhile.
  std::function<HttpAnswer(const std::string& path)> answer;
};

/// Answers GET requests, and nothing else, on a thread of its own until it is stopped. Without a
/// token only requests that name this machine as "localhost" or by a loopback address are answered,
/// so that pages of other sites cannot read along. Whoever connects can take only so much of us:
/// some dozens of connections, of which one that asks for nothing has to make room for a new one, a
/// few kilobytes and a few seconds each.
class HttpServer {
 public:
  /// Throws RequestError when the port is taken or the address is not this machine's.
  explicit HttpServer(HttpOptions options);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const { return port_; }
  /// The port is free when it returns, whatever clients do. Again: nothing happens.
  void stop();

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
  int port_;
};

}  // namespace syrtos::report
