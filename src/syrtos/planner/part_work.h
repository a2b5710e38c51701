#pragma once

#include <cstdint>
#include <vector>

#include "syrtos/collective/predict.h"
#include "syrtos/strategy/layout.h"
#include "syrtos/strategy/replica.h"

namespace syrtos::planner {

struct Workload;
struct Candidate;

/// What a worker that has a part of a network does in a step, by sizes and times.
struct PartWork {
  strategy::Layout layout;
  std::vector<strategy::Stage> stages;
};

/// Of each part. Buckets are as large as this link makes them.
std::vector<PartWork> part_works(const Workload& workload, const Candidate& candidate,
                                 const collective::LinkSpeed& link);

/// How long each part computes in a step, with its updates and, the first one, loading.
std::vector<double> busy_seconds(const Workload& workload, const Candidate& candidate);

/// Bytes that each part needs: weights, gradients and one state of the optimiser, activations of
/// the micro-batches that are on their way, and what crosses.
std::vector<double> part_memory(const Workload& workload, const Candidate& candidate);

/// What a pass over so many samples needs beside weights, against what gradients read of it.
double kept_scale(const Workload& workload, int64_t samples);

/// Bytes that cross in one direction between parts, and of gradients of each part, in a step: the
/// most that one worker sends or receives.
double part_wire_bytes(const Workload& workload, const Candidate& candidate);

}  // namespace syrtos::planner
