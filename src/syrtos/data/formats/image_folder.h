#pragma once

#include <filesystem>

#include "syrtos/data/dataset.h"

namespace syrtos::data {

/// Whether the directory has train/ and test/ (or val/, validation/) folders, or folders with
/// pictures.
bool has_image_folder(const std::filesystem::path& directory);

/// Pictures (JPEG, PNG, PNM) in one folder per class, below train/ and test/ (or val/,
/// validation/), or without these, when every tenth picture of a class in the order of names is for
/// testing (see split_every_tenth). Classes are the folders' names, sorted; hidden files and other
/// kinds of files are passed over. Samples have three channels and their own sizes, and are decoded
/// when they are read. Throws RequestError: no class or one only, a class without pictures, classes
/// that differ between training and test.
Splits open_image_folder(const std::filesystem::path& directory);

}  // namespace syrtos::data
