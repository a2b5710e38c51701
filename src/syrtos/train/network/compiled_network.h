#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "syrtos/graph/columns.h"
#include "syrtos/graph/placement.h"
#include "syrtos/nn/network.h"
#include "syrtos/ops/backend.h"
#include "syrtos/train/network/network_program.h"

namespace syrtos::train {

/// How a network is divided between workers.
struct NetworkDivision {
  int worker = 0;  ///< of those that have a part of each batch, as the next two
  int workers = 1;
  int64_t batch_of_all = 0;  ///< samples of all workers, of which the batch is this one's
  std::vector<graph::ColumnSplit::Layer> layers = {};
  /// Pieces of the network, and those that this worker has.
  graph::Placement placement = {};
  std::vector<int> pieces = {0};

  bool in_pieces() const { return placement.pieces > 1; }
};

/// Which of several programs of one size: of a piece of those that this worker has, and, where
/// several micro-batches are on their way in it, for one of them.
struct Instance {
  size_t piece = 0;
  size_t slot = 0;
  auto operator<=>(const Instance&) const = default;  // NOLINT(modernize-use-nullptr): clang's 0
};

/// A network ready to train, to evaluate, or both: the programs share their parameters. Of a
/// network in pieces it is those that one worker has.
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
  NetworkProgram& training(int64_t samples, int64_t of_all, const Instance& instance = {});
  const NetworkDivision& division() const { return division_; }
  /// Pieces of the network that this worker has.
  size_t pieces() const { return division_.pieces.size(); }
  /// Whether it reads images, and does not get all it needs from other workers.
  bool has_images() const;
  NetworkProgram& evaluation(size_t piece = 0) { return evaluation_[piece]; }
  graph::Parameters& parameters() { return *parameters_; }
  const graph::Parameters& parameters() const { return *parameters_; }
  /// The starting weights. `patches` as in nn::initialize_parameters.
  void initialize(uint64_t seed, const nn::PatchCovariance* patches = nullptr);
  const nn::Network& network() const { return network_; }
  /// All of it, whatever this worker has.
  const nn::Model& model() const { return model_; }

  /// Memory of arenas and parameters.
  int64_t bytes() const;
  const ops::Backend& backend() const { return *backend_; }

 private:
  /// Programs by own samples and, where it matters, those of all workers.
  using Size = std::pair<int64_t, int64_t>;
  using Key = std::pair<Size, Instance>;
  Size size_of(int64_t samples, int64_t of_all) const;
  graph::ColumnSplit columns_of(const Size& size) const;
  std::vector<graph::Graph> training_graphs(int64_t samples, const graph::ColumnSplit& split) const;
  std::vector<graph::Graph> evaluation_graphs() const;
  std::vector<graph::Graph> own_pieces(graph::Graph whole, const std::vector<int>& piece_of) const;
  std::vector<NetworkProgram> compile(std::vector<graph::Graph> graphs, const nn::Task& task,
                                      int64_t samples);

  const nn::Network network_;
  const nn::ModelOptions options_;
  std::shared_ptr<ops::Backend> backend_;  // outlives the programs
  nn::Model model_;
  std::shared_ptr<graph::Parameters> parameters_;
  const NetworkDivision division_;
  std::shared_ptr<Buffer> passing_;  // what pieces use in turn
  std::map<Key, NetworkProgram> training_;
  NetworkProgram* whole_batch_ = nullptr;
  std::vector<NetworkProgram> evaluation_;
};

/// Refuses (RequestError) what needs more than the machine has free, before it is touched: the
/// kernel would grant it and end the process later.
void require_memory(int64_t bytes, std::string_view what, int processes = 1);

}  // namespace syrtos::train
