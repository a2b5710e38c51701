#include "syrtos/job/reference.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <fstream>
#include <set>
#include <sstream>

#include "syrtos/job/request.h"

namespace syrtos::job {
namespace {

using testing::HasSubstr;

std::string committed_page() {
  std::ifstream file(SYRTOS_SOURCE_DIR "/docs/job-files.md");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(Reference, CommittedPageIsWhatTheTableSays) {
  const std::string made = reference_page();
  if (committed_page() == made) return;
  const std::string file = testing::TempDir() + "job-files.md";
  std::ofstream(file) << made;
  FAIL() << "docs/job-files.md differs from the table of fields; it is to be " << file;
}

TEST(Reference, HasEveryKeyWithItsOption) {
  const std::string page = reference_page();
  for (const JobField& field : job_fields()) {
    EXPECT_THAT(page, HasSubstr(fmt::format("| `{}` |", field.name()))) << field.key;
    EXPECT_THAT(page, HasSubstr(fmt::format("| `{}` |", field.option))) << field.key;
  }
}

TEST(Fields, AreCompleteAndNamedOnce) {
  std::set<std::string_view> keys, options;
  for (const JobField& field : job_fields()) {
    EXPECT_TRUE(keys.insert(field.key).second) << field.key;
    EXPECT_TRUE(options.insert(field.option).second) << field.option;
    EXPECT_TRUE(field.option.starts_with("--")) << field.key;
    EXPECT_FALSE(field.help.empty()) << field.key;
    EXPECT_FALSE(field.type.empty()) << field.key;
    EXPECT_FALSE(field.default_text().empty()) << field.key;
    EXPECT_NE(section_title(field.section()), field.section()) << field.key;
  }
}

}  // namespace
}  // namespace syrtos::job
