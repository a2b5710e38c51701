#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "syrtos/api/surroundings.h"
#include "syrtos/job/request.h"
#include "syrtos/job/resolve.h"

// Python's words as the library's requests.

namespace syrtos::python {

/// Keywords and their values as texts, in the order in which they were given.
using Keywords = std::vector<std::pair<std::string, std::string>>;

/// A network that is not of the zoo, or is named: exactly one of them.
struct NetworkChoice {
  std::string name = {};
  std::optional<nn::Network> own = {};
};

/// The field that a keyword means: "weight_decay" is --weight-decay. Throws RequestError with the
/// closest one.
const job::JobField& field_of(const std::string& keyword);

/// The job of a file (or of none) with these changes, or that of a run to go on with. Throws
/// RequestError.
job::JobRequest job_request(const std::string& job_file, const std::string& resume,
                            const Keywords& keywords);

/// The caches of the program, and what may stop the work.
api::Surroundings surroundings(std::function<bool()> should_stop);

}  // namespace syrtos::python
