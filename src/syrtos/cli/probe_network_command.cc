#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <memory>

#include "syrtos/api/rank.h"
#include "syrtos/base/error.h"
#include "syrtos/base/parallel.h"
#include "syrtos/cli/command.h"
#include "syrtos/cli/probe_network_report.h"
#include "syrtos/cli/progress.h"
#include "syrtos/launch/launch.h"

namespace syrtos::cli {

namespace fs = std::filesystem;
using planner::NetworkProbe;
using planner::NetworkProbeOptions;

namespace {

constexpr double kLeastSeconds = 0.5;
constexpr double kMostSeconds = 600;
constexpr int kWorkers = 2;
constexpr int kMostWorkers = 256;
constexpr int kBarWidth = 24;
constexpr int kLineNeeds = 80;  // columns

struct Request {
  std::string hosts;  ///< file
  std::string remote_shell = "ssh";
  bool installed = false;  ///< bring no package along
  bool local = false;
  int workers = kWorkers;  ///< of local
  std::string to;          ///< file
  double seconds = NetworkProbeOptions().seconds;
  bool json = false;
  std::string join;  ///< in a rank's process: its invitation
};

// ---- a rank ------------------------------------------------------------------------------------

world::Task<> keep(world::Task<NetworkProbe> task, NetworkProbe& result) { result = co_await task; }

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
               columns_ >= kLineNeeds ? "│" + bar(part, kBarWidth) + "│ " : "", doing);
    std::fflush(stderr);
  }

 private:
  int columns_;
};

int probe_as_rank(const Request& request, const Context& context) {
  api::JoinedRank self(request.join, end_process);
  const ThreadScope threads(self.invitation().cores);
  int code = kExitDone;
  const bool all_there = self.run([&](world::TcpWorld& world, launch::Membership& membership) {
    const bool first = world.rank() == 0;
    if (first) membership.begun();
    const auto should_stop = [&] { return membership.stop_requested() || context.interrupted(); };
    NetworkProbeOptions options;
    options.seconds = request.seconds;
    options.cores = context.cpu.cores;
    options.memory = static_cast<double>(context.cpu.memory_bytes);
    options.should_stop = should_stop;
    const ProbeLine line(first ? self.invitation().error_columns : 0);
    options.progress = [&](const std::string& doing, double part) {
      membership.report(doing);
      line.show(doing, part);
    };
    NetworkProbe result;
    try {
      world.run(keep(planner::probe_network(world, std::move(options)), result));
    } catch (const world::PeerLost&) {
      throw;
    } catch (const RunError&) {
      if (!should_stop()) throw;
      code = kExitFailed;  // the launcher says so
      return;
    }
    if (first) fmt::print("{}\n", to_json(result).dump());
    std::fflush(stdout);
  });
  return all_there ? code : kExitFailed;
}

// ---- the launcher ------------------------------------------------------------------------------

void check(const Request& request) {
  if (request.local && !request.hosts.empty()) {
    fail_request("--local measures processes of this machine: leave --hosts out");
  }
  if (!request.local && request.hosts.empty()) {
    fail_request(
        "which hosts? Give --hosts FILE, one name per line, or --local for processes of this "
        "machine");
  }
  if (!request.local && request.workers != kWorkers) {
    fail_request("--workers {}: one process runs on each host; leave it out, or use --local",
                 request.workers);
  }
  if (!(request.seconds >= kLeastSeconds && request.seconds <= kMostSeconds)) {
    fail_request("--seconds: expected {} to {}, found {}", kLeastSeconds, kMostSeconds,
                 request.seconds);
  }
  if (request.workers < 2 || request.workers > kMostWorkers) {
    fail_request("--workers: expected 2 to {}, found {}: messages pass between them", kMostWorkers,
                 request.workers);
  }
  if (request.to.empty()) return;
  const fs::path file = fs::absolute(request.to);
  const fs::path place = file.parent_path();
  if (fs::is_directory(file)) {
    fail_request("--to: expected a file, found the directory {}", request.to);
  }
  if (!fs::is_directory(place) || access(place.c_str(), W_OK) != 0) {
    fail_request("--to: {} cannot be written: expected a directory {} where files can be made",
                 request.to, place.string());
  }
}

