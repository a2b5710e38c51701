#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sstream>

#include "syrtos/base/checksum.h"
#include "syrtos/base/error.h"
#include "syrtos/base/log.h"
#include "syrtos/base/program_file.h"
#include "syrtos/launch/ask.h"
#include "syrtos/launch/bring.h"
#include "syrtos/launch/remote.h"

namespace syrtos::launch {

namespace {

constexpr const char* kIdentity = "syrtos-identity";

struct Identity {
  std::string word;
  std::string version;
  std::string checksum;
  int cores = 0;
};

// A login shell over there may print lines of its own before ours.
Identity find_identity(const std::string& text) {
  std::istringstream lines(text);
  Identity identity;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    if (line.starts_with(kIdentity)) {
      words >> identity.word >> identity.version >> identity.checksum >> identity.cores;
    }
  }
  return identity;
}

std::string short_form(const Identity& identity) {
  return fmt::format("{} ({:.12})", identity.version, identity.checksum);
}

// What is wrong with the host; empty: nothing.
std::string judge(Host& host, const RemoteShell& shell, const std::string& program,
                  const Answer& answer, const Identity& own) {
  if (!answer.ending)
    return fmt::format("host {} did not answer within 20 s; is it up?", host.name);
  if (!answer.ending->good()) {
    return explain_remote(shell, host, program, *answer.ending, answer.error);
  }
  const Identity found = find_identity(answer.output);
  if (found.cores < 1) {
    return fmt::format("host {}: {} did not say which version it is; install the same build there",
                       host.name, program);
  }
  if (found.version != own.version || found.checksum != own.checksum) {
    return fmt::format("host {} has another {}: expected version {}, found {}; copy this one there",
                       host.name, program, short_form(own), short_form(found));
  }
  host.cores = found.cores;
  return {};
}

}  // namespace

std::string program_identity() { return short_form(find_identity(identity_line(1))); }

std::string identity_line(int cores) {
  return fmt::format("{} {} {} {}", kIdentity, SYRTOS_VERSION,
                     file_checksum(Checksum::Kind::sha256, program_file()), cores);
}

void prepare_hosts(std::vector<Host>& hosts, const RemoteShell& shell, const HostProgram& program,
                   const std::function<bool()>& should_stop) {
  if (!program.package.empty()) {
    std::vector<std::string> problems = bring_package(hosts, shell, program.package, should_stop,
                                                      program.note, /*all_or_none=*/true);
    std::erase(problems, "");
    if (!problems.empty()) fail_request("{}", fmt::join(problems, "\n"));
  }
  check_hosts(hosts, shell, program.identity, should_stop, program.name);
}

void check_hosts(std::vector<Host>& hosts, const RemoteShell& shell,
                 const std::vector<std::string>& identity_command,
                 const std::function<bool()>& should_stop, const std::string& name) {
  std::vector<Asked> questions;
  for (const Host& host : hosts) {
    log_info("asking host {} ({}) for its program and cores", host.name, host.address);
    questions.push_back({remote_command(shell, host, identity_command)});
  }
  const Identity own = find_identity(identity_line(1));
  const std::vector<Answer> answers =
      ask_all(questions, {.should_stop = should_stop, .what = "asking the hosts"});
  std::vector<std::string> problems;
  for (size_t i = 0; i < hosts.size(); ++i) {
    const std::string& program = !name.empty()              ? name
                                 : hosts[i].program.empty() ? identity_command.front()
                                                            : hosts[i].program;
    std::string problem = judge(hosts[i], shell, program, answers[i], own);
    if (!problem.empty()) problems.push_back(std::move(problem));
  }
  if (!problems.empty()) fail_request("{}", fmt::join(problems, "\n"));
}

}  // namespace syrtos::launch
