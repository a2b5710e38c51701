#pragma once

#include <filesystem>
#include <optional>

#include "syrtos/base/cpu.h"
#include "syrtos/data/dataset.h"
#include "syrtos/job/job.h"

namespace syrtos::job {

/// What whoever asks for a training brings along instead of naming it.
struct Own {
  std::optional<nn::Network> network = {};  ///< None: the request's.
  /// None: the request's. It must have the network's image size; the request's name is for people.
  /// Without test data it is divided as data of files is.
  std::optional<JobData> data = {};
};

/// Decides what the request leaves open and checks everything that can be checked before building
/// the network. Opens the data, with caches below `cache_home` (empty: none). Throws RequestError.
Job resolve(const JobRequest& request, const CpuInfo& cpu, const std::filesystem::path& cache_home,
            Own own = {});

/// What the request's words about how the work is distributed mean. Throws RequestError for words
/// that mean nothing; whether they fit together is for resolve().
strategy::Options way_of(const JobRequest& request);

/// Data to train on and to measure with: a share of it that is kept for validation, its test data,
/// or, where there is none (nullptr), every tenth sample. As data that is opened by name is
/// divided.
JobData divide(JobData own, const data::OpenOptions& options);

/// Random data to train on, and an eighth as much, from another seed, to measure with: what the
/// network takes, values or whole numbers.
data::Splits random_splits(const nn::Network& network, int64_t samples, const Shape& image,
                           int64_t outputs, const nn::Task& task, uint64_t seed);

}  // namespace syrtos::job
