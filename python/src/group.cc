#include "group.h"

#include <optional>

#include "syrtos/base/config.h"
#include "syrtos/base/cpu.h"
#include "syrtos/base/descriptor.h"
#include "syrtos/base/error.h"

namespace syrtos::python {

namespace nb = nanobind;

namespace {

/// Whether Ctrl-C was pressed: then Python's exception is set in this thread.
bool has_signals() {
  const nb::gil_scoped_acquire locked;
  return PyErr_CheckSignals() != 0;
}

world::Element element_of(const PyGroup::Any& values) {
  if (values.dtype() == nb::dtype<float>()) return world::Element::f32;
  if (values.dtype() == nb::dtype<double>()) return world::Element::f64;
  if (values.dtype() == nb::dtype<int64_t>()) return world::Element::i64;
  fail_request("all_reduce: expected float32, float64 or int64");
}

world::Reduction reduction_of(const std::string& word) {
  if (word == "sum") return world::Reduction::sum;
  if (word == "min") return world::Reduction::min;
  if (word == "max") return world::Reduction::max;
  fail_request("all_reduce: expected sum, min, max or mean, found '{}'", word);
}

}  // namespace

PyGroup::PyGroup(int patience, bool encrypted) {
  const Environment environment = read_environment();
  std::optional<launch::StartedRank> started;
  // mpirun itself may have been started by srun, whose variables its ranks see too.
  if (environment.scheduler.contains("OMPI_COMM_WORLD_SIZE")) {
    started = launch::find_mpirun_rank(environment.scheduler);
  } else {
    started = launch::find_started_rank(environment.scheduler);
    if (!started) started = launch::find_mpirun_rank(environment.scheduler);
  }
  if (!started) {
    group_ = std::make_unique<api::WorkerGroup>();
    return;
  }
  if (const std::string note = started->note(); started->rank == 0 && !note.empty()) {
    if (PyErr_WarnEx(PyExc_UserWarning, note.c_str(), 2) != 0) throw nb::python_error();
  }
  raise_descriptor_limit();
  wait([&] {
    group_ = std::make_unique<api::WorkerGroup>(
        *started, api::WorkerGroup::Options{.patience = patience,
                                            .encrypted = encrypted,
                                            .cores = cpu_info().cores,
                                            .should_stop = has_signals});
  });
}

void PyGroup::wait(const std::function<void()>& work) {
  std::exception_ptr failure;
  {
    const nb::gil_scoped_release released;
    try {
      work();
    } catch (...) {
      failure = std::current_exception();
    }
  }
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  if (failure) std::rethrow_exception(failure);
}

void PyGroup::all_reduce(const Any& values, const std::string& reduction) {
  const collective::Values numbers(values.data(), values.size(), element_of(values));
  const world::Reduction how = reduction_of(reduction);
  wait([&] { group_->all_reduce(numbers, how); });
}

void PyGroup::broadcast(const Any& values, int root) {
  wait([&] { group_->broadcast(values.data(), values.nbytes(), root); });
}

void PyGroup::barrier() {
  wait([&] { group_->barrier(); });
}

void PyGroup::leave() {
  wait([&] { group_->leave(); });
}

void PyGroup::all_reduce(const collective::Values& values, collective::Reduction reduction) {
  group_->all_reduce(values, reduction);
}

void PyGroup::broadcast(void* data, size_t bytes, int root) {
  group_->broadcast(data, bytes, root);
}

}  // namespace syrtos::python
