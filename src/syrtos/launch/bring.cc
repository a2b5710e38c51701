#include "syrtos/launch/bring.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sstream>

#include "syrtos/base/checksum.h"
#include "syrtos/base/clock.h"
#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/base/log.h"
#include "syrtos/launch/ask.h"

namespace syrtos::launch {

namespace {

constexpr size_t kCopiesAtOnce = 8;
constexpr auto kCopyTime = std::chrono::seconds(60);
constexpr uint64_t kSlowest = 1 << 20;               // bytes per second, of all copies
constexpr uint64_t kUnpacked = uint64_t{200} << 20;  // bytes that the package makes of itself
constexpr int kNotWritten = 103;                     // exit codes of the script that copies
constexpr int kNotTheSame = 104;
constexpr const char* kPlaceLine = "syrtos-place ";

/// What one host said of itself.
struct Place {
  std::string kernel;
  std::string machine;
  std::string state;     ///< "have", "missing", or "foreign": the place is not the user's own
  int64_t free_kb = -1;  ///< -1: not known
  std::string path;
};

struct Package {
  std::filesystem::path file;
  uint64_t bytes = 0;
  std::string checksum;

  std::string name() const { return checksum.substr(0, 32); }
};

/// Where it is, or is to be: the first line that every shell can say.
std::string question(const Package& package) {
  return fmt::format(
      "b=${{XDG_CACHE_HOME:-${{HOME:-/nonexistent}}/.cache}}/syrtos/packages; "
      "mkdir -p \"$b\" 2>/dev/null && test -w \"$b\" || "
      "{{ b=${{TMPDIR:-/tmp}}/syrtos-packages-$(id -u); mkdir -p -m 700 \"$b\"; }}; "
      // In a directory that all may write to, somebody else may have been there before.
      "test ! -L \"$b\" && test -O \"$b\" && "
      "case $(ls -ld \"$b\") in d????[!w]??[!w]*) true;; *) false;; esac || "
      "{{ echo {3}$(uname -s) $(uname -m) foreign -1 \"$b\"; exit 0; }}; "
      "p=$b/{0}/syrtos; s=missing; "
      "for q in {1} \"$p\"; do "
      "if test $s = missing && test -x \"$q\" && test \"$(wc -c < \"$q\")\" -eq {2}; "
      "then s=have; p=$q; fi; done; "
      "test ! -d \"$b/{0}\" || touch \"$b/{0}\"; "
      "f=$(df -Pk \"$b\" | awk 'NR > 1 {{print $4}}'); "
      "echo {3}$(uname -s) $(uname -m) $s ${{f:--1}} \"$p\"",
      package.name(), shell_word(package.file.string()), package.bytes, kPlaceLine);
}

std::string copying(const Package& package, const std::string& path) {
  const std::filesystem::path directory = std::filesystem::path(path).parent_path();
  return fmt::format(
      "umask 022; mkdir -p {0} || exit {1}; t={0}/.coming-$$; trap 'rm -f \"$t\"' EXIT; "
      "cat > \"$t\" || exit {1}; "
      "test \"$(wc -c < \"$t\")\" -eq {2} || exit {3}; "
      "if command -v sha256sum > /dev/null; "
      "then test \"$(sha256sum < \"$t\" | cut -c1-64)\" = {4} || exit {3}; fi; "
      "chmod 755 \"$t\" && mv \"$t\" {5} || exit {1}; "
      "cd {6} && ls -t | tail -n +4 | while read -r o; do rm -rf \"./$o\"; done",
      shell_word(directory.string()), kNotWritten, package.bytes, kNotTheSame, package.checksum,
      shell_word(path), shell_word(directory.parent_path().string()));
}

Place find_place(const std::string& text) {
  std::istringstream lines(text);
  Place place;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(kPlaceLine)) continue;  // a login shell may say things of its own
    std::istringstream words(line.substr(std::string(kPlaceLine).size()));
    words >> place.kernel >> place.machine >> place.state >> place.free_kb >> std::ws;
    std::getline(words, place.path);
  }
  return place;
}

