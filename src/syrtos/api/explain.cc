#include "syrtos/api/explain.h"

#include "syrtos/report/run_reader.h"

namespace syrtos::api {

namespace {

Explained read(const std::filesystem::path& path, const report::ExplainOptions& options) {
  Explained result;
  result.run = report::read_run(path, {.trace = options.trace});
  result.explanation = report::explain(result.run, options);
  return result;
}

}  // namespace

Explained explain(const std::filesystem::path& run, const report::ExplainOptions& options) {
  return read(run, options);
}

Compared compare(const std::vector<std::filesystem::path>& runs) {
  Compared result;
  for (const std::filesystem::path& run : runs) {
    result.runs.push_back(read(run, {.trace = false, .advice = 0}));
  }
  result.comparison = report::compare(result.runs);
  return result;
}

}  // namespace syrtos::api
