// A job file with [space] and [search], as people write it.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/job/file.h"
#include "syrtos/job/synonyms.h"
#include "syrtos/search/plan.h"

namespace syrtos::search {

namespace {

constexpr const char* kForms =
    "a list of values, {{ range = [low, high] }} or {{ log = [low, high] }}";

/// What no trial may choose for itself, and why.
std::string_view refused(std::string_view key) {
  if (key == "run") return "each trial has a directory of its own below that of the search";
  if (key == "early_stop.metric") return "it says what all trials are compared by";
  return {};
}

class Reader {
 public:
  Reader(Plan& plan, std::string file) : plan_(plan), file_(std::move(file)) {}

  void read(const toml::table& table) {
    if (const toml::node* space = table.get("space")) {
      if (!space->is_table()) fail(*space, "space", "a section, [space]");
      read_space(*space->as_table(), "");
    }
    if (const toml::node* settings = table.get("search")) {
      if (!settings->is_table()) fail(*settings, "search", "a section, [search]");
      read_settings(*settings->as_table());
    }
    order();
  }

 private:
  template <typename Node>
  std::string at(const Node& node) const {
    return fmt::format("{}:{}", file_, node.source().begin.line);
  }
  static std::string text_of(const toml::node& node) {
    std::ostringstream out;
    node.visit([&](const auto& value) { out << value; });
    return out.str();
  }
  [[noreturn]] void fail(const toml::node& node, const std::string& key,
                         const std::string& expected) const {
    fail_request("{}: {}: expected {}, found {}", at(node), key, expected, text_of(node));
  }

  const job::JobField& field_at(const std::string& key, const toml::key& name) const {
    const job::JobField* field = job::find_field(job::is_section(key) ? key + ".name" : key);
    if (field != nullptr) return *field;
    fail_request("{}: unknown option '{}' in [space]{}", at(name), key, job::suggest_key(key));
  }

  static bool describes(const toml::table& table) {
    return table.contains("choice") || table.contains("range") || table.contains("log");
  }

  void read_space(const toml::table& table, const std::string& prefix) {
    for (const auto& [name, node] : table) {
      const std::string key = prefix + std::string(name.str());
      const toml::table* inner = node.as_table();
      if (inner != nullptr && job::is_section(key) && !describes(*inner)) {
        read_space(*inner, key + ".");
        continue;
      }
      Parameter parameter;
      parameter.field = &field_at(key, name);
      if (const std::string_view why = refused(parameter.field->key); !why.empty()) {
        fail_request("{}: '{}' cannot be searched: {}", at(name), key, why);
      }
      for (const Parameter& other : plan_.space.parameters) {
        if (other.field == parameter.field) {
          fail_request("{}: '{}' stands in [space] twice", at(name), parameter.key());
        }
      }
      if (const toml::array* list = node.as_array()) {
        parameter.choices = values_of(*parameter.field, *list, key);
      } else if (inner != nullptr) {
        read_described(parameter, *inner, key);
      } else {
        fail(node, key, fmt::format(fmt::runtime(kForms)));
      }
      plan_.space.parameters.push_back(std::move(parameter));
    }
  }

  void read_described(Parameter& parameter, const toml::table& table, const std::string& key) {
    int kinds = 0;
    for (const auto& [name, node] : table) {
      const std::string_view word = name.str();
      if (word == "choice") {
        if (!node.is_array()) fail(node, key, "choice = [value, value, ...]");
        parameter.choices = values_of(*parameter.field, *node.as_array(), key);
        ++kinds;
      } else if (word == "range" || word == "log") {
        parameter.kind = word == "log" ? Parameter::Kind::log : Parameter::Kind::range;
        read_bounds(parameter, node, key);
        ++kinds;
      } else if (word == "points") {
        if (!node.is_integer() || *node.value<int64_t>() < 1) fail(node, key, "points = 5");
        parameter.points = *node.value<int64_t>();
      } else if (word == "when") {
        if (!node.is_table()) fail(node, key, "when = { other.option = value }");
        read_conditions(parameter, *node.as_table(), "");
      } else {
        fail_request("{}: {}: unknown word '{}'{}", at(name), key, word,
                     suggestion(word, {"choice", "range", "log", "points", "when"}));
      }
    }
    if (kinds != 1) fail(table, key, "one of choice, range and log");
    if (parameter.points > 0 && parameter.kind == Parameter::Kind::choice) {
      fail(table, key, "points with range or log alone");
    }
    if (parameter.points > 0 && parameter.values() > 0) {
      parameter.points = std::min(parameter.points, parameter.values());
    }
  }

  void read_bounds(Parameter& parameter, const toml::node& node, const std::string& key) const {
    const bool whole = parameter.is_whole();
    if (std::holds_alternative<std::string job::JobRequest::*>(parameter.field->member)) {
      fail(node, key, "choice = [\"a\", \"b\"], since its values are texts");
    }
    const toml::array* list = node.as_array();
    const bool numbers = list != nullptr && list->size() == 2 &&
                         std::all_of(list->begin(), list->end(), [&](const toml::node& one) {
                           return whole ? one.is_integer() : one.is_number();
                         });
    if (!numbers) {
      fail(node, key, whole ? "[low, high] as whole numbers" : "[low, high] as numbers");
    }
    parameter.low = *(*list)[0].value<double>();
    parameter.high = *(*list)[1].value<double>();
    if (!std::isfinite(parameter.low) || !std::isfinite(parameter.high) ||
        !(parameter.low < parameter.high)) {
      fail(node, key, "a low end below the high one");
    }
    if (parameter.kind == Parameter::Kind::log && !(parameter.low > 0)) {
      fail(node, key, "ends above 0, since log ranges have no other");
    }
  }

