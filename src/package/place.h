#pragma once

#include <string>

#include "package/content.h"

namespace syrtos::package {

/// The directory that has the content, unpacked now if it was not: in the user's cache, or in a
/// directory of the user's own for temporary files where there is no cache that programs can be
/// started from. Of other contents the two that were used last are kept. Of several processes one
/// unpacks while the others wait. Empty: `problem` says why.
std::string find_place(int file, const Content& content, std::string& problem);

}  // namespace syrtos::package
