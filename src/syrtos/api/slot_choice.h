#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "syrtos/api/surroundings.h"
#include "syrtos/job/job.h"

namespace syrtos::api {

/// So many trials at once, each with so many threads, and the samples that all of them train in a
/// second.
struct SlotWay {
  int slots = 1;
  int threads = 1;
  double samples_per_s = 0;
};

/// How trials use a machine best.
struct SlotChoice {
  SlotWay best = {};
  std::vector<SlotWay> measured = {};  ///< empty: it was said
};

/// Trains the job's network on random samples in every way that divides the cores: one trial with
/// all of them, two with half of them each, and so on. Takes about a second for each. Whoever asks
/// should have the machine alone.
SlotChoice measure_slots(const job::Job& job, const Surroundings& surroundings);

/// Without measuring: so many slots, which divide the cores.
SlotChoice divide_cores(int slots, int64_t threads, int cores);

/// "2 trials at once with 1 thread each: 24,100 samples/s; 1 with 2: 17,900".
std::string to_string(const SlotChoice& choice);
nlohmann::json to_json(const SlotChoice& choice);
/// Throws RequestError.
SlotChoice parse_slot_choice(const std::string& text);

}  // namespace syrtos::api
