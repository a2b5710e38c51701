#include "syrtos/report/live_page.h"

#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "syrtos/base/error.h"
#include "syrtos/report/html_page.h"
#include "syrtos/report/http_server.h"
#include "syrtos/report/live_data.h"

namespace syrtos::report {

namespace {

std::string dumped(const nlohmann::json& data) {
  return data.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

bool is_loopback(const std::string& address) {
  return address == "localhost" || address.starts_with("127.") || address == "::1";
}

}  // namespace

class LivePage::State {
 public:
  explicit State(LiveOptions options)
      : options_(std::move(options)), data_(options_.run, options_.begins) {
    if (!is_loopback(options_.address) && options_.token.empty()) {
      fail_request("--bind {}: whoever reaches this machine could read the page: give --token too",
                   options_.address);
    }
    data_.get();  // refuses what is no run before anything listens
    server_ = std::make_unique<HttpServer>(
        HttpOptions{.address = options_.address,
                    .port = options_.port,
                    .token = options_.token,
                    .answer = [this](const std::string& path) { return answer(path); }});
  }

  ~State() { linger(); }

  HttpServer& server() { return *server_; }
  void stop() {
    stopped_ = true;
    server_->stop();
  }
  const LiveOptions& options() const { return options_; }

 private:
  using Clock = std::chrono::steady_clock;

  void note_look() {
    looked_ = Clock::now();
    looks_.notify_all();
  }

  /// Until a page that has asked a moment ago has asked for what there is in the end.
  void linger() {
    std::unique_lock lock(mutex_);
    const auto end = Clock::now();
    if (stopped_ || looked_ < end - std::chrono::seconds(3)) return;
    looks_.wait_for(lock, std::chrono::milliseconds(2500),
                    [&] { return looked_ > end + LiveData::kAgain; });
  }

  HttpAnswer answer(const std::string& path) {
    const std::lock_guard lock(mutex_);
    try {
      if (path == "/") {
        return {.type = "text/html; charset=utf-8", .body = html_page(data_.get())};
      }
      if (path == "/data.json") {
        note_look();
        return {.type = "application/json", .body = dumped(data_.get())};
      }
      if (path == "/metrics") {
        return {.type = "text/plain; version=0.0.4; charset=utf-8",
                .body = prometheus_text(data_.get())};
      }
    } catch (const std::exception& error) {
      return {.status = 500, .body = fmt::format("{}\n", error.what())};
    }
    return {.status = 404, .body = "here are /, /data.json and /metrics\n"};
  }

  const LiveOptions options_;
  std::mutex mutex_;  // of the data
  LiveData data_;
  Clock::time_point looked_;  // when a page asked last
  std::condition_variable looks_;
  bool stopped_ = false;
  std::unique_ptr<HttpServer> server_;  // last: its threads use the others
};

LivePage::LivePage(LiveOptions options) : state_(std::make_unique<State>(std::move(options))) {}

LivePage::~LivePage() = default;

std::string LivePage::url() const {
  const LiveOptions& options = state_->options();
  const bool v6 = options.address.find(':') != std::string::npos;
  return fmt::format("http://{}:{}/{}", v6 ? "[" + options.address + "]" : options.address,
                     state_->server().port(),
                     options.token.empty() ? "" : "?token=" + options.token);
}

void LivePage::stop() { state_->stop(); }

}  // namespace syrtos::report
