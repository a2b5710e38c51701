#include "syrtos/report/run_job.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <fstream>

#include "syrtos/base/error.h"
#include "syrtos/job/file.h"

namespace syrtos::report {

namespace {

template <typename Number>
void set_number(Number& value, const toml::node_view<toml::node>& node) {
  if (const auto number = node.value<Number>()) value = *number;
}
void set_text(std::string& value, const toml::node_view<toml::node>& node) {
  if (const auto text = node.value<std::string>()) {
    value = *text;
  } else if (const auto number = node.value<int64_t>()) {
    value = fmt::format("{}", *number);
  }
}

/// optimizer = "adam" is short for [optimizer] name = "adam".
toml::node_view<toml::node> named(toml::table& table, const char* section) {
  return table[section].is_table() ? table[section]["name"] : table[section];
}

}  // namespace

void read_job(Run& run, const run::Directory& directory) {
  const std::string name = run::name_of(run::File::job);
  if (!directory.has(run::File::job)) {
    run.notes.push_back(fmt::format("{} is missing: what was asked for is not known", name));
    return;
  }
  toml::table table;
  try {
    std::ifstream stream(directory.file(run::File::job), std::ios::binary);
    table = toml::parse(stream, name);
  } catch (const toml::parse_error& error) {
    run.notes.push_back(fmt::format("{}, line {}: {}; what was asked for is not known", name,
                                    error.source().begin.line, error.description()));
    return;
  }
  RunJob& job = run.job;
  set_text(job.network, table["network"]);
  set_text(job.input, table["input"]);
  set_text(job.precision, table["precision"]);
  set_text(job.data, named(table, "data"));
  set_number(job.batch, table["batch"]);
  set_number(job.epochs, table["epochs"]);
  set_number(job.steps, table["steps"]);
  set_number(job.threads, table["threads"]);
  set_number(job.workers, table["distribute"]["workers"]);
  set_text(job.exchange, table["distribute"]["exchange"]);
  set_text(job.sync, table["distribute"]["sync"]);
  set_text(job.wire, table["distribute"]["wire"]);
  set_text(job.update, table["distribute"]["update"]);
  set_number(job.bucket_mb, table["distribute"]["bucket_mb"]);
  std::string replay;
  set_text(replay, table["distribute"]["replay"]);
  job.replayed = !replay.empty();
  try {
    job::JobRequest request;
    job::read_job_file(request, directory.file(run::File::job));
    job.request = request;
  } catch (const RequestError&) {
    // Of another version, or by hand: then nothing is advised that would change it.
  }
  job.workers = std::clamp<int64_t>(job.workers, 1, 1'000'000);
  job.batch = std::clamp<int64_t>(job.batch, 0, 1'000'000'000);
}

}  // namespace syrtos::report
