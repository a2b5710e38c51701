#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "syrtos/base/cpu.h"
#include "syrtos/job/precision.h"

namespace syrtos::train {

/// One thing that was looked at.
struct Finding {
  bool good = true;
  std::string text;
  std::string advice;  ///< what to do, when it is not good
};

struct Diagnosis {
  CpuInfo cpu;
  Isa isa = Isa::generic;
  std::string backend;       ///< with the version of oneDNN
  job::Precision precision;  ///< what "auto" means here
  std::vector<Finding> findings;
};

/// Looks at the machine and at what training needs. Changes nothing.
Diagnosis examine(const CpuInfo& cpu, const std::filesystem::path& cache_home);

}  // namespace syrtos::train
