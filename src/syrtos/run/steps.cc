#include "syrtos/run/steps.h"

#include <fmt/format.h>

#include <map>
#include <vector>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/run/text_file.h"

namespace syrtos::run {

using trace::RankDivision;

namespace {

std::string note_of(const trace::DivisionContents& contents, const std::filesystem::path& file) {
  const std::string name = name_of(File::steps);
  const std::string used = contents.ranks.empty() ? "nothing of it is used"
                                                  : fmt::format("the first {} lines are used",
                                                                format_count(contents.lines));
  if (contents.cut_off) {
    return fmt::format("{}: line {} is cut off: the run was killed; {}", name,
                       format_count(contents.lines + 1), used);
  }
  if (contents.lines == 0) {
    return fmt::format("{}: its columns are not those of this version; {}", name, used);
  }
  return fmt::format("{}; {}", without_path(contents.problem, file), used);
}

/// A rank's lines need not stand together.
std::vector<RankDivision> joined(std::vector<RankDivision> found) {
  std::vector<RankDivision> ranks;
  std::map<int, size_t> places;
  for (RankDivision& one : found) {
    const auto [place, is_new] = places.emplace(one.rank, ranks.size());
    if (is_new) {
      ranks.push_back(std::move(one));
    } else {
      std::vector<trace::DivisionRecord>& records = ranks[place->second].records;
      records.insert(records.end(), one.records.begin(), one.records.end());
    }
  }
  return ranks;
}

}  // namespace

void write(const Directory& directory, std::span<const RankDivision> steps) {
  trace::write_divisions(directory.to_write(File::steps), steps);
}

std::vector<RankDivision> read_steps(const Directory& directory, Notes& notes) {
  if (!directory.has(File::steps)) return {};
  const std::filesystem::path file = directory.file(File::steps);
  try {
    trace::DivisionContents contents = trace::salvage_divisions(file);
    if (!contents.problem.empty()) notes.push_back(note_of(contents, file));
    return joined(std::move(contents.ranks));
  } catch (const RequestError&) {
    notes.push_back(fmt::format("{} is empty: where the time of steps went is not known",
                                name_of(File::steps)));
    return {};
  }
}

}  // namespace syrtos::run
