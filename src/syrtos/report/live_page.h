#pragma once

#include <filesystem>
#include <memory>
#include <string>

namespace syrtos::report {

struct LiveOptions {
  std::filesystem::path run;
  std::string address = "127.0.0.1";
  int port = 0;            ///< 0: any that is free
  std::string token = {};  ///< needed where `address` is not this machine alone
  bool begins = false;     ///< the run's directory may still be empty
};

/// A run's page, served while it goes on and after: / the page, /data.json what it shows (asked for
/// every second), /metrics the same for Prometheus. It reads the run directory and nothing else.
///
/// Where `run` is a directory of runs, / lists them, /run/NAME/ is the page of one, and
/// /compare/NAME/NAME/ shows some side by side. Where it is a search, / is its page, and /run/0001/
/// that of a trial.
class LivePage {
 public:
  /// Throws RequestError: no run, the port is taken.
  explicit LivePage(LiveOptions options);
  /// Whoever looks at it sees the end of the run: it waits a moment for that.
  ~LivePage();
  LivePage(const LivePage&) = delete;
  LivePage& operator=(const LivePage&) = delete;

  /// What to open: "http://127.0.0.1:8080/?token=...".
  std::string url() const;
  /// At once; the port is free when it returns.
  void stop();

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace syrtos::report