launch::LaunchOptions options_of(const Request& request, const Context& context) {
  launch::LaunchOptions options;
  options.command =
      own_command(context, {"probe", "network", "--seconds", fmt::format("{}", request.seconds)});
  options.columns = {0, launch::terminal_columns()[1]};  // the output is ours
  options.should_stop = context.interrupted;
  options.stop_timeout = std::chrono::seconds(5);
  if (request.local) {
    options.hosts = {launch::this_machine(context.cpu.cores, request.workers)};
    options.placements = launch::place(request.workers, 0, options.hosts);
    return options;
  }
  options.hosts = launch::read_hosts(request.hosts);
  if (options.hosts.size() < 2) {
    fail_request(
        "{}: expected at least 2 hosts, found {}: a network is between hosts; measure processes of "
        "one machine with --local",
        request.hosts, options.hosts.front().name);
  }
  const launch::HostProgram program = host_program(context, request.installed);
  options.remote =
      launch::RemoteShell{request.remote_shell, fs::current_path(), !program.package.empty()};
  launch::prepare_hosts(options.hosts, *options.remote, program, context.interrupted);
  for (const launch::Host& host : options.hosts) {
    const auto rank = static_cast<int>(options.placements.size());
    options.placements.push_back({rank, launch::Role::worker, rank, host.cores});
  }
  return options;
}

int run_probe_network(const Request& request, const Context& context) {
  if (!request.join.empty()) return probe_as_rank(request, context);
  check(request);
  launch::LaunchOptions options = options_of(request, context);
  std::string told;  // by rank 0
  options.write = [&told](launch::Stream stream, std::string_view text) {
    if (stream == launch::Stream::output) {
      told += text;
    } else {
      launch::write_to_own_streams(stream, text);
    }
  };
  const launch::LaunchEnd end = launch::launch(options);
  if (!end.failure.empty()) {
    fmt::print(stderr, "error: {}\n", end.failure);
  } else if (end.interrupted) {
    fmt::print(stderr, "interrupted; nothing was written\n");
  }
  if (end.code != kExitDone || end.interrupted)
    return end.code == kExitDone ? kExitFailed : end.code;
  NetworkProbe probe = network_probe_of(nlohmann::json::parse(told));
  for (size_t i = 0; i < probe.cluster.hosts.size(); ++i) {
    probe.cluster.hosts[i].slots = options.hosts[i].slots;
  }
  if (!request.to.empty()) planner::write_cluster(request.to, probe.cluster);
  if (request.json) {
    fmt::print("{}\n", to_json(probe).dump());
    return kExitDone;
  }
  fmt::print("{}{}", describe(probe),
             request.to.empty() ? "nothing was written: give --to FILE for a profile to plan from\n"
                                : fmt::format("written: {}\n", request.to));
  return kExitDone;
}

}  // namespace

void add_probe_network(Command probe, Run& run) {
  auto request = std::make_shared<Request>();
  Command command =
      probe.add_subcommand("network", "Measure the hosts of a cluster and what is between them");
  command
      .add_option("--hosts", request->hosts, "hosts: a,b:2,c or a file, NAME [slots=N] [address=A]")
      .type_name("HOSTS");
  command.add_flag("--installed", request->installed,
                   "use what is installed there at the same path, also where this program is a "
                   "package");
  command.add_option("--remote-shell", request->remote_shell,
                     "what reaches a host like 'ssh HOST COMMAND' does");
  command.add_flag("--local", request->local, "measure between processes of this machine");
  command.add_option("--workers", request->workers, "processes of --local").show_default();
  command.add_option("--to", request->to, "write the profile that plans are made from (TOML)")
      .type_name("FILE");
  command.add_option("--seconds", request->seconds, "about how long to measure").show_default();
  command.add_option(launch::kJoinOption, request->join).hidden();  // for ranks' processes
  command.add_flag("--json", request->json, "print as JSON: seconds, bytes");
  command.footer(
      "Measures latency and bandwidth of every host, alone and all at once, what moving bytes "
      "costs\n"
      "in cores, how fast each host computes and how much that slows down while bytes move.\n"
      "Nothing else should run on the hosts meanwhile.\n\n"
      "Examples:\n"
      "  syrtos probe network --hosts hosts.txt --to cluster.toml\n"
      "  syrtos probe network --hosts hosts.txt --seconds 30 --json\n"
      "  syrtos probe network --local --workers 4");
  command.callback([request, &run] {
    run = [request](const Context& context) { return run_probe_network(*request, context); };
  });
}

}  // namespace syrtos::cli
