#include "syrtos/run/about.h"

#include "syrtos/base/clock.h"
#include "syrtos/base/error.h"
#include "syrtos/run/json.h"

namespace syrtos::run {

About About::of_this_program() {
  return {.format = kFormat, .program = "syrtos " SYRTOS_VERSION, .made = wall_clock()};
}

void write(const Directory& directory, const About& about) {
  write_json(directory, File::about,
             {{"format", about.format}, {"program", about.program}, {"made", about.made}});
}

std::optional<About> read_about(const Directory& directory, Notes& notes) {
  const std::string name = name_of(File::about);
  if (!directory.has(File::about)) {
    notes.push_back(fmt::format(
        "{} is missing: the run is of an earlier version; it is read as far as possible", name));
    return std::nullopt;
  }
  const std::optional<json> object = read_object(directory, File::about, notes);
  if (!object) return std::nullopt;
  About about{.format = count_in(*object, "format"),
              .program = text_in(*object, "program"),
              .made = number_in(*object, "made")};
  if (about.format < 1) {
    notes.push_back(fmt::format("{}: it does not say of which format the run is", name));
    return std::nullopt;
  }
  return about;
}

void refuse_newer(const Directory& directory) {
  Notes ignored;
  const std::optional<About> about = read_about(directory, ignored);
  if (!about || about->format <= kFormat) return;
  fail_request(
      "{}: expected a run of format {} or older, found format {}, made by {:.60}: use that version "
      "or a newer one",
      directory.path().string(), kFormat, about->format,
      about->program.empty() ? "a newer version" : about->program);
}

}  // namespace syrtos::run
