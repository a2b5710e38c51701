#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace syrtos::compare {

/// The adapters that come with the program, by the names of their peers.
std::vector<std::string> adapter_names();
/// The text of one. Throws RequestError for a name that is not known.
std::string_view adapter_text(const std::string& name);
/// What all of them share.
std::string_view protocol_text();

/// Puts all of them into a directory, where they are as this program has them afterwards: what was
/// there and differs is replaced. Throws RunError.
void unpack_adapters(const std::filesystem::path& directory);

/// The file of an adapter in such a directory.
std::filesystem::path adapter_file(const std::filesystem::path& directory, const std::string& name);

}  // namespace syrtos::compare
