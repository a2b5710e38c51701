#include "syrtos/launch/allocation.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>

#include "syrtos/base/error.h"
#include "syrtos/world/socket.h"

namespace syrtos::launch {

namespace {

std::string get(const Variables& variables, const std::string& name) {
  const auto found = variables.find(name);
  return found == variables.end() ? "" : found->second;
}

int number(const std::string& name, const std::string& text, int least = 0) {
  int value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || rest != text.data() + text.size() || value < least) {
    fail_request("{}: expected a number of at least {}, found '{}'", name, least, text);
  }
  return value;
}

/// "2(x3),1" as 2, 2, 2, 1.
std::vector<int> expand_counts(const std::string& name, const std::string& text) {
  std::vector<int> counts;
  std::istringstream items(text);
  for (std::string item; std::getline(items, item, ',');) {
    const size_t times = item.find("(x");
    const int count = number(name, item.substr(0, times));
    const int repeats = times == std::string::npos
                            ? 1
                            : number(name, item.substr(times + 2, item.find(')') - times - 2));
    counts.insert(counts.end(), static_cast<size_t>(repeats), count);
  }
  return counts;
}

Host host_of(const std::string& scheduler, const std::string& name, int slots) {
  Host host{.name = name, .slots = std::max(slots, 1), .address = world::find_address(name)};
  if (host.address.empty()) {
    fail_request("{} gave host '{}', whose name has no address here: see /etc/hosts or the DNS",
                 scheduler, name);
  }
  return host;
}

void add(Allocation& allocation, const std::string& name, int slots) {
  for (Host& host : allocation.hosts) {
    if (host.name != name) continue;
    host.slots += slots;
    return;
  }
  allocation.hosts.push_back(host_of(allocation.scheduler, name, slots));
}

std::ifstream open_list(const std::string& name, const std::string& file) {
  std::ifstream in(file);
  if (!in)
    fail_request("{}={}: expected the job's list of hosts, found no file to read", name, file);
  return in;
}

/// A step that srun has started has hosts of its own among those of the job. salloc's shell and
/// sbatch's script see the job's; their step, where they have one, has one task without a number.
bool is_in_step(const Variables& variables) {
  return !get(variables, "SLURM_STEP_NODELIST").empty() &&
         !get(variables, "SLURM_PROCID").empty() && !get(variables, "SLURM_STEP_NUM_TASKS").empty();
}

Allocation slurm(const Variables& variables) {
  Allocation allocation{.scheduler = "Slurm", .job = get(variables, "SLURM_JOB_ID")};
  const bool in_step = is_in_step(variables);
  const char* counted = in_step ? "SLURM_STEP_TASKS_PER_NODE" : "SLURM_TASKS_PER_NODE";
  const std::vector<std::string> names =
      expand_nodes(get(variables, in_step ? "SLURM_STEP_NODELIST" : "SLURM_JOB_NODELIST"));
  const std::string tasks = get(variables, counted);
  std::vector<int> counts = expand_counts(counted, tasks);
  if (counts.empty()) counts.assign(names.size(), 1);
  if (counts.size() != names.size()) {
    fail_request("{}={}: expected {} hosts, found {}", counted, tasks, names.size(), counts.size());
  }
  for (size_t i = 0; i < names.size(); ++i) add(allocation, names[i], counts[i]);
  allocation.shell = {.command = "srun --overlap --nodes=1 --ntasks=1 --mem=0 --quiet --nodelist",
                      .takes_words = true};
  return allocation;
}

Allocation grid_engine(const Variables& variables) {
  Allocation allocation{.scheduler = "Grid Engine", .job = get(variables, "JOB_ID")};
  std::ifstream in = open_list("PE_HOSTFILE", get(variables, "PE_HOSTFILE"));
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string name;
    int slots = 0;
    if (words >> name >> slots) add(allocation, name, slots);
  }
  allocation.shell = {.command = "qrsh -inherit"};
  return allocation;
}

Allocation pbs(const Variables& variables) {
  Allocation allocation{.scheduler = "PBS", .job = get(variables, "PBS_JOBID")};
  std::ifstream in = open_list("PBS_NODEFILE", get(variables, "PBS_NODEFILE"));
  for (std::string name; in >> name;) add(allocation, name, 1);
  return allocation;
}

