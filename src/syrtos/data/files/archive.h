#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace syrtos::data {

/// Files of an archive by the last part of their path.
using Members = std::map<std::string, std::vector<uint8_t>>;
using Wanted = std::function<bool(std::string_view)>;

/// Whether the name says tar (.tar, .tar.gz, .tgz) or .zip.
bool has_archive_name(const std::filesystem::path& file);

/// Whether the archive has a file that is wanted; stops at the first. Throws as read_members.
bool has_member(const std::filesystem::path& archive, const Wanted& wanted);

/// Reads the files whose name (the last part of the path) is wanted from a tar archive, plain or
/// gzip-compressed, or a zip archive; nothing is written anywhere. Checksums are verified. Throws
/// RequestError: damage, a name that comes twice, files of more than `most_bytes` together.
Members read_members(const std::filesystem::path& archive, const Wanted& wanted, size_t most_bytes);

}  // namespace syrtos::data
