#include "syrtos/launch/remote.h"

#include <fmt/format.h>

#include <sstream>

#include "syrtos/base/error.h"

namespace syrtos::launch {

namespace {

// Exit codes of our own script on the other side, and those of shells and ssh.
constexpr int kNoDirectory = 101;
constexpr int kNoProgram = 102;
constexpr int kSignalBase = 128;
constexpr int kLastSignal = kSignalBase + 64;

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

bool is_ssh(const RemoteShell& shell) {
  const std::vector<std::string> words = words_of(shell.command);
  return !words.empty() && std::filesystem::path(words.front()).filename() == "ssh";
}

std::string last_line(const std::string& text) {
  const size_t end = text.find_last_not_of("\r\n ");
  if (end == std::string::npos) return "it said nothing";
  const size_t begin = text.find_last_of("\r\n", end);
  return text.substr(begin == std::string::npos ? 0 : begin + 1, end - begin);
}

}  // namespace

std::string shell_word(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:,=+@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

std::vector<std::string> remote_script(const RemoteShell& shell, const Host& host,
                                       const std::string& script) {
  std::vector<std::string> words = words_of(shell.command);
  if (words.empty()) fail_request("expected a remote shell such as 'ssh', found nothing");
  if (is_ssh(shell)) {
    for (const char* option : {"-o", "BatchMode=yes", "-o", "ConnectTimeout=5", "-T"}) {
      words.emplace_back(option);
    }
    if (host.ssh_port != 0) words.insert(words.end(), {"-p", std::to_string(host.ssh_port)});
  }
  words.push_back(host.name);
  if (shell.takes_words) {
    words.insert(words.end(), {"sh", "-c", script});
  } else {
    // The login shell over there may be of any kind.
    words.push_back("sh -c " + shell_word(script));
  }
  return words;
}

std::vector<std::string> remote_command(const RemoteShell& shell, const Host& host,
                                        const std::vector<std::string>& command) {
  std::string script;
  if (!shell.directory.empty()) {
    const std::string directory = shell_word(shell.directory.string());
    if (shell.make_directory) script += fmt::format("mkdir -p {} 2>/dev/null; ", directory);
    script += fmt::format("cd {} 2>/dev/null || exit {}; ", directory, kNoDirectory);
  }
  std::vector<std::string> words = command;
  if (!host.program.empty()) words.front() = host.program;
  script += fmt::format("test -x {} || exit {};", shell_word(words.front()), kNoProgram);
  for (const std::string& word : words) script += " " + shell_word(word);
  // The shell waits, so that a signal is told as an exit code; ssh alone would not say which.
  return remote_script(shell, host, script + "; exit $?");
}

Ending remote_ending(const Ending& ending) {
  if (ending.signal != 0 || ending.code <= kSignalBase || ending.code > kLastSignal) return ending;
  return {.code = 0, .signal = ending.code - kSignalBase};
}

std::string explain_remote(const RemoteShell& shell, const Host& host, const std::string& program,
                           const Ending& ending, const std::string& said) {
  switch (ending.code) {
    case kRemoteShellFailed:
      return fmt::format(
          "host {} cannot be reached by '{}': {}; see that '{} {} true' works without "
          "a password",
          host.name, shell.command, last_line(said), shell.command, host.name);
    case kNoDirectory:
      return fmt::format(
          "host {} has no directory {}; make it there, with the data and the job file", host.name,
          shell.directory.string());
    case kNoProgram:
      return fmt::format("host {} has no program {}; install the same build there at the same path",
                         host.name, program);
    default:
      // ssh says by its exit code that it was ssh that failed; srun, qrsh and others do not.
      return fmt::format("host {}: {}{} {}: {}", host.name, program,
                         is_ssh(shell) ? "" : fmt::format(" (started by '{}')", shell.command),
                         remote_ending(ending).text(), last_line(said));
  }
}

}  // namespace syrtos::launch