Allocation lsf(const Variables& variables) {
  Allocation allocation{.scheduler = "LSF", .job = get(variables, "LSB_JOBID")};
  std::istringstream words(get(variables, "LSB_MCPU_HOSTS"));
  std::string name;
  int slots = 0;
  while (words >> name >> slots) add(allocation, name, slots);
  allocation.shell = {.command = "blaunch"};
  return allocation;
}

constexpr int kPortsEnd = 65535;

/// Of a number of any length.
int last_digits(const std::string& job) {
  constexpr size_t kMost = 8;
  return number("the number of the job", job.substr(job.size() - std::min(job.size(), kMost)));
}

int port_of(const Variables& variables, const std::string& job) {
  if (const std::string text = get(variables, "MASTER_PORT"); !text.empty()) {
    const int port = number("MASTER_PORT", text, 1);
    if (port >= kPortsEnd) fail_request("MASTER_PORT: expected 1 to 65534, found {}", port);
    return port;
  }
  // Jobs that run beside each other have neighbouring numbers.
  constexpr int kFirst = 20000;
  constexpr int kPorts = 10000;
  return kFirst + (job.empty() ? 0 : last_digits(job) % kPorts);
}

StartedRank by_srun(const Variables& variables) {
  StartedRank started{.by = "srun"};
  started.rank = number("SLURM_PROCID", get(variables, "SLURM_PROCID"));
  started.ranks = number("SLURM_STEP_NUM_TASKS", get(variables, "SLURM_STEP_NUM_TASKS"));
  const std::vector<std::string> nodes = expand_nodes(get(variables, "SLURM_STEP_NODELIST"));
  if (nodes.empty())
    fail_request("SLURM_STEP_NODELIST: expected the hosts of the step, found none");
  started.leader = nodes.front();
  const std::string tasks = get(variables, "SLURM_STEP_TASKS_PER_NODE");
  const std::string node = get(variables, "SLURM_NODEID");
  const std::vector<int> counts = expand_counts("SLURM_STEP_TASKS_PER_NODE", tasks);
  const size_t at = node.empty() ? 0 : static_cast<size_t>(number("SLURM_NODEID", node));
  if (at < counts.size()) {
    started.here = counts[at];
    started.on_one_host = started.here == started.ranks;
  }
  if (const std::string cores = get(variables, "SLURM_CPUS_PER_TASK"); !cores.empty()) {
    started.cores = number("SLURM_CPUS_PER_TASK", cores);
  }
  const std::string job = get(variables, "SLURM_JOB_ID");
  started.port = port_of(variables, job);
  started.token = "slurm-" + job + "-" + get(variables, "SLURM_STEP_ID");
  return started;
}

StartedRank by_variables(const Variables& variables) {
  const std::string rank = get(variables, "RANK");
  const char* name = rank.empty() ? "JOB_COMPLETION_INDEX" : "RANK";
  StartedRank started{.by = rank.empty() ? "Kubernetes" : "torchrun or alike"};
  started.rank = number(name, get(variables, name));
  started.ranks = number("WORLD_SIZE", get(variables, "WORLD_SIZE"));
  started.leader = get(variables, "MASTER_ADDR");
  if (started.leader.empty() && started.ranks > 1) {
    fail_request("{}={}: expected MASTER_ADDR too, the host of rank 0", name, started.rank);
  }
  if (const std::string here = get(variables, "LOCAL_WORLD_SIZE"); !here.empty()) {
    started.here = number("LOCAL_WORLD_SIZE", here, 1);
    started.on_one_host = started.here == started.ranks;
  }
  started.port = port_of(variables, "");
  // torchrun itself listens at MASTER_PORT.
  if (!get(variables, "TORCHELASTIC_RUN_ID").empty()) ++started.port;
  started.token = fmt::format("{}:{}", started.leader, started.port);
  return started;
}

}  // namespace

