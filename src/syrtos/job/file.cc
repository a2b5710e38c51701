#include "syrtos/job/file.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>

#include "syrtos/base/error.h"
#include "syrtos/base/files.h"
#include "syrtos/base/format.h"
#include "syrtos/base/toml.h"
#include "syrtos/job/synonyms.h"

namespace syrtos::job {

namespace {

class Reader {
 public:
  Reader(JobRequest& request, std::string file) : request_(request), file_(std::move(file)) {}

  void read(const toml::table& table, const std::string& prefix) {
    for (const auto& [name, node] : table) {
      const std::string key = prefix + std::string(name.str());
      if (const toml::table* inner = node.as_table()) {
        if (!is_section(key)) fail_unknown_section(key, name.source());
        read(*inner, key + ".");
        continue;
      }
      // optimizer = "adam" is short for [optimizer] name = "adam"
      const JobField* field = find_field(is_section(key) ? key + ".name" : key);
      if (field == nullptr) fail_unknown(key, name.source());
      set(*field, key, node);
    }
  }

 private:
  std::string at(const toml::source_region& source) const {
    return fmt::format("{}:{}", file_, source.begin.line);
  }

  [[noreturn]] void fail_unknown(const std::string& key, const toml::source_region& source) const {
    if (key == "space" || key == "search") {
      fail_request("{}: [{}] is what 'syrtos search {}' reads: train one of it with its best.toml",
                   at(source), key, file_);
    }
    fail_request("{}: unknown key '{}'{}", at(source), key, suggest_key(key));
  }

  [[noreturn]] void fail_unknown_section(const std::string& key,
                                         const toml::source_region& source) const {
    std::vector<std::string> sections;
    for (const JobField& field : job_fields()) {
      const std::string section(field.section());
      if (section.empty() || (!sections.empty() && sections.back() == section)) continue;
      sections.push_back(section);
    }
    if (key == "space" || key == "search" || did_you_mean(key, sections).empty()) {
      fail_unknown(key, source);
    }
    for (std::string& section : sections) section = "[" + section + "]";
    fail_request("{}: unknown section '[{}]'{}", at(source), key,
                 suggestion("[" + key + "]", sections));
  }

  void set(const JobField& field, const std::string& key, const toml::node& node) {
    request_.given.push_back(field.key);
    const auto fail_type = [&](const char* expected) {
      std::ostringstream found;
      node.visit([&](const auto& value) { found << value; });
      fail_request("{}: {}: expected {}, found {}", at(node.source()), key, expected, found.str());
    };
    if (const auto* text = std::get_if<std::string JobRequest::*>(&field.member)) {
      if (const auto whole = node.value_exact<int64_t>(); whole && key == "input") {
        request_.** text = std::to_string(*whole);
      } else if (node.is_string()) {
        request_.** text = *node.value<std::string>();
      } else {
        fail_type("a text in quotes");
      }
    } else if (const auto* whole = std::get_if<int64_t JobRequest::*>(&field.member)) {
      if (!node.is_integer()) fail_type("a whole number");
      request_.** whole = *node.value<int64_t>();
    } else {
      const auto value = node.is_number() ? node.value<double>() : std::nullopt;
      if (!value || !std::isfinite(*value)) fail_type("a number");
      request_.*std::get<double JobRequest::*>(field.member) = *value;
    }
  }

  JobRequest& request_;
  std::string file_;
};

/// Says what else somebody who names a directory may want.
[[noreturn]] void fail_directory(const std::filesystem::path& directory) {
  std::error_code ignored;
  const std::filesystem::path inside = directory / "job.toml";
  if (std::filesystem::exists(inside, ignored)) {
    fail_request(
        "cannot read the job file {}: expected a TOML file, found a directory with one: use {} for "
        "the same job, or --resume {} to go on with the run",
        directory.string(), inside.string(), directory.string());
  }
  fail_request(
      "cannot read the job file {}: expected a TOML file, found a directory; if it has data to "
      "train on, use --data {}",
      directory.string(), directory.string());
}

/// "; did you mean 'job.toml'?" of the files that lie where this one should be.
std::string near_files(const std::filesystem::path& file) {
  std::error_code ignored;
  std::vector<std::string> names;
  const std::filesystem::path parent = file.parent_path();
  for (const auto& entry :
       std::filesystem::directory_iterator(parent.empty() ? "." : parent, ignored)) {
    if (entry.path().extension() == ".toml") {
      names.push_back((parent / entry.path().filename()).string());
    }
  }
  std::sort(names.begin(), names.end());
  const std::string near = did_you_mean(file.string(), names);
  return near.empty() ? "" : "; " + near.substr(0, near.size() - 1);
}

}  // namespace

bool is_section(const std::string& key) {
  for (const JobField& field : job_fields()) {
    if (field.key.starts_with(key + ".")) return true;
  }
  return false;
}

std::string read_job_bytes(const std::filesystem::path& file) {
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) fail_directory(file);
  const auto [text, error] = read_text(file);
  if (error != 0) {
    fail_request("cannot read the job file {}: expected a TOML file, found {}", file.string(),
                 std::filesystem::exists(file, ignored) ? "something that cannot be opened"
                                                        : "no such file" + near_files(file));
  }
  return text;
}

void read_job_file(JobRequest& request, const std::filesystem::path& file) {
  read_job_text(request, read_job_bytes(file), file.string());
}

void read_job_text(JobRequest& request, std::string_view text, const std::string& name,
                   const std::vector<std::string_view>& of_others) {
  toml::table table;
  try {
    table = toml::parse(text, name);
  } catch (const toml::parse_error& error) {
    const bool named_so = std::filesystem::path(name).extension() == ".toml";
    fail_request("{}:{}:{}: not valid TOML: {}{}", name, error.source().begin.line,
                 error.source().begin.column, error.description(),
                 named_so ? "" : fmt::format("; if it is data to train on, use --data {}", name));
  }
  for (const std::string_view section : of_others) table.erase(section);
  Reader(request, name).read(table, "");
}

std::string to_toml(const JobRequest& request) {
  std::string text;
  std::string section;
  for (const JobField& field : job_fields()) {
    if (!field.recorded || field_text(request, field).empty()) continue;
    if (field.section() != section) {
      section = field.section();
      text += fmt::format("\n[{}]\n", section);
    }
    const std::string value =
        std::visit([&](const auto member) { return toml_value(request.*member); }, field.member);
    text += fmt::format("{} = {}\n", field.name(), value);
  }
  return text;
}

}  // namespace syrtos::job
