#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/evp.h>
#include <poll.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <memory>
#include <sstream>

#include "syrtos/base/clock.h"
#include "syrtos/base/error.h"
#include "syrtos/base/log.h"
#include "syrtos/base/secret.h"
#include "syrtos/launch/remote.h"

namespace syrtos::launch {

namespace {

constexpr auto kDeadline = std::chrono::seconds(20);
constexpr int kTick = 50;  // milliseconds
constexpr size_t kMostText = 16384;
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

std::string file_sha256(const std::string& path) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                        EVP_MD_CTX_free);
  if (EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) != 1) {
    fail_run("OpenSSL does not offer SHA-256 here");
  }
  std::ifstream in(path, std::ios::binary);
  if (!in) fail_run("{}: cannot be read", path);
  std::vector<char> block(1 << 20);
  while (in.read(block.data(), static_cast<std::streamsize>(block.size())) || in.gcount() > 0) {
    EVP_DigestUpdate(context.get(), block.data(), static_cast<size_t>(in.gcount()));
  }
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  EVP_DigestFinal_ex(context.get(), digest.data(), &length);
  return to_hexadecimal({digest.data(), length});
}

std::string short_form(const Identity& identity) {
  return fmt::format("{} ({:.12})", identity.version, identity.checksum);
}

struct Question {
  Process process;
  std::string output;
  std::string error;

  static void read(const Descriptor& from, std::string& text) {
    std::array<char, 4096> block;
    for (ssize_t count = 1; count > 0;) {
      count = ::read(from.get(), block.data(), block.size());
      if (count > 0 && text.size() < kMostText)
        text.append(block.data(), static_cast<size_t>(count));
    }
  }
  // Whether it has ended.
  bool step() {
    const bool ended = process.ended().has_value();
    read(process.output, output);
    read(process.error, error);
    return ended;
  }
};

// What is wrong with the host; empty: nothing.
std::string judge(Host& host, const RemoteShell& shell, const std::string& program,
                  Question& question, const Identity& own) {
  const std::optional<Ending> ending = question.process.ended();
  if (!ending) return fmt::format("host {} did not answer within 20 s; is it up?", host.name);
  if (!ending->good()) return explain_remote(shell, host, program, *ending, question.error);
  const Identity found = find_identity(question.output);
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

std::string identity_line(int cores) {
  return fmt::format("{} {} {} {}", kIdentity, SYRTOS_VERSION, file_sha256("/proc/self/exe"),
                     cores);
}

void check_hosts(std::vector<Host>& hosts, const RemoteShell& shell,
                 const std::vector<std::string>& identity_command,
                 const std::function<bool()>& should_stop) {
  std::vector<Question> questions;
  questions.reserve(hosts.size());
  for (const Host& host : hosts) {
    log_info("asking host {} ({}) for its program and cores", host.name, host.address);
    questions.push_back({Process(remote_command(shell, host, identity_command)), {}, {}});
    questions.back().process.input.close();
  }
  const Identity own = find_identity(identity_line(1));
  const Clock::time_point deadline = Clock::now() + kDeadline;
  for (size_t waiting = hosts.size(); waiting > 0 && Clock::now() < deadline;) {
    if (should_stop && should_stop()) fail_run("interrupted while asking the hosts");
    std::vector<pollfd> events;
    waiting = 0;
    for (Question& question : questions) {
      if (question.step()) continue;
      ++waiting;
      events.push_back({.fd = question.process.handle(), .events = POLLIN, .revents = 0});
    }
    if (waiting > 0) poll(events.data(), events.size(), kTick);
  }
  std::vector<std::string> problems;
  for (size_t i = 0; i < hosts.size(); ++i) {
    std::string problem = judge(hosts[i], shell, identity_command.front(), questions[i], own);
    if (!problem.empty()) problems.push_back(std::move(problem));
  }
  if (!problems.empty()) fail_request("{}", fmt::join(problems, "\n"));
}

}  // namespace syrtos::launch
