#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/cli/command.h"
#include "syrtos/cli/doctor_hosts.h"
#include "syrtos/launch/remote.h"
#include "syrtos/train/measure/doctor.h"

namespace syrtos::cli {

namespace {

int run_doctor(bool as_json, const Context& context) {
  const train::Diagnosis d = train::examine(context.cpu, context.environment.cache_home);
  if (as_json) {
    nlohmann::json findings = nlohmann::json::array();
    for (const train::Finding& finding : d.findings) {
      findings.push_back(
          {{"good", finding.good}, {"text", finding.text}, {"advice", finding.advice}});
    }
    const nlohmann::json json = {{"version", SYRTOS_VERSION},
                                 {"cpu", d.cpu.model},
                                 {"cores", d.cpu.cores},
                                 {"memory_bytes", d.cpu.memory_bytes},
                                 {"features", d.cpu.features},
                                 {"kernels", to_string(d.isa)},
                                 {"backend", d.backend},
                                 {"precision", to_string(d.precision.dtype)},
                                 {"precision_reason", d.precision.reason},
                                 {"findings", findings}};
    fmt::print("{}\n", json.dump());
    return kExitDone;
  }
  fmt::print("syrtos     {}\n", SYRTOS_VERSION);
  fmt::print("CPU        {}, {} core{}\n", d.cpu.model, d.cpu.cores, d.cpu.cores == 1 ? "" : "s");
  fmt::print("features   {}\n", fmt::join(d.cpu.features, " "));
  fmt::print("memory     {}\n", format_bytes(static_cast<double>(d.cpu.memory_bytes)));
  fmt::print("kernels    {}, {}\n", d.backend, to_string(d.isa));
  fmt::print("precision  {} ({})\n\n", to_string(d.precision.dtype), d.precision.reason);
  for (const train::Finding& finding : d.findings) {
    fmt::print("{}  {}{}{}\n", finding.good ? "ok     " : "missing", finding.text,
               finding.advice.empty() ? "" : ": ", finding.advice);
  }
  return kExitDone;
}

}  // namespace

void add_doctor(Command app, Run& run) {
  auto as_json = std::make_shared<bool>(false);
  auto request = std::make_shared<DoctorHostsRequest>();
  auto as_host = std::make_shared<std::string>();
  Command command =
      app.add_subcommand("doctor", "Look at this machine, or at hosts, and what is missing");
  command.add_flag("--json", *as_json, "print as JSON");
  command
      .add_option("--hosts", request->hosts,
                  "look at these, and at what is between them: a,b,c or a file")
      .type_name("HOSTS");
  command.add_option("--remote-shell", request->remote_shell,
                     "what reaches a host like 'ssh HOST COMMAND' does");
  command.add_flag("--installed", request->installed,
                   "use what is installed there at the same path, also where this program is a "
                   "package");
  command.add_option("--as-host", *as_host).hidden();  // one of them
  // What launchers compare between hosts.
  auto identity = std::make_shared<bool>(false);
  command.add_flag("--identity", *identity).hidden();
  command.footer(
      "Exit code with --hosts: 1 when something is wrong.\n\n"
      "Examples:\n"
      "  syrtos doctor\n"
      "  syrtos doctor --hosts hosts.txt");
  command.callback([as_json, identity, request, as_host, &run] {
    run = [as_json, identity, request, as_host](const Context& context) {
      if (!as_host->empty()) return be_examined(*as_host, context);
      request->json = *as_json;
      if (!request->hosts.empty()) return examine_hosts(*request, context);
      if (request->installed) {
        fail_request("--installed is for --hosts: name the hosts, or leave it out");
      }
      if (!*identity) return run_doctor(*as_json, context);
      fmt::print("{}\n", launch::identity_line(context.cpu.cores));
      return kExitDone;
    };
  });
}

}  // namespace syrtos::cli
