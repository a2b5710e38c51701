#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "arrays.h"
#include "request.h"
#include "syrtos/api/train.h"

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
  /// None, or called; False ends the run.
  nanobind::object on_start = {}, on_step = {}, on_epoch = {};
};

/// The same in the library's words. Throws RequestError.
api::TrainRequest train_request(const TrainCall& call);

/// The run's directory and, as JSON, how it ended. Blocks; see Aside for signals and callbacks.
nanobind::tuple train(const TrainCall& call);

}  // namespace syrtos::python
