#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>

#include "syrtos/data/pipeline/loader.h"
#include "syrtos/graph/columns.h"
#include "syrtos/graph/program.h"
#include "syrtos/nn/network.h"
#include "syrtos/ops/backend.h"

namespace syrtos::train {

/// One compiled program of a network, and where a batch goes in and its results come out.
class NetworkProgram {
 public:
  NetworkProgram(const graph::Graph& graph, ops::Backend& backend,
                 std::shared_ptr<graph::Parameters> parameters);

  graph::Program& program() { return *program_; }
  const graph::Program& program() const { return *program_; }
  int64_t batch() const { return batch_; }
  int64_t classes() const { return classes_; }
  /// Of the images it takes.
  DType dtype() const { return program_->input("images").type.dtype; }
  /// The next run is on this batch, where it is; its labels are copied.
  void use(const data::Batch& batch);
  /// The same with `count` samples of it, from its `first` on.
  void use(const data::Batch& batch, int64_t first, int64_t count);
  /// The next runs are on the program's own memory for one batch of images.
  void* use_own_images();
  /// [batch, classes] of the last run.
  std::span<const float> logits() const;
  float loss() const { return program_->read_scalar("loss"); }

 private:
  std::unique_ptr<graph::Program> program_;
  int64_t batch_ = 0;
  int64_t classes_ = 0;
  const float* logits_ = nullptr;
  void* own_images_ = nullptr;
};

/// How a network is divided between workers.
struct NetworkDivision {
  int worker = 0;
  int workers = 1;
  int64_t batch_of_all = 0;  ///< samples of all workers, of which the batch is this one's
  std::vector<graph::ColumnSplit::Layer> layers = {};
};

/// A network ready to train, to evaluate, or both: the programs share their parameters.
class CompiledNetwork {
 public:
  enum class Use { training, evaluation, both };

  /// Builds, adds gradients, optimises and compiles. With `short_batch` above 0 a second training
  /// program takes so many samples: the last ones of an epoch; of a network that is divided it is
  /// compiled when it is needed. Throws RequestError when the network
  /// does not take the options or a batch does not fit in memory. `shared`: of another network of
  /// the same kind, whose weights it trains too. `backend` makes the kernels; none: the CPU's.
  /// `layouts_of`: the batch whose kernels decide how parameters lie in memory, if not its own:
  /// workers exchange them as they lie, and kernels may want another layout for a sample more.
  CompiledNetwork(nn::Network network, nn::ModelOptions options, Use use, int64_t short_batch = 0,
                  const graph::Parameters* shared = nullptr,
                  std::shared_ptr<ops::Backend> backend = nullptr, int64_t layouts_of = 0,
                  NetworkDivision division = {});

  NetworkProgram& training() { return *whole_batch_; }
  /// The one that takes so many samples, of so many of all workers; compiled now if there is none
  /// yet: the last step of an epoch in which the number of workers has changed.
  NetworkProgram& training(int64_t samples, int64_t of_all);
  const NetworkDivision& division() const { return division_; }
  NetworkProgram& evaluation() { return *evaluation_; }
  graph::Parameters& parameters() { return *parameters_; }
  const graph::Parameters& parameters() const { return *parameters_; }
  /// The starting weights. `patches` as in nn::initialize_parameters.
  void initialize(uint64_t seed, const nn::PatchCovariance* patches = nullptr);
  const nn::Network& network() const { return network_; }
  const nn::Model& model() const { return model_; }

  /// Memory of arenas and parameters.
  int64_t bytes() const;
  const ops::Backend& backend() const { return *backend_; }

 private:
  /// Programs by own samples and, where it matters, those of all workers.
  using Size = std::pair<int64_t, int64_t>;
  Size size_of(int64_t samples, int64_t of_all) const;
  graph::Graph training_graph(int64_t samples, const graph::ColumnSplit& split) const;
  void compile_training(const Size& size);

  const nn::Network network_;
  const nn::ModelOptions options_;
  std::shared_ptr<ops::Backend> backend_;  // outlives the programs
  nn::Model model_;
  std::shared_ptr<graph::Parameters> parameters_;
  const NetworkDivision division_;
  std::map<Size, NetworkProgram> training_;
  NetworkProgram* whole_batch_ = nullptr;
  std::optional<NetworkProgram> evaluation_;
};

/// Refuses (RequestError) what needs more than the machine has free, before it is touched: the
/// kernel would grant it and end the process later.
void require_memory(int64_t bytes, std::string_view what, int processes = 1);

}  // namespace syrtos::train
