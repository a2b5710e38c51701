#include "syrtos/launch/leftovers.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "syrtos/base/files.h"
#include "syrtos/launch/invitation.h"

namespace syrtos::launch {

namespace {

namespace fs = std::filesystem;

std::vector<std::string> words_of(const std::string& command_line) {
  std::vector<std::string> words;
  for (size_t at = 0; at < command_line.size();) {
    const size_t end = std::min(command_line.find('\0', at), command_line.size());
    words.push_back(command_line.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

/// The word after an option; empty: it is not there.
std::string after(const std::vector<std::string>& words, const std::string& option) {
  const auto found = std::ranges::find(words, option);
  return found == words.end() || found + 1 == words.end() ? "" : *(found + 1);
}

bool is_stopped(const fs::path& process) {
  const std::string text = read_text(process / "stat").text;
  const size_t name_ends = text.rfind(')');
  if (name_ends == std::string::npos || name_ends + 2 >= text.size()) return false;
  return text[name_ends + 2] == 'T' || text[name_ends + 2] == 't';
}

}  // namespace

std::vector<Leftover> find_leftovers() {
  std::vector<Leftover> found;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename();
    int64_t process = 0;
    const auto [rest, error] = std::from_chars(name.data(), name.data() + name.size(), process);
    if (error != std::errc() || rest != name.data() + name.size()) continue;
    const std::vector<std::string> words = words_of(read_text(entry.path() / "cmdline").text);
    // Not the shell that started it, whose words are one.
    if (std::ranges::find(words, "rank") == words.end() || after(words, kJoinOption).empty()) {
      continue;
    }
    found.push_back({process, after(words, "--run"), is_stopped(entry.path())});
  }
  return found;
}

}  // namespace syrtos::launch
