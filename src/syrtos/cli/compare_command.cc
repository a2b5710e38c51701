#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "syrtos/base/error.h"
#include "syrtos/base/files.h"
#include "syrtos/cli/command.h"
#include "syrtos/compare/adapters.h"
#include "syrtos/compare/comparison.h"
#include "syrtos/compare/environments.h"
#include "syrtos/compare/page.h"

namespace syrtos::cli {

namespace {

using nlohmann::json;

struct CompareOptions {
  compare::ComparisonRequest request;
  std::string html;
  bool json = false;
};

int run_compare(CompareOptions options, const Context& context) {
  options.request.home = compare::compare_home(context.environment.cache_home);
  options.request.should_stop = context.interrupted;
  options.request.say = [](const std::string& text) { fmt::print(stderr, "{}\n", text); };
  options.request.timing.program = own_command(context, {}).front();
  const compare::Comparison done = compare::compare(options.request);
  if (!options.html.empty()) {
    AtomicFile page(options.html);
    page.write(compare::comparison_page(done));
    page.commit();
  }
  if (options.json) {
    fmt::print("{}\n", compare::to_json(done).dump());
  } else {
    fmt::print("{}", compare::comparison_text(done));
    if (!options.html.empty()) fmt::print("written: {}\n", options.html);
  }
  return done.holds() ? kExitDone : kExitFailed;
}

struct SetupOptions {
  std::vector<std::string> peers;
  std::string python;
  double limit = 3600;
  bool list = false;
  bool again = false;
  bool json = false;
};

int list_peers(const std::filesystem::path& home, bool as_json) {
  json all = json::array();
  for (const compare::EnvironmentRecipe& recipe : compare::recipes()) {
    const bool there = compare::installed(recipe, home);
    std::vector<std::string> pinned = recipe.packages;
    pinned.insert(pinned.end(), recipe.built.begin(), recipe.built.end());
    all.push_back({{"name", recipe.name}, {"installed", there}, {"pinned", pinned}});
    if (!as_json) {
      fmt::print("{:<12} {:<14} {:>7}  {}\n", recipe.name, there ? "installed" : "not installed",
                 recipe.size, fmt::join(pinned, " "));
    }
  }
  if (as_json) fmt::print("{}\n", all.dump());
  return kExitDone;
}

int run_setup(const SetupOptions& options, const Context& context) {
  const std::filesystem::path home = compare::compare_home(context.environment.cache_home);
  if (options.peers.empty()) return list_peers(home, options.json);
  for (const std::string& peer : options.peers) compare::recipe(peer);  // mistakes first
  json all = json::array();
  for (const std::string& peer : options.peers) {
    const compare::EnvironmentRecipe& recipe = compare::recipe(peer);
    if (!options.again && compare::installed(recipe, home)) {
      fmt::print(stderr, "{}: is there already ({}); --again makes it anew\n", peer,
                 (home / peer).string());
      all.push_back({{"name", peer}, {"directory", (home / peer).string()}});
      continue;
    }
    const std::vector<std::string> packages = compare::set_up(
        recipe, home,
        {.python = options.python,
         .seconds = options.limit,
         .should_stop = context.interrupted,
         .say = [&](const std::string& what) { fmt::print(stderr, "{}: {}\n", peer, what); }});
    all.push_back({{"name", peer}, {"directory", (home / peer).string()}, {"packages", packages}});
    if (!options.json) fmt::print("{}: {}\n", peer, fmt::join(packages, " "));
  }
  if (options.json) fmt::print("{}\n", all.dump());
  return kExitDone;
}

void add_setup(Command compare, Run& run) {
  auto options = std::make_shared<SetupOptions>();
  Command command =
      compare.add_subcommand("setup", "Make the environments of other frameworks, or list them");
  command.add_option("PEER", options->peers, "pytorch, tensorflow, mxnet, horovod or numpy")
      .type_name("");
  command
      .add_option("--python", options->python, "the interpreter to make it with (default: found)")
      .type_name("FILE");
  command.add_option("--limit", options->limit, "seconds that a command of it may take")
      .show_default();
  command.add_flag("--again", options->again, "make it anew where it is there already");
  command.add_flag("--json", options->json, "print as JSON");
  command.footer(
      "Versions are pinned; everything goes below the cache directory ($XDG_CACHE_HOME or "
      "~/.cache),\n"
      "nothing into your own Python.\n\n"
      "Examples:\n"
      "  syrtos compare setup                       # what there is\n"
      "  syrtos compare setup pytorch tensorflow");
  command.callback([options, &run] {
    run = [options](const Context& context) { return run_setup(*options, context); };
  });
}

void add_adapter(Command compare, Run& run) {
  auto name = std::make_shared<std::string>();
  Command command = compare.add_subcommand(
      "adapter", "Print an adapter, to begin one of your own with; 'protocol': what they share");
  command.add_option("NAME", *name, "pytorch, tensorflow, mxnet, horovod, numpy or protocol")
      .required()
      .type_name("");
  command.footer("Example:\n  syrtos compare adapter numpy > mine.py");
  command.callback([name, &run] {
    run = [name](const Context&) {
      const std::string_view text =
          *name == "protocol" ? compare::protocol_text() : compare::adapter_text(*name);
      fmt::print("{}", text);
      return kExitDone;
    };
  });
}

}  // namespace

void add_compare(Command app, Run& run) {
  auto options = std::make_shared<CompareOptions>();
  compare::ComparisonRequest& request = options->request;
  Command command = app.add_subcommand(
      "compare", "Prove that networks are the same in other frameworks, and say why one is faster");
  command.require_subcommand(0, 1);
  command.add_option("--network", request.networks, "networks, with commas; all: the whole zoo")
      .delimiter(',')
      .type_name("NAMES");
  command
      .add_option("--with", request.peers,
                  "pytorch, tensorflow, mxnet, horovod, numpy, an adapter of your own (FILE.py); "
                  "@PYTHON names the interpreter")
      .delimiter(',')
      .type_name("PEERS");
  command.add_option("--input", request.input, "image size, 32, 48x64 or 3x48x64");
  command.add_option("--classes", request.classes, "number of classes").show_default().positive();
  command.add_option("--batch", request.batch, "samples that are compared")
      .show_default()
      .positive();
  command
      .add_option("--phases", request.phases,
                  "0: is it equal; 1: training together; 2: one worker alone; 3: operators")
      .delimiter(',')
      .show_default();
  command.add_option("--threads", request.threads, "for each side (default: all cores)");
  command.add_option("--steps", request.steps, "compare weights after so many steps")
      .delimiter(',')
      .show_default();
  command.add_option("--patience", request.patience_s, "seconds that a peer may take for an answer")
      .show_default();
  compare::TimingRequest& timing = request.timing;
  const char* timed = "Phases 1 to 3";
  command.add_option("--hosts", request.hosts, "a file with a host per line, a worker on each")
      .type_name("FILE")
      .group(timed);
  command.add_option("--remote-shell", timing.remote_shell, "what reaches them")
      .show_default()
      .group(timed);
  command.add_option("--workers", timing.workers, "without --hosts: processes of this machine")
      .show_default()
      .positive()
      .group(timed);
  command.add_option("--modes", timing.modes, "sync, async or both")
      .delimiter(',')
      .show_default()
      .group(timed);
  command.add_option("--worker-batch", timing.batch, "samples of each worker's step")
      .show_default()
      .positive()
      .group(timed);
  command.add_option("--repeat", timing.repetitions, "how often everybody is measured, in turn")
      .show_default()
      .positive()
      .group(timed);
  command.add_option("--timed-steps", timing.steps, "steps of one measurement together")
      .show_default()
      .positive()
      .group(timed);
  command.add_option("--seconds", timing.seconds, "of one measurement alone")
      .show_default()
      .group(timed);
  command.add_option("--html", options->html, "also write a page, in one file").type_name("FILE");
  command.add_option("--dir", request.directory, "logs and arrays (default: runs/compare)")
      .type_name("DIR");
  command.add_flag("--json", options->json, "print as JSON");
  command.footer(
      "Each network is built in each framework from the same description; shapes, values, loss, "
      "every\n"
      "gradient and the weights after some steps are compared in f32 and, where the framework can, "
      "in\n"
      "double precision. Where something differs, the layer that differs first is named, and how.\n"
      "Phases 1 to 3 measure everybody in turn; cells that are in DIR already are not measured "
      "again.\n"
      "Exit code 1: something differs, or a peer failed.\n\n"
      "Examples:\n"
      "  syrtos compare setup pytorch\n"
      "  syrtos compare --network lenet5,resnet18 --with pytorch,tensorflow --input 32\n"
      "  syrtos compare --network resnet18 --with pytorch --phases 1,2,3 --hosts hosts.txt --html "
      "why.html\n"
      "  syrtos compare --network mlp --with ./mine.py@/opt/mine/bin/python");
  add_setup(command, run);
  add_adapter(command, run);
  command.callback([options, command, &run] {
    if (command.has_chosen_subcommand()) return;
    run = [options](const Context& context) { return run_compare(*options, context); };
  });
}

}  // namespace syrtos::cli
