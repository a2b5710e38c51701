#pragma once

#include <string>
#include <string_view>

namespace syrtos::job {

/// The heading under which people find the fields of a section: "Optimizer".
std::string section_title(std::string_view section);

/// The page about job files, docs/job-files.md: every key with its type, default and option.
std::string reference_page();

}  // namespace syrtos::job
