#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "arrays.h"
#include "request.h"

namespace syrtos::python {

/// What syrtos.train() asks for, once its Python part has looked at it.
struct TrainCall {
  std::string job_file = {};
  std::string resume = {};
  Keywords keywords = {};
  const nn::Network* network = nullptr;  ///< None: the keywords name one.
  const Data* train = nullptr;           ///< None: the keywords name it.
  const Data* test = nullptr;
  double tell_every_s = 0;  ///< Between two calls of on_step; 0: after each step.
  nanobind::object on_start, on_step, on_epoch;  ///< None, or called; False ends the run.
};

/// The run's directory and, as JSON, how it ended. Blocks; see Aside for signals and callbacks.
nanobind::tuple train(const TrainCall& call);

}  // namespace syrtos::python
