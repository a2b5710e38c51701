#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>

#include "syrtos/base/secret.h"
#include "syrtos/cli/command.h"
#include "syrtos/report/live_page.h"

namespace syrtos::cli {

namespace {

struct WatchOptions {
  report::LiveOptions page;
  std::string run;
};

int run_watch(WatchOptions options, const Context& context) {
  options.page.run = options.run;
  if (options.page.address != report::LiveOptions().address && options.page.token.empty()) {
    options.page.token = random_token();
  }
  report::LivePage page(options.page);
  fmt::print("{}: {}\nCtrl-C ends it.\n", options.run, page.url());
  std::fflush(stdout);
  while (!context.interrupted()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  page.stop();
  return kExitDone;
}

}  // namespace

void add_watch(Command app, Run& run) {
  auto options = std::make_shared<WatchOptions>();
  Command command =
      app.add_subcommand("watch", "Show how a run goes on a page, while it trains and after");
  command.add_option("RUN", options->run, "run directory, or one with runs in it")
      .type_name("")
      .required();
  command.add_option("--port", options->page.port, "to listen on; 0: any that is free")
      .range(0, 65535)
      .show_default();
  command
      .add_option("--bind", options->page.address,
                  "address to listen at; others than this machine's own need a token")
      .type_name("ADDRESS")
      .show_default();
  command.add_option("--token", options->page.token,
                     "that readers must know (default with --bind: made and printed)");
  command.footer(
      "Served are / (the page), /data.json (what it shows) and /metrics (for Prometheus).\n"
      "Examples:\n"
      "  syrtos watch runs/resnet18-20260714-101500\n"
      "  syrtos watch runs\n"
      "  syrtos watch runs/resnet18-20260714-101500 --port 8080 --bind 0.0.0.0");
  command.callback([options, &run] {
    run = [options](const Context& context) { return run_watch(*options, context); };
  });
}

}  // namespace syrtos::cli
