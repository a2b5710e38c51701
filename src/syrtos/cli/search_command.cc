#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "syrtos/api/resume.h"
#include "syrtos/api/search.h"
#include "syrtos/api/slot_program.h"
#include "syrtos/base/error.h"
#include "syrtos/base/files.h"
#include "syrtos/cli/command.h"
#include "syrtos/cli/interrupt.h"
#include "syrtos/cli/job_options.h"
#include "syrtos/cli/page.h"
#include "syrtos/cli/search_progress.h"
#include "syrtos/report/html_page.h"
#include "syrtos/report/search_report.h"

namespace syrtos::cli {

namespace {

using Setting = std::pair<search::SettingField, std::string>;

struct SearchOptions {
  std::string space;
  std::string resume;
  std::string show;
  bool force = false;
  std::vector<api::Change> fields;
  std::vector<Setting> settings;
  std::string run;
  int slots = 0;
  std::string hosts;
  bool installed = false;
  std::string remote_shell = "ssh";
  size_t top = 10;
  std::string html;
  std::string web;
  bool json = false;
};

void change(search::Settings& settings, const std::vector<Setting>& changes) {
  for (const auto& [field, text] : changes) search::set(settings, field, text);
}

api::SearchRequest request_of(const SearchOptions& options) {
  api::SearchRequest request;
  request.run = options.run;
  request.slots = options.slots;
  request.resume = options.resume;
  request.force = options.force;
  if (options.resume.empty()) {
    if (options.space.empty()) {
      fail_request(
          "expected a file that says what to search, found none: syrtos search space.toml "
          "(docs/search.md), or --resume DIR");
    }
    if (options.force) {
      fail_request("--force takes over a search that another process has: give --resume DIR too");
    }
    request.plan = search::read_plan(options.space);
    api::apply(options.fields, request.plan.job);
    change(request.plan.settings, options.settings);
    return request;
  }
  if (!options.space.empty() || !options.run.empty()) {
    fail_request("--resume goes on with the search of {}: leave {} out", options.resume,
                 options.space.empty() ? "--run" : options.space);
  }
  if (!options.fields.empty()) {
    fail_request("{} cannot change when a search goes on: trials would not be comparable",
                 options.fields.front().first->option);
  }
  for (const auto& [field, text] : options.settings) {
    if (field.may_change) continue;
    fail_request(
        "{} cannot change when a search goes on: only --trials, --total-epochs, --hours, "
        "--attempts, --slots and --hosts can",
        field.option);
  }
  request.change = [&options](search::Settings& settings) { change(settings, options.settings); };
  return request;
}

std::string go_on_text(const std::filesystem::path& directory, const SearchOptions& options) {
  return fmt::format("syrtos search --resume {}{}", directory.string(),
                     options.hosts.empty() ? "" : fmt::format(" --hosts {}", options.hosts));
}

void print_result(const std::filesystem::path& path, const SearchOptions& options) {
  const search::Directory directory = search::Directory::open(path);
  const nlohmann::json data = report::search_json(directory);
  if (!options.html.empty()) {
    AtomicFile page(options.html);
    page.write(report::html_page(data));
    page.commit();
  }
  if (options.json) {
    fmt::print("{}\n", data.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    return;
  }
  fmt::print("\n{}", report::search_text(directory, options.top));
  if (directory.ledger().best() != nullptr) {
    fmt::print("its job: syrtos train {}\n", directory.best_job().string());
  }
  if (!options.html.empty()) fmt::print("written: {}\n", options.html);
}

int run_search(const SearchOptions& options, const Context& context) {
  if (!options.show.empty()) {
    print_result(options.show, options);
    return kExitDone;
  }
  outlive_readers();
  refuse_started_ranks("a search", context);
  Page::check(options.web);
  const api::SearchRequest request = request_of(options);
  api::SlotPrograms programs{.command = own_command(context, {"slot"}),
                             .measure = own_command(context, {"slot", "--measure"}),
                             .program = host_program(context, options.installed),
                             .hosts = options.hosts,
                             .remote_shell = options.remote_shell};
  SearchProgress progress(options.json ? stderr : stdout);
  std::filesystem::path where;
  Page page(options.web);
  const auto on_search = [&](const search::Directory& directory, const std::string& slots) {
    where = directory.path();
    progress.begin(directory.plan());
    page.show(where);
    if (!options.json) progress.say(fmt::format("search: {}\nslots: {}", where.string(), slots));
  };
  try {
    const api::Searched searched =
        api::run_search(request, programs, surroundings(context), progress, on_search);
    progress.clear();
    print_result(searched.directory, options);
    using End = search::Outcome::End;
    if (searched.outcome.end == End::hopeless) {
      // Where some trials came to something, the job is not what is wrong.
      const bool may_go_on = search::Directory::open(searched.directory).ledger().best() != nullptr;
      fmt::print(stderr, "error: {}\nthe search has ended; {}\n", searched.outcome.message,
                 may_go_on
                     ? "see to that, then go on with:\n  " + go_on_text(searched.directory, options)
                     : "look at the job, then begin a new one");
      return kExitFailed;
    }
    if (searched.outcome.end == End::no_room) {
      fmt::print(stderr,
                 "error: {}\nall trials are saved as far as they could be; go on with:\n  {}\n",
                 searched.outcome.message, go_on_text(searched.directory, options));
      return kExitFailed;
    }
    if (searched.outcome.end == End::interrupted) {
      fmt::print(stderr, "interrupted: all trials are saved; go on with:\n  {}\n",
                 go_on_text(searched.directory, options));
      return kExitFailed;
    }
  } catch (const RunError&) {
    progress.clear();
    if (!where.empty()) {
      fmt::print(stderr, "the search can go on with:\n  {}\n", go_on_text(where, options));
    }
    throw;
  }
  return kExitDone;
}

}  // namespace

void add_search(Command app, Run& run) {
  auto options = std::make_shared<SearchOptions>();
  Command command = app.add_subcommand("search", "Train many variants and find the best");
  command
      .add_option("SPACE", options->space,
                  "job file with [space] (what is tried) and [search] (how); options override it")
      .type_name("");
  command.add_option("--resume", options->resume, "go on with this search").type_name("DIR");
  command.add_flag("--force", options->force,
                   "with --resume: take the search over from a process that has it, which stops");
  command.add_option("--show", options->show, "show what this search has found, and do nothing")
      .type_name("DIR");
  for (const search::SettingField& field : search::setting_fields()) {
    const std::string usual = text_of(search::Settings{}, field);
    command
        .add_option(
            std::string(field.option),
            [options, field](const std::string& text) {
              options->settings.emplace_back(field, text);
            },
            fmt::format("{}{}", field.help,
                        field.key == "trials" ? "" : fmt::format(" (default: {})", usual)))
        .type_name(std::holds_alternative<std::string search::Settings::*>(field.member) ? "TEXT"
                                                                                         : "NUMBER")
        .group("Search");
  }
  command.add_option("--slots", options->slots,
                     "trials at once on each host (default: what is fastest there, measured)");
  command
      .add_option("--hosts", options->hosts,
                  "hosts that trials run on: a,b:2,c or a file, NAME [slots=N] [address=A]")
      .type_name("HOSTS");
  command.add_flag("--installed", options->installed,
                   "with --hosts: use what is installed there at the same path");
  command.add_option("--remote-shell", options->remote_shell,
                     "what reaches a host like 'ssh HOST COMMAND' does");
  const auto take = [options](const job::JobField& field, const std::string& text) {
    options->fields.emplace_back(&field, text);
  };
  for (const job::JobField& field : job::job_fields()) {
    if (field.key != "run") add_job_option(command, field, take);  // each trial has its own
  }
  command.add_option("--run", options->run, "directory of the search (default: runs/search-...)")
      .type_name("DIR");
  command.add_option("--top", options->top, "trials in the table at the end; 0: all")
      .show_default();
  command.add_option("--html", options->html, "also write a page with charts, in one file")
      .type_name("FILE");
  command.add_option("--web", options->web, "show how it goes on a page, at this port or any")
      .values(0, 1)
      .alone_means("0")
      .type_name("[PORT]");
  command.add_flag("--json", options->json, "print the result as JSON");
  command.footer(
      "Examples:\n"
      "  syrtos search examples/search-lenet5.toml\n"
      "  syrtos search space.toml --trials 64 --halving 3 --epochs 9\n"
      "  syrtos search space.toml --sampler grid --hosts a,b,c\n"
      "  syrtos search --resume runs/search-lenet5-20260101-120000 --trials 100\n"
      "  syrtos train runs/search-lenet5-20260101-120000/best.toml --epochs 30");
  command.callback([options, &run] {
    run = [options](const Context& context) { return run_search(*options, context); };
  });
}

void add_slot(Command app, Run& run) {
  auto measure = std::make_shared<bool>(false);
  Command command = app.add_subcommand("slot", "");
  command.hidden();
  command.add_flag("--measure", *measure);
  command.callback([measure, &run] {
    run = [measure](const Context& context) {
      outlive_readers();
      if (*measure) {
        fmt::print("{}\n", api::measure_slots_here(surroundings(context)));
      } else {
        api::serve_slot(surroundings(context), end_process);
      }
      return kExitDone;
    };
  });
}

}  // namespace syrtos::cli
