#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "syrtos/report/explain.h"

namespace syrtos::report {

/// Something of both runs. Seconds of a step, or of 1,000 images where steps cannot be compared.
struct Difference {
  std::string name;
  double a = 0, b = 0;
  double change() const { return b - a; }
};

/// From the total down to what explains it.
struct Comparison {
  std::vector<std::string> other;  ///< what the jobs do not have in common: "batch 32, 64"
  bool per_step = true;            ///< otherwise per 1,000 images of a worker
  double images_per_s_a = 0, images_per_s_b = 0;
  Difference total;
  std::vector<Difference> parts;      ///< largest change first
  std::vector<Difference> ranks;      ///< computing of each that both have, largest change first
  std::vector<Difference> operators;  ///< that changed: layer, kind, phase; largest change first
  std::string verdict;
  std::vector<std::string> notes;
};

Comparison compare(const Run& a, const Explanation& of_a, const Run& b, const Explanation& of_b);

std::string compare_text(const Run& a, const Run& b, const Comparison& comparison,
                         const ExplainTextOptions& options);
nlohmann::json compare_json(const Run& a, const Run& b, const Comparison& comparison);

}  // namespace syrtos::report
