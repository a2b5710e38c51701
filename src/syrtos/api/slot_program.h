#pragma once

#include <functional>
#include <string>

#include "syrtos/api/surroundings.h"

namespace syrtos::api {

/// Words that a search and the processes of its slots say to each other, a line of JSON each.
///
///   search -> slot   {"do": "hello", "search": DIR, "token": T}   {"do": "train", ...}
///                    {"do": "stop"}   {"do": "alive"}
///   slot -> search   {"is": "free", "sees": true}   {"is": "begin" | "epoch", ...}
///                    {"is": "end", "leaves": false, ...}   {"is": "alive"}
///
/// Both say "alive" every few seconds; who hears nothing for kSlotSilence gives the other up.
constexpr double kSlotSilence = 30;  // seconds
constexpr double kSlotAlive = 3;

/// This process as a slot of a search: does what comes on standard input, until that is closed or
/// `surroundings` say that it should stop; then it "leaves", and gets no more work.
/// `end_process` is called, on another thread, when the search is gone and this has not ended
/// within some seconds: it must not return.
void serve_slot(const Surroundings& surroundings, const std::function<void()>& end_process);

/// Measures how many trials this machine runs at once; the job comes on standard input, as a task
/// (api/task.h). A line of JSON.
std::string measure_slots_here(const Surroundings& surroundings);

}  // namespace syrtos::api
