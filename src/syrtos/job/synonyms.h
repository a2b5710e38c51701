#pragma once

#include <string>
#include <string_view>

#include "syrtos/job/request.h"

namespace syrtos::job {

/// The field that people mean by a word that other programs use: "batch_size", "--learning-rate",
/// "optimizer.learning_rate", "optimiser". nullptr: it is no such word.
const JobField* field_called(std::string_view word);

/// What to say of a key that is none: "; did you mean 'optimizer.lr'?" or the keys of its section.
std::string suggest_key(std::string_view key);

}  // namespace syrtos::job
