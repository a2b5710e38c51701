#pragma once

#include <filesystem>
#include <initializer_list>
#include <string_view>

namespace syrtos::cli {

/// Before work is done for a file that `option` names: throws RequestError where the folder it goes
/// to is not there, or where it ends otherwise than with one of `endings` (none: any will do).
void check_file_to_write(std::string_view option, const std::filesystem::path& file,
                         std::initializer_list<std::string_view> endings = {});

}  // namespace syrtos::cli
