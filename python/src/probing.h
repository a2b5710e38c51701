#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "request.h"
#include "syrtos/nn/network.h"

// What is measured on this machine, and what formulas make of it.

namespace syrtos::python {

/// As 'syrtos probe compute --json' has it. `network`: nullptr: the keywords name one.
std::string probe_json(const Keywords& keywords, const nn::Network* network);

/// Words and numbers of 'syrtos estimate'; times of 0 are measured.
struct EstimateCall {
  std::string type, server, bandwidth;
  double t_grad = 0;
  double t_comm = 0;
  int64_t workers = 1;
  int64_t batches = 1;
  bool bounds = false;
};

/// As 'syrtos estimate --json --output csv' has it, and its chart as SVG.
nanobind::tuple estimate(const EstimateCall& call, const Keywords& keywords,
                         const nn::Network* network);

}  // namespace syrtos::python
