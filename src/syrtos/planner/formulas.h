#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "syrtos/strategy/options.h"

// How long a training takes on several workers, by closed formulas that need two measured times.
//
//   N       workers
//   D       batches to train on in all
//   t_grad  seconds to compute the gradients of one batch on one worker
//   t_comm  seconds to move all weights (or gradients) once over a full-duplex link
//
// Updates, start and end are neglected. The server is central (one more process, beside the
// workers) or distributed (each worker serves 1/N of the weights).
//
// Synchronous, an iteration:
//   central      best      (N+1) t_comm + t      one transfer at a time, pipelined
//                worst     2 N t_comm + t        all transfers at once
//   distributed            2 t_comm (N-1)/N + t
// A training is D/N iterations with t = t_grad where batches are joined, D iterations with
// t = t_grad/N where each batch is split.
//
// Asynchronous, the whole training:
//   central      best      max( (D+1) t_comm + t_grad ,  (N-1) t_comm + (D/N) (2 t_comm + t_grad) )
//                worst     (D/N) (2 N t_comm + t_grad)
//   distributed            (D/N) (2 t_comm (N-1)/N + t_grad)
//
// The estimate is the mean of best and worst time; a distributed server has one formula, which then
// is all three. The speed-up is S = D t_grad / (time of the training).
//
// D/N is a real quotient. For N = 1 the formulas stand as they are: a worker alone with a central
// server still sends and receives everything, 2 t_comm + t_grad for each batch, so S is below 1;
// with a distributed server it has nothing to send, and S is 1. For D < N (fewer batches than
// workers) the asynchronous bounds may change places: the formulas are meant for long trainings.

namespace syrtos::planner {

enum class EstimateType { async, sync_join, sync_split };
enum class ServerKind { central, distributed };

struct EstimateInput {
  double t_grad = 0;    ///< seconds
  double t_comm = 0;    ///< seconds
  int64_t workers = 1;  ///< N
  int64_t batches = 1;  ///< D
};

/// Seconds or speed-ups; `best` is the shortest time or the largest speed-up.
struct Bounds {
  double best = 0;
  double estimate = 0;
  double worst = 0;
};

constexpr int64_t kMostWorkers = 1'000'000;
constexpr int64_t kMostBatches = 1'000'000'000'000;
constexpr double kMostSeconds = 1e9;  ///< of t_grad and t_comm

/// Of the whole training. Throws RequestError when `input` makes no sense.
Bounds training_seconds(EstimateType type, ServerKind server, const EstimateInput& input);
/// Against one worker without any server.
Bounds speed_up(EstimateType type, ServerKind server, const EstimateInput& input);
/// Whether best and worst differ at all.
bool has_bounds(ServerKind server);

/// The formula for trainings of this kind.
EstimateType estimate_type_of(const strategy::Sync& sync);

/// "async", "sync-join", "sync-split"; "central", "distributed". Both throw RequestError that names
/// the known ones.
EstimateType parse_estimate_type(std::string_view text);
ServerKind parse_server_kind(std::string_view text);
std::string to_string(EstimateType type);
std::string to_string(ServerKind server);
std::vector<std::string> estimate_type_names();
std::vector<std::string> server_kind_names();

}  // namespace syrtos::planner
