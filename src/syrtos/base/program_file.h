#pragma once

#include <filesystem>

namespace syrtos {

/// The file that this code was loaded from: the program's, or that of a library that contains it.
/// /proc/self/exe names the loader instead where the loader was called by its name. Throws RunError
/// where /proc is not there.
std::filesystem::path program_file();

}  // namespace syrtos
