#include "syrtos/run/text_file.h"

#include <fstream>

#include "syrtos/base/error.h"
#include "syrtos/base/files.h"

namespace syrtos::run {

namespace fs = std::filesystem;

void write_text(const fs::path& file, std::string_view text) {
  AtomicFile out(file);
  out.write(text);
  out.commit();
}

void replace_text(const Directory& directory, File which, std::string_view text) {
  if (!directory.is_writable()) return;
  const fs::path file = directory.file(which);
  const fs::path beside = part_of(file);
  std::error_code error;
  std::ofstream out(beside, std::ios::binary);
  out << text;
  out.close();
  if (out) fs::rename(beside, file, error);
  if (!out || error) fs::remove(beside, error);
}

void add_line(const Directory& directory, File file, std::string_view line) {
  if (!directory.is_writable()) return;
  try {
    LineFile(directory.file(file)).append(line);
  } catch (const RunError&) {
    // Only who watches misses something.
  }
}

std::string without_path(std::string text, const fs::path& file) {
  const std::string path = file.string(), name = file.filename().string();
  for (size_t at = text.find(path); at != text.npos; at = text.find(path, at + name.size())) {
    text.replace(at, path.size(), name);
  }
  return text;
}

}  // namespace syrtos::run
