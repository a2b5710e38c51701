#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "syrtos/api/probe_network.h"
#include "syrtos/base/error.h"
#include "syrtos/cli/command.h"
#include "syrtos/cli/probe_network_report.h"
#include "syrtos/cli/progress.h"
#include "syrtos/launch/launch.h"

namespace syrtos::cli {

namespace fs = std::filesystem;

namespace {

constexpr int kProbeBarWidth = 24;
constexpr int kLineNeeds = 80;  // columns

struct ProbeNetworkOptions {
  api::NetworkProbeRequest request;
  std::string remote_shell = "ssh";
  bool installed = false;  ///< bring no package along
  std::string to;          ///< file
  bool json = false;
  std::string join;  ///< in a rank's process: its invitation
};

/// One line that is redrawn, where the launcher's error output ends on a terminal.
class ProbeLine {
 public:
  explicit ProbeLine(int columns) : columns_(columns) {}
  ~ProbeLine() {
    if (columns_ > 0) fmt::print(stderr, "\r\x1b[K");
    std::fflush(stderr);
  }
  void show(const std::string& doing, double part) const {
    if (columns_ == 0) return;
    fmt::print(stderr, "\r\x1b[K{}{}",
               columns_ >= kLineNeeds ? "│" + bar(part, kProbeBarWidth) + "│ " : "", doing);
    std::fflush(stderr);
  }

 private:
  int columns_;
};

int probe_as_rank(const ProbeNetworkOptions& options, const Context& context) {
  const auto show = [](int columns) {
    auto line = std::make_shared<const ProbeLine>(columns);
    return [line](const std::string& doing, double part) { line->show(doing, part); };
  };
  const bool done = api::probe_network_as_rank(options.join, options.request.seconds,
                                               surroundings(context), end_process, show);
  return done ? kExitDone : kExitFailed;
}

void check_file(const std::string& to) {
  if (to.empty()) return;
  const fs::path file = fs::absolute(to);
  const fs::path place = file.parent_path();
  if (fs::is_directory(file)) {
    fail_request("--to: expected a file, found the directory {}", to);
  }
  if (!fs::is_directory(place) || access(place.c_str(), W_OK) != 0) {
    fail_request("--to: {} cannot be written: expected a directory {} where files can be made", to,
                 place.string());
  }
}

int run_probe_network(const ProbeNetworkOptions& options, const Context& context) {
  if (!options.join.empty()) return probe_as_rank(options, context);
  check_file(options.to);
  const auto [probe, end] = api::probe_network(
      options.request,
      {.command = own_command(
           context, {"probe", "network", "--seconds", fmt::format("{}", options.request.seconds)}),
       .program = host_program(context, options.installed),
       .remote_shell = options.remote_shell,
       .error_columns = launch::terminal_columns()[1]},
      surroundings(context));
  if (!end.failure.empty()) {
    fmt::print(stderr, "error: {}\n", end.failure);
  } else if (end.interrupted) {
    fmt::print(stderr, "interrupted; nothing was written\n");
  }
  if (end.code != kExitDone || end.interrupted)
    return end.code == kExitDone ? kExitFailed : end.code;
  if (!options.to.empty()) planner::write_cluster(options.to, probe.cluster);
  if (options.json) {
    fmt::print("{}\n", api::to_json(probe).dump());
    return kExitDone;
  }
  fmt::print("{}{}", describe(probe),
             options.to.empty() ? "nothing was written: give --to FILE for a profile to plan from\n"
                                : fmt::format("written: {}\n", options.to));
  return kExitDone;
}

}  // namespace

void add_probe_network(Command probe, Run& run) {
  auto options = std::make_shared<ProbeNetworkOptions>();
  Command command =
      probe.add_subcommand("network", "Measure the hosts of a cluster and what is between them");
  command
      .add_option("--hosts", options->request.hosts,
                  "hosts: a,b:2,c or a file, NAME [slots=N] [address=A]")
      .type_name("HOSTS");
  command.add_flag("--installed", options->installed,
                   "use what is installed there at the same path, also where this program is a "
                   "package");
  command.add_option("--remote-shell", options->remote_shell,
                     "what reaches a host like 'ssh HOST COMMAND' does");
  command.add_flag("--local", options->request.local, "measure between processes of this machine");
  command.add_option("--workers", options->request.workers, "processes of --local").show_default();
  command.add_option("--to", options->to, "write the profile that plans are made from (TOML)")
      .type_name("FILE");
  command.add_option("--seconds", options->request.seconds, "about how long to measure")
      .show_default();
  command.add_option(launch::kJoinOption, options->join).hidden();  // for ranks' processes
  command.add_flag("--json", options->json, "print as JSON: seconds, bytes");
  command.footer(
      "Measures latency and bandwidth of every host, alone and all at once, what moving bytes "
      "costs\n"
      "in cores, how fast each host computes and how much that slows down while bytes move.\n"
      "Nothing else should run on the hosts meanwhile.\n\n"
      "Examples:\n"
      "  syrtos probe network --hosts hosts.txt --to cluster.toml\n"
      "  syrtos probe network --hosts hosts.txt --seconds 30 --json\n"
      "  syrtos probe network --local --workers 4");
  command.callback([options, &run] {
    run = [options](const Context& context) { return run_probe_network(*options, context); };
  });
}

}  // namespace syrtos::cli
