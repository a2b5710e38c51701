#include "syrtos/job/record.h"

#include <fmt/format.h>

#include "syrtos/base/crc32.h"
#include "syrtos/base/error.h"
#include "syrtos/base/files.h"
#include "syrtos/job/file.h"

namespace syrtos::job {

namespace {

constexpr std::string_view kSeal = "\n# all of the above: ";

std::string seal_of(std::string_view text) {
  return fmt::format("{:08x}\n", crc32(0, text.data(), text.size()));
}

}  // namespace

std::string to_record(const JobRequest& request) {
  const std::string text = to_toml(request);
  return text + std::string(kSeal) + seal_of(text);
}

Record read_record(const std::filesystem::path& file) {
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return {{}, "is missing"};
  if (!std::filesystem::is_regular_file(file, ignored)) return {{}, "is no file"};
  const auto [whole, error] = read_text(file);
  if (error != 0) return {{}, "cannot be read"};
  if (whole.empty()) return {{}, "is empty"};
  const size_t end = whole.rfind(kSeal);
  if (end == whole.npos) return {{}, "is cut off or of another program"};
  const std::string text = whole.substr(0, end);
  if (whole.substr(end + kSeal.size()) != seal_of(text)) return {{}, "was edited or damaged"};
  try {
    JobRequest request;
    read_job_text(request, text, file.string());
    request.given.clear();  // it has every field
    return {request, ""};
  } catch (const RequestError& error) {
    return {{}, fmt::format("is of another release ({})", error.what())};
  }
}

const JobField* differing_field(const JobRequest& one, const JobRequest& other) {
  for (const JobField& field : job_fields()) {
    if (!field.recorded || field.may_change) continue;
    if (field_text(one, field) != field_text(other, field)) return &field;
  }
  return nullptr;
}

}  // namespace syrtos::job
