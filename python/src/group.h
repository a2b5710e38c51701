#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <string>

#include "syrtos/api/worker_group.h"

namespace syrtos::python {

/// The processes that mpirun, torchrun or srun has started together, and what they exchange in
/// loops of one's own. Ctrl-C ends a wait, and the group.
class PyGroup {
 public:
  /// Found in the environment; alone where that says nothing of others.
  PyGroup(int patience, bool encrypted);

  int rank() const { return group_->rank(); }
  int size() const { return group_->size(); }
  int here() const { return group_->here(); }

  using Any = nanobind::ndarray<nanobind::c_contig, nanobind::device::cpu>;
  /// In place: f32, f64 or s64. `reduction`: "sum", "min" or "max".
  void all_reduce(const Any& values, const std::string& reduction);
  /// In place, of any type.
  void broadcast(const Any& values, int root);
  void barrier();
  void leave();

  // Without the interpreter's lock.
  void all_reduce(const collective::Values& values,
                  collective::Reduction reduction = collective::Reduction::sum);
  void broadcast(void* data, size_t bytes, int root);
  api::WorkerGroup& workers() { return *group_; }

  /// Does it without the lock. What a signal has raised comes before what that has ended.
  void wait(const std::function<void()>& work);

 private:
  std::function<bool()> should_stop_;
  std::unique_ptr<api::WorkerGroup> group_;
};

}  // namespace syrtos::python