std::optional<StartedRank> find_mpirun_rank(const Variables& variables) {
  const bool is_open = !get(variables, "OMPI_COMM_WORLD_SIZE").empty();
  const char* rank = is_open ? "OMPI_COMM_WORLD_RANK" : "PMI_RANK";
  const char* size = is_open ? "OMPI_COMM_WORLD_SIZE" : "PMI_SIZE";
  const char* local = is_open ? "OMPI_COMM_WORLD_LOCAL_SIZE" : "MPI_LOCALNRANKS";
  if (get(variables, size).empty()) return std::nullopt;
  StartedRank started{.by = "mpirun"};
  started.rank = number(rank, get(variables, rank));
  started.ranks = number(size, get(variables, size), 1);
  started.here = started.ranks;
  if (const std::string here = get(variables, local); !here.empty()) {
    started.here = number(local, here, 1);
    started.on_one_host = started.here == started.ranks;
  }
  started.leader = get(variables, "MASTER_ADDR");
  if (started.leader.empty() && started.here < started.ranks) {
    fail_request(
        "mpirun has started {} ranks, {} of them here: expected MASTER_ADDR, the host of rank 0, "
        "found none: mpirun -x MASTER_ADDR=HOST ...",
        started.ranks, started.here);
  }
  if (started.leader.empty()) started.leader = "localhost";
  const std::string job = get(variables, "OMPI_MCA_ess_base_jobid");
  started.port = port_of(variables, job);
  started.token = fmt::format("mpirun-{}-{}:{}", job, started.leader, started.port);
  if (const std::string token = get(variables, "SYRTOS_TOKEN"); !token.empty()) {
    started.token = token;
    started.secret = true;
  }
  if (started.ranks < 2) return std::nullopt;
  return started;
}

std::string StartedRank::note() const {
  if (secret || on_one_host) return "";
  return fmt::format(
      "these ranks have no secret: whoever can reach port {} of {} and knows the job's number or "
      "names can join, and read what crosses; give all of them the same SYRTOS_TOKEN",
      port, leader);
}

std::vector<std::string> expand_nodes(const std::string& text) {
  std::vector<std::string> names;
  std::string prefix;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == ',') {
      if (!prefix.empty()) names.push_back(prefix);
      prefix.clear();
    } else if (text[at] != '[') {
      prefix += text[at];
    } else {
      const size_t end = text.find(']', at);
      if (end == std::string::npos) {
        fail_request("expected hosts as Slurm writes them, n[1-3,5], found '{}'", text);
      }
      std::istringstream ranges(text.substr(at + 1, end - at - 1));
      const size_t next = std::min(text.find(',', end), text.size());
      const std::string suffix = text.substr(end + 1, next - end - 1);
      for (std::string range; std::getline(ranges, range, ',');) {
        const std::string first = range.substr(0, range.find('-'));
        const std::string last =
            range.find('-') == std::string::npos ? first : range.substr(range.find('-') + 1);
        for (int i = number("hosts", first); i <= number("hosts", last); ++i) {
          names.push_back(fmt::format("{}{:0{}}{}", prefix, i, first.size(), suffix));
        }
      }
      prefix.clear();
      at = next;
    }
  }
  if (!prefix.empty()) names.push_back(prefix);
  return names;
}

std::optional<Allocation> find_allocation(const Variables& variables) {
  std::optional<Allocation> found;
  if (!get(variables, "SLURM_JOB_NODELIST").empty()) {
    found = slurm(variables);
  } else if (!get(variables, "PE_HOSTFILE").empty()) {
    found = grid_engine(variables);
  } else if (!get(variables, "PBS_NODEFILE").empty()) {
    found = pbs(variables);
  } else if (!get(variables, "LSB_MCPU_HOSTS").empty()) {
    found = lsf(variables);
  }
  if (found && found->hosts.size() == 1 && found->hosts.front().slots == 1) return std::nullopt;
  return found;
}

std::optional<StartedRank> find_started_rank(const Variables& variables) {
  StartedRank started;
  if (!get(variables, "SLURM_STEP_NUM_TASKS").empty() && !get(variables, "SLURM_PROCID").empty()) {
    started = by_srun(variables);
  } else if (!get(variables, "WORLD_SIZE").empty() &&
             !(get(variables, "RANK").empty() && get(variables, "JOB_COMPLETION_INDEX").empty())) {
    started = by_variables(variables);
  } else {
    return std::nullopt;
  }
  if (started.rank >= started.ranks) {
    fail_request("{}: expected a rank below {}, found {}", started.by, started.ranks, started.rank);
  }
  if (const std::string token = get(variables, "SYRTOS_TOKEN"); !token.empty()) {
    started.token = token;
    started.secret = true;
  }
  if (started.ranks < 2) return std::nullopt;
  return started;
}

}  // namespace syrtos::launch
