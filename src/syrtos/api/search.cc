#include "syrtos/api/search.h"

#include <fmt/format.h>

#include <algorithm>

#include "syrtos/api/settle.h"
#include "syrtos/api/slot_processes.h"
#include "syrtos/api/slot_threads.h"
#include "syrtos/api/task.h"
#include "syrtos/base/counted.h"
#include "syrtos/base/error.h"
#include "syrtos/base/files.h"
#include "syrtos/base/host_name.h"
#include "syrtos/launch/ask.h"
#include "syrtos/run/text_file.h"
#include "syrtos/search/sampler.h"

namespace syrtos::api {

namespace {

/// The job of the first trial, by which the machines are measured; whatever is wrong with the job
/// itself is refused here, before anything is made.
job::Job first_job(const search::Plan& plan, const job::Own& own,
                   const Surroundings& surroundings) {
  const search::Sampler sampler(plan);
  const auto point = sampler.next(search::Ledger(true));
  SYRTOS_CHECK(point.has_value());
  const job::JobRequest request = plan.job_at(*point);
  job::Job job = job::resolve(request, surroundings.cpu, surroundings.cache_home, own);
  settle(request, surroundings, job);
  return job;
}

bool is_searched(const search::Plan& plan, std::string_view key) {
  const auto& all = plan.space.parameters;
  return std::any_of(all.begin(), all.end(),
                     [&](const search::Parameter& one) { return one.field->key == key; });
}

/// The plan of a new search, with what is left to the machine.
search::Plan settled(search::Plan plan, const job::Job& first) {
  // Chosen once: trials that chose for themselves, while others run, might not choose the same.
  if (plan.job.precision == "auto" && !is_searched(plan, "precision") &&
      !is_searched(plan, "network")) {
    plan.job.precision = to_string(first.precision.dtype);
  }
  if (plan.job.metric == "auto") plan.job.metric = first.early_stop.metric->name;
  return plan;
}

/// A file that nobody needs afterwards, however that comes.
class RemovedAtTheEnd {
 public:
  explicit RemovedAtTheEnd(std::filesystem::path file) : file_(std::move(file)) {}
  RemovedAtTheEnd(const RemovedAtTheEnd&) = delete;
  RemovedAtTheEnd& operator=(const RemovedAtTheEnd&) = delete;
  ~RemovedAtTheEnd() {
    std::error_code error;
    std::filesystem::remove(file_, error);
  }

