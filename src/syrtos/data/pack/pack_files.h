#pragma once

#include <filesystem>

#include "syrtos/data/pack/pack.h"

namespace syrtos::data {

/// Whether the file begins like a pack.
bool is_pack(const std::filesystem::path& file);

/// Whether the directory holds train*.pack and test*.pack.
bool has_packs(const std::filesystem::path& directory);

/// Opens them; several of a kind are interleaved in the order of their names. Throws RequestError,
/// also when training and test samples differ in kind.
Splits open_packs(const std::filesystem::path& directory,
                  const PictureDecoder& decode = decode_into);

}  // namespace syrtos::data
