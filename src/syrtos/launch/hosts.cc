#include "syrtos/launch/hosts.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>
#include <numeric>
#include <sstream>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/world/socket.h"

namespace syrtos::launch {

namespace {

constexpr int kMostSlots = 4096;

int read_number(const std::string& at, const std::string& key, const std::string& text, int most) {
  int value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end || value < 1 || value > most) {
    fail_request("{}: expected {}=N with N from 1 to {}, found '{}={}'", at, key, most, key, text);
  }
  return value;
}

void set(Host& host, const std::string& at, const std::string& word) {
  const size_t equals = word.find('=');
  if (equals == std::string::npos) {
    fail_request("{}: expected NAME [slots=N] [address=A] [port=P], found '{}' after the name", at,
                 word);
  }
  const std::string key = word.substr(0, equals);
  const std::string value = word.substr(equals + 1);
  if (key == "slots") {
    host.slots = read_number(at, key, value, kMostSlots);
  } else if (key == "port") {
    host.ssh_port = read_number(at, key, value, 65535);
  } else if (key == "address") {
    host.address = world::find_address(value);
    if (host.address.empty()) {
      fail_request("{}: unknown address '{}' of host '{}'; give a number such as 10.0.0.3", at,
                   value, host.name);
    }
  } else {
    fail_request("{}: unknown key '{}'{}", at, key, suggestion(key, {"slots", "address", "port"}));
  }
}

Host read_line(const std::string& at, std::istringstream& words) {
  Host host;
  words >> host.name;
  if (host.name.starts_with('-') || host.name.find_first_of("=,") != std::string::npos) {
    fail_request("{}: expected the name of a host, found '{}'", at, host.name);
  }
  for (std::string word; words >> word;) set(host, at, word);
  // "user@name" is for ssh.
  if (host.address.empty())
    host.address = world::find_address(host.name.substr(host.name.find('@') + 1));
  if (host.address.empty()) {
    fail_request("{}: unknown host '{}': the name has no address; correct it or add address=A", at,
                 host.name);
  }
  return host;
}

std::vector<Host> read_all(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in || std::filesystem::is_directory(file)) {
    fail_request(
        "{}: expected a hosts file that can be read (each line: NAME [slots=N] [address=A]), or "
        "names of hosts (a,b:2,c)",
        file.string());
  }
  std::vector<Host> hosts;
  std::map<std::string, int> seen;
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    std::istringstream words(line.substr(0, line.find('#')));
    if ((words >> std::ws).eof()) continue;
    const std::string at = fmt::format("{}:{}", file.string(), number);
    Host host = read_line(at, words);
    const auto [first, is_new] = seen.emplace(host.name, number);
    if (!is_new) {
      fail_request("{}: host '{}' was named in line {} already; give it more slots there instead",
                   at, host.name, first->second);
    }
    hosts.push_back(std::move(host));
  }
  if (hosts.empty()) {
    fail_request(
        "{}: expected at least one host, found none; each line: NAME [slots=N] [address=A]",
        file.string());
  }
  return hosts;
}

/// The hosts of "a,b:2,c".
std::vector<Host> read_list(const std::string& list) {
  std::vector<Host> hosts;
  const std::string at = fmt::format("--hosts {}", list);
  std::istringstream items(list);
  for (std::string item; std::getline(items, item, ',');) {
    const size_t colon = item.find(':');
    std::istringstream words(item.substr(0, colon));
    if ((words >> std::ws).eof()) {
      fail_request("{}: expected names of hosts between the commas, or a file of hosts", at);
    }
    Host host = read_line(at, words);
    if (colon != std::string::npos) set(host, at, "slots=" + item.substr(colon + 1));
    for (const Host& other : hosts) {
      if (other.name == host.name) {
        fail_request("{0}: host '{1}' is there twice; write {1}:2 for two slots", at, host.name);
      }
    }
    hosts.push_back(std::move(host));
  }
  return hosts;
}

/// One host needs no comma, if it is one.
bool is_one_name(const std::string& text) {
  const std::string name = text.substr(0, text.find(':'));
  return name.find_first_of("/ ") == std::string::npos && !name.empty() &&
         !world::find_address(name.substr(name.find('@') + 1)).empty();
}

/// The hosts of "c,a".
std::vector<Host> some_of(const std::vector<Host>& hosts, const std::string& file,
                          const std::string& names) {
  std::vector<Host> some;
  std::istringstream words(names);
  for (std::string name; std::getline(words, name, ',');) {
    const auto is_it = [&](const Host& host) { return host.name == name; };
    const auto found = std::find_if(hosts.begin(), hosts.end(), is_it);
    if (found == hosts.end()) {
      fail_request("--hosts {}:{}: host '{}' is not in {} ({})", file, names, name, file,
                   list_slots(hosts));
    }
    if (std::any_of(some.begin(), some.end(), is_it)) {
      fail_request("--hosts {}:{}: host '{}' is there twice", file, names, name);
    }
    some.push_back(*found);
  }
  if (some.empty()) fail_request("--hosts {}: expected names of hosts after ':', found none", file);
  return some;
}

}  // namespace

std::vector<Host> read_hosts(const std::filesystem::path& file) {
  const std::string text = file.string();
  const size_t colon = text.rfind(':');
  const auto is_file = [](const std::string& name) {
    std::error_code ignored;
    return std::filesystem::exists(name, ignored);
  };
  if (is_file(text)) return read_all(file);
  const std::string name = text.substr(0, colon);
  const bool is_list = text.find(',') != std::string::npos && !is_file(name);
  if (is_list || is_one_name(text)) return read_list(text);
  if (colon == std::string::npos) return read_all(file);
  return some_of(read_all(name), name, text.substr(colon + 1));
}

int total_slots(const std::vector<Host>& hosts) {
  return std::accumulate(hosts.begin(), hosts.end(), 0,
                         [](int sum, const Host& host) { return sum + host.slots; });
}

std::string list_slots(const std::vector<Host>& hosts) {
  std::string text;
  for (const Host& host : hosts) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", host.name, host.slots);
  }
  return text;
}

}  // namespace syrtos::launch
