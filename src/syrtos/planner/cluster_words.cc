// A cluster in words, as people write it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <vector>

#include "syrtos/base/error.h"
#include "syrtos/planner/cluster_profile.h"
#include "syrtos/planner/units.h"

namespace syrtos::planner {

namespace {

/// Of the line, for TCP's payload: 1448 of 1526 bytes of an Ethernet frame with its gap.
constexpr double kPayloadShare = 0.949;
constexpr double kMost = 100'000;

constexpr std::string_view kExample = "16 hosts, 10 Gbit/s, 50 us";

/// A number and the word that follows it: "10 GbE", "25G".
struct Quantity {
  double number = 0;
  std::string word;
  std::string next;  ///< word behind, in lower case: "64 GB memory", "0.2 ms RTT"
};

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

bool is_one_of(const std::string& word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Words and numbers, "25G" and "8x" taken apart; "1,000 hosts" is one number.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  const auto end_word = [&] {
    if (!word.empty()) words.push_back(std::move(word));
    word.clear();
  };
  const auto digit_at = [&](size_t i) { return i < text.size() && is_digit(text[i]); };
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool in_number = !word.empty() && (is_digit(word.front()) || word.front() == '.');
    const bool thousands = c == ',' && in_number && digit_at(i + 1) && digit_at(i + 2) &&
                           digit_at(i + 3) && !digit_at(i + 4);
    if (thousands) continue;
    if (c == ' ' || c == ',' || c == ';' || c == '\t' || c == '@' || c == '~') {
      end_word();
      continue;
    }
    const bool continues_number = is_digit(c) || c == '.';
    if (in_number && !continues_number) end_word();
    word += c;
  }
  end_word();
  return words;
}

class Words {
 public:
  explicit Words(std::string_view text) : what_(fmt::format("cluster \"{}\"", text)) {
    const std::vector<std::string> words = words_of(text);
    for (size_t i = 0; i < words.size(); ++i) {
      if (!is_digit(words[i].front()) && words[i].front() != '.') {
        take_word(words[i]);
        continue;
      }
      Quantity quantity{number_of(words[i]), i + 1 < words.size() ? words[i + 1] : "",
                        i + 2 < words.size() ? lower(words[i + 2]) : ""};
      take(quantity);
      ++i;
    }
    if (hosts_ == 0 || !bandwidth_) {
      fail_request("{}: expected at least hosts and bandwidth, such as \"16 hosts, 10 Gbit/s\"",
                   what_);
    }
  }

  ClusterProfile cluster() const {
    ClusterProfile cluster;
    HostProfile host = host_;
    for (int i = 0; i < hosts_; ++i) {
      host.name = fmt::format("host{}", i + 1);
      cluster.hosts.push_back(host);
    }
    check(cluster, what_);
    return cluster;
  }

 private:
  double number_of(const std::string& text) const {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) refuse(text);
    return number;
  }

  int count_of(const Quantity& quantity, const char* what) const {
    const double number = quantity.number;
    if (number != std::floor(number) || number < 1 || number > kMost) {
      fail_request("{}: {}: expected 1 to {}, found \"{}\"", what_, what, kMost, number);
    }
    return static_cast<int>(number);
  }

  void take(const Quantity& quantity) {
    const std::string word = lower(quantity.word);
    const bool memory = is_one_of(quantity.next, {"ram", "memory", "mem"});
    if (is_one_of(word,
                  {"host", "hosts", "machine", "machines", "node", "nodes", "computer", "computers",
                   "server", "servers", "pc", "pcs", "box", "boxes", "vm", "vms", "x"})) {
      hosts_ = count_of(quantity, "hosts");
    } else if (is_one_of(word, {"slot", "slots", "process", "processes", "rank", "ranks"})) {
      host_.slots = count_of(quantity, "slots");
    } else if (is_one_of(word, {"core", "cores", "cpu", "cpus"})) {
      host_.cores = count_of(quantity, "cores");
    } else if (const auto size = size_unit(memory && quantity.word.size() == 1 ? quantity.word + "B"
                                                                               : quantity.word);
               size && (memory || !is_one_of(quantity.word, {"Gb", "Mb"}))) {
      host_.memory = quantity.number * *size;
    } else if (const auto bandwidth = bandwidth_unit(quantity.word)) {
      host_.bandwidth = kPayloadShare * quantity.number * *bandwidth;
      bandwidth_ = true;
    } else if (const auto duration = duration_unit(quantity.word)) {
      host_.latency = quantity.number * *duration / (quantity.next == "rtt" ? 2 : 1);
    } else {
      refuse(
          fmt::format("{}{}{}", quantity.number, quantity.word.empty() ? "" : " ", quantity.word));
    }
  }

  /// What may stand between quantities and says nothing more.
  void take_word(const std::string& word) const {
    if (is_one_of(lower(word), {"with",  "and",  "at",      "each",  "of",       "on",
                                "a",     "per",  "host",    "node",  "machine",  "latency",
                                "rtt",   "ram",  "memory",  "mem",   "ethernet", "network",
                                "links", "link", "cluster", "hosts", "nodes",    "machines",
                                "way",   "one",  "one-way", "full",  "duplex",   "/"})) {
      return;
    }
    refuse(word);
  }

  [[noreturn]] void refuse(const std::string& found) const {
    fail_request(
        "{}: expected hosts, bandwidth, latency, such as \"{}\", and if you like \"8 cores\", "
        "\"32 GB\", \"2 slots\", or a profile file; found \"{}\"",
        what_, kExample, found);
  }

  std::string what_;
  HostProfile host_;
  int hosts_ = 0;
  bool bandwidth_ = false;
};

}  // namespace

ClusterProfile assumed_cluster(std::string_view text) { return Words(text).cluster(); }

}  // namespace syrtos::planner
