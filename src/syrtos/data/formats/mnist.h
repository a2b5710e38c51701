#pragma once

#include <filesystem>

#include "syrtos/data/dataset.h"

namespace syrtos::data {

/// Whether the directory holds MNIST's four IDX files, plain or with .gz.
bool has_mnist(const std::filesystem::path& directory);

/// Reads them: MNIST itself, Fashion-MNIST, or anything else in their format with up to 256
/// classes. Labels are named by their number. Throws RequestError: a file that is not there or
/// damaged, counts or sizes that differ.
Splits open_mnist(const std::filesystem::path& directory);

}  // namespace syrtos::data