  /// As the field's option takes them. Refuses what it cannot be.
  std::vector<std::string> values_of(const job::JobField& field, const toml::array& list,
                                     const std::string& key) const {
    std::vector<std::string> values;
    for (const toml::node& node : list) values.push_back(value_of(field, node, key));
    if (values.empty()) fail(list, key, "at least one value");
    for (size_t i = 0; i < values.size(); ++i) {
      if (std::find(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(i), values[i]) !=
          values.begin() + static_cast<std::ptrdiff_t>(i)) {
        fail(list, key, fmt::format("each value once ({} is there twice)", values[i]));
      }
    }
    return values;
  }

  std::string value_of(const job::JobField& field, const toml::node& node,
                       const std::string& key) const {
    // The job's own reader says what it may be, in the same words as of a job file.
    std::ostringstream text;
    text << field.key << " = ";
    node.visit([&](const auto& value) { text << value; });
    job::JobRequest request;
    try {
      job::read_job_text(request, text.str(), file_);
    } catch (const RequestError&) {
      fail(node, key, fmt::format("values that are each {}", field.type));
    }
    return job::field_text(request, field);
  }

  void read_conditions(Parameter& parameter, const toml::table& table, const std::string& prefix) {
    for (const auto& [name, node] : table) {
      const std::string key = prefix + std::string(name.str());
      if (const toml::table* inner = node.as_table()) {
        read_conditions(parameter, *inner, key + ".");
        continue;
      }
      const job::JobField& field = field_at(key, name);
      Condition condition{.key = std::string(field.key), .values = {}};
      if (const toml::array* list = node.as_array()) {
        condition.values = values_of(field, *list, "when " + key);
      } else {
        condition.values = {value_of(field, node, "when " + key)};
      }
      parameter.when.push_back(std::move(condition));
    }
  }

  void read_settings(const toml::table& table) {
    const std::vector<SettingField> fields = setting_fields();
    for (const auto& [name, node] : table) {
      const std::string key(name.str());
      const auto field = std::find_if(fields.begin(), fields.end(),
                                      [&](const SettingField& one) { return one.key == key; });
      if (field == fields.end()) {
        std::vector<std::string> known;
        for (const SettingField& one : fields) known.emplace_back(one.key);
        fail_request("{}: unknown key '{}' in [search]{}", at(name), key, suggestion(key, known));
      }
      if (!node.is_string() && !node.is_number()) fail(node, key, "a text or a number");
      const std::string text = node.is_string() ? *node.value<std::string>() : text_of(node);
      try {
        set(plan_.settings, *field, text);
      } catch (const RequestError& error) {
        fail_request("{}: {}", at(name), error.what());
      }
    }
  }

  /// Whatever a condition names comes first.
  void order() {
    std::vector<Parameter>& all = plan_.space.parameters;
    std::vector<Parameter> ordered;
    const auto is_in = [](const std::vector<Parameter>& list, const std::string& key) {
      return std::any_of(list.begin(), list.end(),
                         [&](const Parameter& one) { return one.key() == key; });
    };
    for (const Parameter& parameter : all) {
      for (const Condition& condition : parameter.when) check_condition(parameter, condition);
    }
    while (!all.empty()) {
      const auto ready = std::find_if(all.begin(), all.end(), [&](const Parameter& one) {
        return std::all_of(one.when.begin(), one.when.end(),
                           [&](const Condition& c) { return is_in(ordered, c.key); });
      });
      if (ready == all.end()) {
        fail_request("{}: the conditions of {} depend on each other in a circle", file_,
                     all.front().key());
      }
      ordered.push_back(std::move(*ready));
      all.erase(ready);
    }
    all = std::move(ordered);
  }

  void check_condition(const Parameter& parameter, const Condition& condition) const {
    std::vector<std::string> known;
    for (const Parameter& other : plan_.space.parameters) {
      known.push_back(other.key());
      if (other.key() != condition.key) continue;
      if (other.kind != Parameter::Kind::choice) {
        fail_request("{}: {}: a condition on {} needs choices of it, found a range", file_,
                     parameter.key(), condition.key);
      }
      for (const std::string& value : condition.values) {
        if (std::find(other.choices.begin(), other.choices.end(), value) == other.choices.end()) {
          fail_request("{}: {}: {} is never {}{}", file_, parameter.key(), condition.key, value,
                       suggestion(value, other.choices));
        }
      }
      return;
    }
    fail_request("{}: {}: its condition names {}, which is not in [space]{}", file_,
                 parameter.key(), condition.key, suggestion(condition.key, known));
  }

  Plan& plan_;
  std::string file_;
};

}  // namespace

Plan parse_plan(const std::string& text, const std::string& name) {
  Plan plan;
  job::read_job_text(plan.job, text, name, {"space", "search"});
  Reader(plan, name).read(toml::parse(text, name));  // which was valid for the job
  return plan;
}

Plan read_plan(const std::filesystem::path& file) {
  return parse_plan(job::read_job_bytes(file), file.string());
}

}  // namespace syrtos::search
