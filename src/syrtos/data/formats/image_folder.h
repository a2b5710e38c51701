#pragma once

#include <filesystem>

#include "syrtos/data/dataset.h"

namespace syrtos::data {

/// Whether the directory has train/ and test/ (or val/, validation/) folders, or folders with
/// pictures.
bool has_image_folder(const std::filesystem::path& directory);

/// Pictures (JPEG, PNG, WebP, BMP, PNM) in one folder per class, below train/ and test/ (or val/,
/// validation/), or without these and without test data, in the order of names. Classes are the
/// folders' names, sorted; hidden files are passed over, and so are other kinds of files, which the
/// notes name and count. When all pictures are grey, samples have one channel, else three; when all
/// have one size, it is theirs. Of more than some thousand pictures only as many are looked at for
/// that, and the others follow them. Samples are decoded when they are read. Throws RequestError:
/// no class or one only, a class without pictures, one that is none, classes that differ between
/// training and test.
Splits open_image_folder(const std::filesystem::path& directory);

}  // namespace syrtos::data