 private:
  const std::filesystem::path file_;
};

/// Asks hosts what is fastest there.
std::vector<launch::Answer> ask_hosts(const std::vector<launch::Host>& hosts,
                                      const launch::RemoteShell& shell,
                                      const SlotPrograms& programs, const SearchRequest& request,
                                      const job::Job& job, const Surroundings& surroundings) {
  const std::filesystem::path task =
      part_of(std::filesystem::temp_directory_path() / "syrtos-measure");
  const RemovedAtTheEnd removed(task);
  run::write_text(task, to_task({.job = to_request(job), .own = request.own}) + "\n");
  std::vector<launch::Asked> asked;
  for (const launch::Host& host : hosts) {
    asked.push_back({.command = remote_command(shell, host, programs.measure), .input = task});
  }
  std::vector<launch::Answer> answers =
      launch::ask_all(asked, {.deadline = std::chrono::minutes(5),
                              .should_stop = surroundings.should_stop,
                              .what = "measuring how many trials the hosts run at once"});
  return answers;
}

/// Hosts that do not say how many slots they have are measured.
std::vector<SlotHost> slots_of(const std::vector<launch::Host>& hosts,
                               const launch::RemoteShell& shell, const SlotPrograms& programs,
                               const SearchRequest& request, const job::Job& job,
                               const Surroundings& surroundings) {
  const bool said = request.slots > 0;
  const bool open = std::any_of(hosts.begin(), hosts.end(),
                                [](const launch::Host& host) { return host.slots == 1; });
  std::vector<launch::Answer> answers(hosts.size());
  if (!said && open) answers = ask_hosts(hosts, shell, programs, request, job, surroundings);
  std::vector<SlotHost> result;
  for (size_t i = 0; i < hosts.size(); ++i) {
    const launch::Host& host = hosts[i];
    SlotWay way;
    if (said || host.slots > 1) {
      way = divide_cores(said ? request.slots : host.slots, 0, host.cores).best;
    } else if (answers[i].ending && answers[i].ending->good()) {
      const std::string& text = answers[i].output;
      way = parse_slot_choice(text.substr(std::min(text.size(), text.find('{')))).best;
    } else {
      fail_request("{}", answers[i].ending
                             ? explain_remote(shell, host, programs.measure.front(),
                                              *answers[i].ending, answers[i].error)
                             : fmt::format("host {} did not answer within 5 minutes", host.name));
    }
    result.push_back({host, way});
  }
  return result;
}

SlotChoice choose_here(const SearchRequest& request, const search::Plan& plan, const job::Job& job,
                       const Surroundings& surroundings) {
  const int cores = surroundings.cpu.cores;
  if (request.slots > 0) return divide_cores(request.slots, plan.job.threads, cores);
  if (plan.job.threads > 0) {
    return divide_cores(std::max(1, cores / static_cast<int>(plan.job.threads)), plan.job.threads,
                        cores);
  }
  return measure_slots(job, surroundings);
}

std::string to_string(const std::vector<SlotHost>& hosts) {
  int slots = 0;
  std::string text;
  for (const SlotHost& one : hosts) {
    slots += one.way.slots;
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", one.host.name, one.way.slots);
  }
  return fmt::format("{} at once on {} ({})", counted(slots, "trial"),
                     counted(static_cast<int64_t>(hosts.size()), "host"), text);
}

}  // namespace

Searched run_search(const SearchRequest& request, const std::optional<SlotPrograms>& programs,
                    const Surroundings& surroundings, search::Observer& observer,
                    const OnSearch& on_search) {
  if (request.slots < 0) fail_request("--slots: expected 1 or more, found {}", request.slots);
  std::optional<search::Directory> directory;
  search::Plan plan = request.plan;
  if (!request.resume.empty()) {
    directory = search::Directory::open_to_resume(request.resume, request.force);
    plan = directory->plan();
    if (request.change) request.change(plan.settings);
  }
  search::check(plan);
  const job::Job first = first_job(plan, request.own, surroundings);
  SlotProcessOptions options;
  SlotChoice here;
  std::string about;
  const bool remote = programs && !programs->hosts.empty();
  if (remote) {
    std::vector<launch::Host> hosts = launch::read_hosts(programs->hosts);
    options.remote = {.command = programs->remote_shell,
                      .directory = std::filesystem::current_path(),
                      .make_directory = !programs->program.package.empty()};
    launch::prepare_hosts(hosts, *options.remote, programs->program, surroundings.should_stop);
    options.hosts = slots_of(hosts, *options.remote, *programs, request, first, surroundings);
    about = to_string(options.hosts);
  } else {
    here = choose_here(request, plan, first, surroundings);
    options.hosts = {{launch::Host{.name = host_name()}, here.best}};
    about = to_string(here);
  }
  if (directory) {
    directory->change(plan.settings);
  } else {
    const std::filesystem::path named = plan.job.run;  // in the file of the search
    const std::filesystem::path& wanted = request.run.empty() ? named : request.run;
    directory = search::Directory::create(wanted, settled(std::move(plan), first));
  }
  Searched searched{.directory = directory->path()};
  for (const SlotHost& one : options.hosts) searched.slots += one.way.slots;
  std::unique_ptr<search::Slots> slots;
  if (programs) {
    options.command = programs->command;
    options.search = directory->path();
    options.token = directory->token();
    if (first.network.file() != nullptr) options.own.network = first.network;
    slots = std::make_unique<SlotProcesses>(std::move(options));
  } else {
    slots = std::make_unique<SlotThreads>(here.best, request.own, surroundings);
  }
  if (on_search) on_search(*directory, about);
  searched.outcome = conduct(*directory, *slots, observer, surroundings.should_stop);
  return searched;
}

}  // namespace syrtos::api
