#include "syrtos/report/live_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "syrtos/base/error.h"
#include "syrtos/base/host_name.h"
#include "syrtos/base/process_name.h"
#include "syrtos/report/html_page.h"
#include "syrtos/report/http_server.h"
#include "syrtos/report/live_data.h"
#include "syrtos/report/run_list.h"
#include "syrtos/report/run_reader.h"
#include "syrtos/report/search_report.h"

namespace syrtos::report {

namespace {

constexpr size_t kMostCompared = 26;  // as many letters as stand for runs

std::string dumped(const nlohmann::json& data) {
  return data.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Of a path, without what is empty.
std::vector<std::string> words_of(const std::string& path) {
  std::vector<std::string> words;
  std::stringstream stream(path);
  for (std::string word; std::getline(stream, word, '/');) {
    if (!word.empty()) words.push_back(word);
  }
  return words;
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
    // Refuses what is no run before anything listens.
    searches_ = search::Directory::is_search(options_.run);
    runs_directory_ = searches_ ? options_.run / "trials" : options_.run;
    lists_ = searches_ || (!options_.begins && !runs_in(options_.run).empty());
    if (!lists_) data_.get();
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
      const std::optional<HttpAnswer> found = lists_ ? answer_list(path) : answer_run(data_, path);
      if (found) return *found;
    } catch (const std::exception& error) {
      return {.status = 500, .body = fmt::format("{}\n", error.what())};
    }
    return {.status = 404,
            .body = lists_ ? "here are /, /run/NAME/ and /compare/NAME/NAME/\n"
                           : "here are /, /data.json and /metrics\n"};
  }

  /// Nothing: there is no such path.
  std::optional<HttpAnswer> answer_run(LiveData& data, const std::string& path) {
    if (path == "/") return html(data.get());
    if (path == "/data.json") {
      note_look();
      return HttpAnswer{.type = "application/json", .body = dumped(data.get())};
    }
    if (path == "/metrics") {
      return HttpAnswer{.type = "text/plain; version=0.0.4; charset=utf-8",
                        .body = prometheus_text(data.get())};
    }
    return {};
  }

  /// Runs of a directory: all of them, one, or some side by side. Names are those of the list, so
  /// no path leads elsewhere.
  std::optional<HttpAnswer> answer_list(const std::string& path) {
    if (path == "/") return html(overview());
    if (path == "/data.json") {
      note_look();
      return HttpAnswer{.type = "application/json", .body = dumped(overview())};
    }
    std::vector<std::string> words = words_of(path);
    const auto is_known = [&](const std::string& name) { return has_run(runs_directory_, name); };
    if (words.size() >= 2 && words[0] == "run" && is_known(words[1])) {
      auto& data = runs_[words[1]];
      if (!data) data = std::make_unique<LiveData>(runs_directory_ / words[1]);
      return answer_run(*data, path.substr(words[1].size() + std::string("/run/").size()));
    }
    if (words.size() < 3 || words[0] != "compare" || !path.ends_with('/')) return {};
    words.erase(words.begin());
    if (!std::all_of(words.begin(), words.end(), is_known)) return {};
    // Each is read and explained: nobody may ask for more of that than a page can show.
    const std::set<std::string> different(words.begin(), words.end());
    if (different.size() < words.size() || words.size() > kMostCompared) return {};
    std::vector<Explained> runs;
    for (const std::string& name : words) {
      Explained one{read_run(runs_directory_ / name, {.trace = false}), {}};
      one.explanation = explain(one.run, {.trace = false, .advice = 0});
      runs.push_back(std::move(one));
    }
    return html(comparison_json(runs, compare(runs)));
  }

  /// What a directory of runs, or a search, shows of all of them.
  nlohmann::json overview() const {
    if (!searches_) return list_json(options_.run);
    nlohmann::json data = search_json(search::Directory::open(options_.run));
    data["live"] = true;
    const auto owner = run::read_owner(options_.run);
    data["running"] = owner && liveness_of(owner->name) != Liveness::gone;
    return data;
  }

  static HttpAnswer html(const nlohmann::json& data) {
    return {.type = "text/html; charset=utf-8", .body = html_page(data)};
  }

  const LiveOptions options_;
  std::mutex mutex_;  // of the data
  LiveData data_;
  bool lists_ = false;     // `run` is a directory of runs, or a search, which has one
  bool searches_ = false;  // it is a search
  std::filesystem::path runs_directory_;
  std::map<std::string, std::unique_ptr<LiveData>> runs_;  // of it, that were asked for
  Clock::time_point looked_;                               // when a page asked last
  std::condition_variable looks_;
  bool stopped_ = false;
  std::unique_ptr<HttpServer> server_;  // last: its threads use the others
};

LivePage::LivePage(LiveOptions options) : state_(std::make_unique<State>(std::move(options))) {}

LivePage::~LivePage() = default;

std::string LivePage::url() const {
  const LiveOptions& options = state_->options();
  // Of all addresses people need one that they can open.
  const bool all = options.address == "0.0.0.0" || options.address == "::";
  const std::string address = all ? host_name() : options.address;
  const bool v6 = address.find(':') != std::string::npos;
  return fmt::format("http://{}:{}/{}", v6 ? "[" + address + "]" : address, state_->server().port(),
                     options.token.empty() ? "" : "?token=" + options.token);
}

void LivePage::stop() { state_->stop(); }

}  // namespace syrtos::report
