#pragma once

#include <optional>
#include <vector>

#include "syrtos/run/directory.h"
#include "syrtos/run/exchange.h"
#include "syrtos/run/hosts.h"
#include "syrtos/run/operators.h"
#include "syrtos/run/parts.h"
#include "syrtos/trace/division_log.h"

namespace syrtos::train {

/// What processes before this one have written down about the time of a run that goes on, up to
/// the step that it goes on from; what this one measures is added to it. Worker 0's.
struct Earlier {
  std::vector<trace::RankDivision> divisions;
  int64_t end = 0;  ///< of worker 0's last record, on the clock of the first process
  std::vector<run::TrainedPart> parts;
  run::HostCurves hosts;
  std::optional<run::OperatorProfile> operators;
  std::optional<run::ExchangeProfile> exchange;
};

/// Files that are missing or damaged are as good as empty.
Earlier read_earlier(const run::Directory& directory, int64_t steps_done);

/// Each rank's records, of before and then of this process: these are `later` by so much.
std::vector<trace::RankDivision> continued(std::vector<trace::RankDivision> earlier,
                                           const std::vector<trace::RankDivision>& own,
                                           int64_t later);
/// Adds the sums over calls, if these are the same kernels in the same setting.
void add_operators(run::OperatorProfile& operators, const run::OperatorProfile& earlier);
/// Adds what crossed, if it was the same team. Times of buckets stay those of this process.
void add_exchange(run::ExchangeProfile& exchange, const run::ExchangeProfile& earlier);

}  // namespace syrtos::train
