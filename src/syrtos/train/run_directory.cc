#include "syrtos/train/run_directory.h"

#include <fmt/chrono.h>

#include <ctime>
#include <fstream>

#include "syrtos/base/error.h"
#include "syrtos/train/job_file.h"

namespace syrtos::train {

namespace fs = std::filesystem;

namespace {

// Makes the directory that nobody else has, counting up when two runs start in one second.
fs::path make_default(const std::string& network, std::error_code& error) {
  const std::time_t now = std::time(nullptr);
  const std::string base = fmt::format("{}-{:%Y%m%d-%H%M%S}", network, fmt::localtime(now));
  fs::create_directories("runs", error);
  for (int count = 1; !error; ++count) {
    fs::path path = fs::path("runs") / (count == 1 ? base : fmt::format("{}-{}", base, count));
    if (fs::create_directory(path, error)) return path;
  }
  return fs::path("runs") / base;
}

// Where a new run is to be. `created`: the directory was not there before.
fs::path make_place(const Job& job, bool& created) {
  std::error_code error;
  fs::path path = job.run;
  created = true;
  if (job.run.empty()) {
    path = make_default(job.network, error);
  } else if (fs::exists(path, error)) {
    // What a run that was killed at its very beginning leaves is as good as nothing.
    fs::remove(path / "job.toml.part", error);
    if (!fs::is_directory(path, error) || !fs::is_empty(path, error)) {
      fail_request(
          "run directory {}: expected a new or an empty directory, found {}; choose another "
          "--run DIR, or go on with a run by --resume DIR",
          path.string(), error ? error.message() : "something in its place");
    }
    created = false;
  } else {
    fs::create_directories(path, error);
  }
  if (error) {
    fail_request("cannot create the run directory {}: {}; choose another --run DIR", path.string(),
                 error.message());
  }
  return path;
}

}  // namespace

std::filesystem::path RunDirectory::reserve(const Job& job) {
  bool created = false;
  return fs::absolute(make_place(job, created));
}

RunDirectory RunDirectory::create(const Job& job) {
  bool created = false;
  const fs::path path = make_place(job, created);
  RunDirectory directory(path);
  try {
    AtomicFile file(directory.job_file());
    file.write(to_toml(job));
    file.commit();
    directory.metrics_ = LineFile(directory.metrics_file());
  } catch (const RunError& reason) {
    std::error_code ignored;
    if (created) fs::remove_all(path, ignored);
    throw RequestError(reason.what());
  }
  return directory;
}

RunDirectory RunDirectory::open(const fs::path& path) {
  std::error_code error;
  RunDirectory directory(path);
  if (!fs::is_regular_file(directory.job_file(), error)) {
    fail_request("{} is not a run: expected the file {}, found none", path.string(),
                 directory.job_file().string());
  }
  return directory;
}

void RunDirectory::append(const EpochMetrics& metrics) { metrics_.append(to_json(metrics).dump()); }

void RunDirectory::forget_measures() const {
  std::error_code ignored;
  for (const auto& file : {steps(), parts(), hosts(), exchange(), operators(), trace()}) {
    std::filesystem::remove(file, ignored);
  }
}

bool RunDirectory::rewind(int64_t step) {
  std::string kept;
  bool best = false;
  std::ifstream in(metrics_file());
  for (std::string line; std::getline(in, line);) {
    const auto entry = nlohmann::json::parse(line, nullptr, false);
    if (!entry.is_object() || entry.value("step", int64_t{0}) > step) continue;
    kept += line + '\n';
    best = entry.value("best", false) && entry.value("step", int64_t{0}) == step;
  }
  AtomicFile file(metrics_file());
  file.write(kept);
  file.commit();
  metrics_ = LineFile(metrics_file());
  return best;
}

void RunDirectory::keep_as_best() const {
  // last.ckpt is only ever replaced as a whole, so a second name for it is a copy.
  const fs::path beside = best().string() + ".part";
  std::error_code error;
  fs::remove(beside, error);
  fs::create_hard_link(last(), beside, error);
  if (error) fs::copy_file(last(), beside, fs::copy_options::overwrite_existing, error);
  if (!error) fs::rename(beside, best(), error);
  if (error) {
    std::error_code ignored;
    fs::remove(beside, ignored);
    fail_run("cannot write {}: {}", best().string(), error.message());
  }
}

fs::path find_checkpoint(const fs::path& argument) {
  std::error_code error;
  if (!fs::exists(argument, error)) {
    fail_request("{}: expected a run directory or a checkpoint, found nothing of that name",
                 argument.string());
  }
  if (!fs::is_directory(argument, error)) return argument;
  for (const char* name : {"best.ckpt", "last.ckpt"}) {
    if (fs::is_regular_file(argument / name, error)) return argument / name;
  }
  fail_request("{}: expected best.ckpt or last.ckpt in it, found neither", argument.string());
}

}  // namespace syrtos::train