/// Why the package cannot be there; empty: it can.
std::string problem_of(const Host& host, const RemoteShell& shell, const Answer& answer,
                       const Package& package, const Place& place) {
  if (!answer.ending)
    return fmt::format("host {} did not answer within 20 s; is it up?", host.name);
  if (!answer.ending->good()) {
    return explain_remote(shell, host, package.file.string(), *answer.ending, answer.error);
  }
  if (place.path.empty()) {
    return fmt::format("host {} did not say what it has: is its login shell one that knows sh?",
                       host.name);
  }
  if (place.kernel != "Linux" || place.machine != "x86_64") {
    return fmt::format(
        "host {} is {} on {}: expected Linux on x86_64, which this program is made for; leave the "
        "host out",
        host.name, place.kernel, place.machine);
  }
  if (place.state == "foreign") {
    return fmt::format(
        "host {}: {} belongs to somebody else or others may write to it: expected a directory of "
        "one's own for the program; set XDG_CACHE_HOME there to one",
        host.name, place.path);
  }
  const uint64_t needed = package.bytes + kUnpacked;
  if (place.state != "have" && place.free_kb >= 0 &&
      static_cast<uint64_t>(place.free_kb) * 1024 < needed) {
    return fmt::format("host {} has {} free in {}: expected {} for the program; make room there",
                       host.name, format_bytes(static_cast<double>(place.free_kb) * 1024),
                       std::filesystem::path(place.path).parent_path().parent_path().string(),
                       format_bytes(static_cast<double>(needed)));
  }
  return {};
}

std::string copy_problem(const Host& host, const RemoteShell& shell, const Package& package,
                         const Answer& answer) {
  if (!answer.ending) return fmt::format("host {}: copying the program took too long", host.name);
  if (answer.ending->good()) return {};
  if (answer.ending->code == kNotTheSame) {
    return fmt::format("host {}: the program did not arrive as it was sent; is the disk full?",
                       host.name);
  }
  if (answer.ending->code == kNotWritten) {
    return fmt::format("host {}: the program cannot be written there: {}", host.name,
                       answer.error.substr(0, answer.error.find_last_not_of('\n') + 1));
  }
  return explain_remote(shell, host, package.file.string(), *answer.ending, answer.error);
}

/// To these of the hosts; what stood against it is added to the problems.
void copy(const std::vector<Host>& hosts, const std::vector<size_t>& missing,
          const RemoteShell& shell, const Package& package, AskOptions options,
          const std::function<void(const std::string&)>& note, std::vector<std::string>& problems) {
  const Clock::time_point begun = Clock::now();
  std::vector<Asked> copies;
  for (const size_t i : missing) {
    const std::string script = copying(package, hosts[i].program);
    copies.push_back({remote_script(shell, hosts[i], script), package.file});
  }
  // Copies that run side by side may share one link.
  options.deadline = kCopyTime + std::chrono::seconds(package.bytes * copies.size() / kSlowest);
  options.at_once = kCopiesAtOnce;
  options.what = "copying the program";
  const std::vector<Answer> answers = ask_all(copies, options);
  std::vector<std::string> names;
  for (size_t i = 0; i < missing.size(); ++i) {
    const Host& host = hosts[missing[i]];
    problems[missing[i]] = copy_problem(host, shell, package, answers[i]);
    if (problems[missing[i]].empty()) names.push_back(host.name);
  }
  if (!note || names.empty()) return;
  note(fmt::format("copied the program to {} ({} each) in {}", fmt::join(names, ", "),
                   format_bytes(static_cast<double>(package.bytes)),
                   format_duration(seconds_since(begun))));
}

}  // namespace

std::vector<std::string> bring_package(std::vector<Host>& hosts, const RemoteShell& shell,
                                       const std::filesystem::path& file,
                                       const std::function<bool()>& should_stop,
                                       const std::function<void(const std::string&)>& note,
                                       bool all_or_none) {
  const Package package{file, std::filesystem::file_size(file),
                        file_checksum(Checksum::Kind::sha256, file)};
  std::vector<Asked> questions;
  for (const Host& host : hosts) {
    log_info("asking host {} ({}) whether it has the package {}", host.name, host.address,
             package.name());
    questions.push_back({remote_script(shell, host, question(package))});
  }
  AskOptions options{.should_stop = should_stop, .what = "asking the hosts"};
  const std::vector<Answer> answers = ask_all(questions, options);
  std::vector<std::string> problems;
  std::vector<size_t> missing;
  bool some_problem = false;
  for (size_t i = 0; i < hosts.size(); ++i) {
    const Place place = find_place(answers[i].output);
    hosts[i].program = place.path;
    problems.push_back(problem_of(hosts[i], shell, answers[i], package, place));
    some_problem = some_problem || !problems[i].empty();
    if (problems[i].empty() && place.state != "have") missing.push_back(i);
  }
  if (missing.empty() || (some_problem && all_or_none)) return problems;
  copy(hosts, missing, shell, package, options, note, problems);
  return problems;
}

}  // namespace syrtos::launch
