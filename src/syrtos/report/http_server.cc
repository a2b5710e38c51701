#include "syrtos/report/http_server.h"

#include <httplib.h>

#include <string_view>
#include <thread>

#include "syrtos/base/error.h"
#include "syrtos/base/secret.h"

namespace syrtos::report {

namespace {

constexpr time_t kSeconds = 1;  // for a client to say what it wants, and to take the answer
constexpr size_t kThreads = 4;

bool names_loopback(std::string host) {
  const size_t colon = host.rfind(':');
  if (colon != host.npos && host.find(']', colon) == host.npos) host.resize(colon);
  return host == "localhost" || host == "127.0.0.1" || host == "[::1]";
}

/// 0, or the status of a refusal.
int refusal(const httplib::Request& request, const std::string& token) {
  if (token.empty()) return names_loopback(request.get_header_value("Host")) ? 0 : 403;
  const std::string bearer = "Bearer " + token;
  if (same_secret(request.get_header_value("Authorization"), bearer)) return 0;
  return same_secret(request.get_param_value("token"), token) ? 0 : 401;
}

}  // namespace

struct HttpServer::State {
  HttpOptions options;
  httplib::Server server;
  int port = 0;
  std::thread thread;

  void answer(const httplib::Request& request, httplib::Response& response) const {
    HttpAnswer answer;
    if (const int refused = refusal(request, options.token)) {
      answer = {.status = refused,
                .body = refused == 401
                            ? "this page needs its token: open the address that was printed\n"
                            : "without a token this page is for http://localhost alone\n"};
    } else {
      answer = options.answer(request.path);
    }
    response.status = answer.status;
    response.set_content(answer.body, answer.type);
    response.set_header("Cache-Control", "no-store");
    response.set_header("X-Content-Type-Options", "nosniff");
    response.set_header("Referrer-Policy", "no-referrer");
    response.set_header("Content-Security-Policy",
                        "default-src 'none'; style-src 'unsafe-inline'; script-src "
                        "'unsafe-inline'; connect-src 'self'; img-src data:");
  }
};

HttpServer::HttpServer(HttpOptions options) : state_(std::make_unique<State>()) {
  State& state = *state_;
  state.options = std::move(options);
  httplib::Server& server = state.server;
  server.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };  // it owns it
  server.set_keep_alive_max_count(1);  // no idle connection holds a thread, or the end up
  server.set_read_timeout(kSeconds);
  server.set_write_timeout(kSeconds);
  server.set_payload_max_length(1024);
  // Not SO_REUSEPORT, the library's default: two servers would share a port without knowing.
  server.set_socket_options([](socket_t socket) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  });
  server.Get(".*", [&state](const httplib::Request& request, httplib::Response& response) {
    state.answer(request, response);
  });
  const std::string& address = state.options.address;
  const int wanted = state.options.port;
  if (wanted == 0) {
    state.port = server.bind_to_any_port(address);
  } else if (server.bind_to_port(address, wanted)) {
    state.port = wanted;
  } else {
    state.port = -1;
  }
  if (state.port <= 0) {
    fail_request(
        "cannot listen at {}:{}: the port is taken, not allowed, or {} is no address of "
        "this machine; choose another --port (0: any that is free)",
        address, wanted, address);
  }
  state.thread = std::thread([&server] { server.listen_after_bind(); });
  // stop() before the loop runs would be forgotten.
  while (!server.is_running()) std::this_thread::yield();
}

HttpServer::~HttpServer() { stop(); }

int HttpServer::port() const { return state_->port; }

void HttpServer::stop() {
  if (!state_->thread.joinable()) return;
  state_->server.stop();
  state_->thread.join();
}

}  // namespace syrtos::report
