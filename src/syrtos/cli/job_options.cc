#include "syrtos/cli/job_options.h"

#include <fmt/format.h>

#include "syrtos/job/reference.h"

namespace syrtos::cli {

namespace {

const char* type_name_of(const job::JobField& field) {
  return field.type == "path" ? "PATH" : field.type.ends_with("number") ? "NUMBER" : "TEXT";
}

/// "what it means: one of a, b, c (default: b)".
std::string help_of(const job::JobField& field) {
  const std::string values =
      field.type.starts_with("one of ") ? fmt::format(": {}", field.type) : "";
  const std::string text = field.default_text();
  return fmt::format("{}{}{}", field.help, values,
                     text.empty() ? "" : fmt::format(" (default: {})", text));
}

/// --trace alone means all steps; the parser says "true" then.
std::string trace_text(const std::string& text) {
  return text.empty() || text == "true" ? "all" : text;
}

}  // namespace

Option add_job_option(Command command, const job::JobField& field,
                      const std::function<void(const job::JobField&, const std::string&)>& take) {
  const bool traces = field.key == "measure.trace";
  Option option = command
                      .add_option(
                          std::string(field.option),
                          [take, &field, traces](const std::string& text) {
                            take(field, traces ? trace_text(text) : text);
                          },
                          help_of(field))
                      .type_name(type_name_of(field))
                      .group(job::section_title(field.section()));
  if (traces) option.values(0, 1).type_name("[steps=A..B]");
  return option;
}

}  // namespace syrtos::cli
