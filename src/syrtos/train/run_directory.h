#pragma once

#include <filesystem>
#include <string>

#include "syrtos/base/files.h"
#include "syrtos/train/job.h"
#include "syrtos/train/metrics.h"

namespace syrtos::train {

/// What a run leaves behind and every other command reads: job.toml, metrics.jsonl, last.ckpt,
/// best.ckpt.
class RunDirectory {
 public:
  /// A new directory with the job in it: `job.run`, which must not exist or be empty, or
  /// runs/<network>-<date>-<time>. Throws RequestError when it cannot be made or written.
  static RunDirectory create(const Job& job);
  /// The empty directory that create() will use: made now, so that its name is known.
  static std::filesystem::path reserve(const Job& job);
  /// One that is there. Throws RequestError when it is not a run.
  static RunDirectory open(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path job_file() const { return path_ / "job.toml"; }
  std::filesystem::path last() const { return path_ / "last.ckpt"; }
  std::filesystem::path best() const { return path_ / "best.ckpt"; }
  // Where the time went, see trace/division_log.h and measures.h.
  std::filesystem::path steps() const { return path_ / "steps.csv"; }
  std::filesystem::path parts() const { return path_ / "parts.json"; }
  std::filesystem::path hosts() const { return path_ / "hosts.json"; }
  std::filesystem::path exchange() const { return path_ / "exchange.json"; }
  std::filesystem::path operators() const { return path_ / "operators.json"; }
  std::filesystem::path trace() const { return path_ / "trace.json.gz"; }

  void append(const EpochMetrics& metrics);
  /// Forgets metrics of steps after this one: they are about to be repeated. Returns whether the
  /// last line that is left is about this step and was the best.
  bool rewind(int64_t step);
  /// What was measured so far is about steps that begin anew.
  void forget_measures() const;
  /// Makes last.ckpt the best one too, without a second copy where the file system allows it.
  void keep_as_best() const;

 private:
  explicit RunDirectory(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path metrics_file() const { return path_ / "metrics.jsonl"; }

  std::filesystem::path path_;
  LineFile metrics_;
};

/// The checkpoint that a command's argument means: a file, or a run's best (else last) one.
std::filesystem::path find_checkpoint(const std::filesystem::path& argument);

}  // namespace syrtos::train
