#include "syrtos/api/explain.h"

#include "syrtos/report/run_reader.h"

namespace syrtos::api {

namespace {

Explained read(const std::filesystem::path& path, bool trace,
               const report::ExplainOptions& options) {
  Explained result;
  result.run = report::read_run(path, {.trace = trace});
  result.explanation = report::explain(result.run, options);
  return result;
}

}  // namespace

Explained explain(const std::filesystem::path& run, const report::ExplainOptions& options) {
  return read(run, true, options);
}

Compared compare(const std::filesystem::path& a, const std::filesystem::path& b) {
  const report::ExplainOptions plain = {.simulate = false};
  Compared result;
  result.a = read(a, false, plain);
  result.b = read(b, false, plain);
  result.comparison =
      report::compare(result.a.run, result.a.explanation, result.b.run, result.b.explanation);
  return result;
}

}  // namespace syrtos::api
