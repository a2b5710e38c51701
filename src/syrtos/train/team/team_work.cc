#include "syrtos/train/team/team_work.h"

#include "syrtos/collective/measure.h"
#include "syrtos/strategy/links.h"
#include "syrtos/strategy/text.h"

namespace syrtos::train {

namespace {

bool exchanges(const strategy::Options& options, int workers) {
  return workers > 1 && !options.exchange.shares_memory();
}

/// The tensors of which each worker has some columns.
std::vector<strategy::DividedTensor> divided_of(const CompiledNetwork& network) {
  const std::vector<graph::ParameterSlot>& slots = network.parameters().slots();
  std::vector<strategy::DividedTensor> divided;
  for (size_t i = 0; i < slots.size(); ++i) {
    for (const graph::ColumnSplit::Layer& layer : network.division().layers) {
      if (slots[i].name != layer.weight && slots[i].name != layer.bias) continue;
      const auto outputs = static_cast<size_t>(slots[i].type.shape[0]);
      strategy::DividedTensor& tensor = divided.emplace_back();
      tensor.tensor = static_cast<int>(i);
      for (const int64_t columns : layer.columns) {
        tensor.elements.push_back(static_cast<size_t>(columns) * (slots[i].elements / outputs));
      }
    }
  }
  return divided;
}

strategy::Layout layout_of(const CompiledNetwork& network, const strategy::Options& options,
                           int workers) {
  strategy::Layout layout;
  layout.tensors = tensors_of(network.parameters());
  layout.divided = divided_of(network);
  size_t bytes = network.parameters().weights().size_bytes();
  for (const strategy::DividedTensor& divided : layout.divided) {
    bytes -= layout.tensors[static_cast<size_t>(divided.tensor)].elements * sizeof(float);
  }
  if (exchanges(options, workers)) {
    bytes = strategy::bucket_bytes(options.bucket_mb, options.link, workers, bytes);
  }
  layout.buckets = strategy::plan_buckets(layout.tensors, bytes, layout.divided);
  return layout;
}

NetworkReplica make_replica(const Job& job, int worker, const strategy::Options& options,
                            Learner& learner) {
  const int part = job.part_of(worker);
  const strategy::Station station{part, job.strategy.split.parts,
                                  job.ahead[static_cast<size_t>(part)]};
  return {learner.network(),
          learner.optimizer(),
          layout_of(learner.network(), options, job.replicas()),
          learner.kept(),
          {job.accumulate, learner.accumulated(), job.strategy.pipeline, station}};
}

}  // namespace

strategy::Team team_of(const Job& job) { return strategy::team_of(job.strategy, job.workers); }

Task<strategy::Options> measure_links(World& world, const Job& job) {
  strategy::Options options = job.strategy;
  const strategy::Team team = team_of(job);
  if (exchanges(options, team.workers)) {
    const collective::Group group = collective::Group::of(world, team.worker_ranks());
    options.link_is_known = group.hosts() > 1;
    if (!options.link_is_known) {
      // What is measured here says more of other programs than of memory.
      options.link = collective::kMemory;
    } else if (!job.strategy.link_is_known) {
      options.link = strategy::as_written(co_await collective::measure_link(world, group));
    }
  }
  co_return options;
}

TeamWork::TeamWork(World& world, const Job& job, const strategy::Options& options, Learner& learner,
                   const strategy::Meetings& meetings)
    : world_(world),
      team_(team_of(job)),
      options_(options),
      meetings_(meetings),
      replica_(make_replica(job, world.rank(), options, learner)),
      part_tensors_(world, team_, learner.tensors()),
      strategy_(strategy::make_strategy(world, team_, options_, job.optimizer, replica_)),
      clock_(world),
      clocks_(world, clock_, options_.tolerates_losses()),
      server_clocks_(world, clock_, false),
      sums_(world, team_, options_, meter(), clocks_) {
  if (job.replay.empty()) return;
  replica_.replay(strategy::read_compute_times(job.replay));
}

Task<> TeamWork::begin() {
  co_await strategy_->begin();
  co_await align_clocks();
}

Task<> TeamWork::align_clocks() {
  if (alone()) co_return;
  const Meter::Doing waits(meter(), Part::network);
  std::vector<world::Rank> others;
  for (int worker = 1; worker < workers(); ++worker) {
    if (meetings_.present()[static_cast<size_t>(worker)]) others.push_back(worker);
  }
  co_await clocks_.align(others);
}

Task<std::vector<std::string>> TeamWork::hear_servers(strategy::Command what) {
  std::vector<std::string> texts;
  if (world_.rank() != 0 || team_.servers == 0) co_return texts;
  const Meter::Doing waits(meter(), Part::network);
  co_await strategy_->ask_servers(what);
  std::vector<world::Rank> servers;
  for (int k = 0; k < team_.servers; ++k) servers.push_back(team_.server_rank(k));
  co_await server_clocks_.align(servers);
  for (const world::Rank server : servers) {
    std::string text = co_await strategy::receive_text(world_, server, strategy::told_tag(heard_));
    texts.push_back(std::move(text));
  }
  ++heard_;
  co_return texts;
}

}  // namespace syrtos::train
