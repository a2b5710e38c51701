#pragma once

// Networks of dense layers, as plans see them, and hosts to put them on.

#include <memory>
#include <string>
#include <vector>

#include "syrtos/graph/passes.h"
#include "syrtos/nn/network.h"
#include "syrtos/planner/simulate.h"

namespace syrtos::planner {

/// Layers of so many units, one after the other, that all take as long, `seconds` for a batch.
inline Workload tower_of(const std::vector<int64_t>& units, int64_t batch, double seconds) {
  const nn::Network network(
      {.name = "tower"}, [units](nn::Builder& builder, nn::ValueId x, const nn::ModelOptions&) {
        x = builder.flatten(x);
        for (size_t i = 0; i < units.size(); ++i) {
          x = builder.relu(builder.dense("fc" + std::to_string(i), x, units[i]));
        }
        return nn::Heads{x};
      });
  nn::Model model = network.build(
      {.batch = 8, .classes = units.back(), .channels = 1, .height = 1, .width = units.front()});
  graph::recognise(model.graph);
  Workload workload;
  workload.batch = batch;
  workload.samples = 100 * batch;
  workload.compute.network = "tower";
  workload.network = std::make_shared<NetworkGraph>(std::move(model.graph), model.loss, 8);
  workload.compute.tensors = workload.network->elements();
  workload.compute.names = workload.network->tensors();
  strategy::ComputeTimes::Pass& pass = workload.compute.passes.emplace_back();
  pass.batch = batch;
  pass.seconds = seconds;
  for (size_t i = 0; i < units.size(); ++i) {  // all the same, a third of it forward
    workload.compute.layers.push_back("fc" + std::to_string(i));
    pass.forward.push_back(seconds / 3 / static_cast<double>(units.size()));
    pass.backward.push_back(2 * pass.forward.back());
  }
  pass.needed.assign(workload.compute.tensors.size(), 0);
  pass.ready.assign(workload.compute.tensors.size(), seconds);
  return workload;
}

/// 100 Gbit/s, next to no latency.
inline ClusterProfile fast_hosts(int count) {
  ClusterProfile cluster;
  cluster.uneven_sharing = 0;
  for (int i = 0; i < count; ++i) {
    HostProfile host;
    host.name = "host" + std::to_string(i + 1);
    host.bandwidth = 12.5e9;
    host.latency = 1e-7;
    cluster.hosts.push_back(host);
  }
  return cluster;
}

}  // namespace syrtos::planner
