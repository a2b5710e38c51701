#include "syrtos/job/reference.h"

#include <fmt/format.h>

#include <utility>

#include "syrtos/job/request.h"

namespace syrtos::job {

namespace {

/// A cell of a table cannot have a bar in it.
std::string cell(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '|') result += '\\';
    result += c;
  }
  return result;
}

std::string default_cell(const JobField& field) {
  const std::string text = field.default_text();
  const bool literal = field.open.empty() || text.find('<') != std::string::npos;
  return literal ? fmt::format("`{}`", text) : text;
}

std::string row(const JobField& field) {
  return fmt::format("| `{}` | {} | {} | `{}` | {} | {} | {} |\n", field.name(), cell(field.type),
                     cell(default_cell(field)), field.option, cell(field.help),
                     field.may_change ? "yes" : "", field.plans ? "train, plan" : "train");
}

constexpr const char* kBeginning = R"(# Job files

<!-- Made from the table in src/syrtos/job/fields.cc: change it there. -->

A job file says in TOML what a training is: `syrtos train job.toml`. Every key has an option of the
command line, which overrides the file; whatever neither says has the default below. Each run keeps
the job that it was given, with nothing left open, as `job.toml` in its directory, and `syrtos train
--resume RUN` reads it again; then only what is marked "on resume" can have another value.

```toml
network = "lenet5"
batch = 64
epochs = 3

[data]
name = "mnist"

[optimizer]
name = "adam"
lr = 0.001
```

`optimizer = "adam"` is short for a section with that `name` alone; `data`, `schedule` and `teacher` have the
same short form.
)";

}  // namespace

std::string section_title(std::string_view section) {
  constexpr std::pair<std::string_view, const char*> kTitles[] = {{"", "Training"},
                                                                  {"data", "Data"},
                                                                  {"evaluate", "Evaluation"},
                                                                  {"teacher", "Teacher"},
                                                                  {"optimizer", "Optimizer"},
                                                                  {"schedule", "Schedule"},
                                                                  {"distribute", "Distribution"},
                                                                  {"measure", "Measuring"},
                                                                  {"early_stop", "Early stopping"}};
  for (const auto& [name, title] : kTitles) {
    if (name == section) return title;
  }
  return std::string(section);
}

std::string reference_page() {
  std::string text = kBeginning;
  std::string_view section = "none yet";
  for (const JobField& field : job_fields()) {
    if (field.section() != section) {
      section = field.section();
      const std::string where =
          section.empty() ? "At the top of the file." : fmt::format("In `[{}]`.", section);
      text += fmt::format(
          "\n## {}\n\n{}\n\n| key | type | default | option | meaning | on resume | commands |\n"
          "|---|---|---|---|---|---|---|\n",
          section_title(section), where);
    }
    text += row(field);
  }
  return text;
}

}  // namespace syrtos::job
