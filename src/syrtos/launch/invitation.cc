#include "syrtos/launch/invitation.h"

#include <fmt/format.h>

#include <charconv>
#include <map>
#include <sstream>

#include "syrtos/base/error.h"

namespace syrtos::launch {

namespace {

class Words {
 public:
  explicit Words(const std::string& word) : word_(word) {
    std::istringstream in(word);
    for (std::string part; std::getline(in, part, ',');) {
      const size_t equals = part.find('=');
      if (equals == std::string::npos) refuse();
      values_[part.substr(0, equals)] = part.substr(equals + 1);
    }
  }
  const std::string& text(const std::string& key) const {
    const auto found = values_.find(key);
    if (found == values_.end()) refuse();
    return found->second;
  }
  int number(const std::string& key, int least, int most) const {
    const std::string& value = text(key);
    int result = 0;
    const char* end = value.data() + value.size();
    const auto [rest, error] = std::from_chars(value.data(), end, result);
    if (error != std::errc() || rest != end || result < least || result > most) refuse();
    return result;
  }

 private:
  [[noreturn]] void refuse() const {
    fail_request("expected what the launcher writes after {}, found '{}'; ranks are started by it",
                 kJoinOption, word_);
  }
  const std::string& word_;
  std::map<std::string, std::string> values_;
};

}  // namespace

std::string to_word(const Invitation& i) {
  return fmt::format(
      "rank={},role={},cores={},processes={},host={},address={},scheduler={},port={},out={},err={},"
      "patience={},encrypted={}",
      i.rank, to_string(i.role), i.cores, i.processes, i.host, i.address, i.scheduler_address,
      i.scheduler_port, i.output_columns, i.error_columns, i.patience, i.encrypted ? 1 : 0);
}

Invitation parse_invitation(const std::string& word) {
  constexpr int kMost = 1 << 20;
  const Words words(word);
  return {.rank = words.number("rank", 0, kMost),
          .role = words.text("role") == to_string(Role::server) ? Role::server : Role::worker,
          .cores = words.number("cores", 1, kMost),
          .processes = words.number("processes", 1, kMost),
          .host = words.text("host"),
          .address = words.text("address"),
          .scheduler_address = words.text("scheduler"),
          .scheduler_port = static_cast<uint16_t>(words.number("port", 1, 65535)),
          .output_columns = words.number("out", 0, kMost),
          .error_columns = words.number("err", 0, kMost),
          .patience = words.number("patience", 1, kMost),
          .encrypted = words.number("encrypted", 0, 1) == 1};
}

}  // namespace syrtos::launch
