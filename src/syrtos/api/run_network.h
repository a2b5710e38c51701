#pragma once

#include <filesystem>
#include <string>

#include "syrtos/api/train.h"

// Networks that come as data, as runs keep them; for the other files of this folder.

namespace syrtos::api {

/// What the request brings along, and, where it goes on with a run whose network came as data, that
/// network as the run keeps it. Throws RequestError.
job::Own own_of(const TrainRequest& request, const job::JobRequest& job);

/// The network that a checkpoint refers to by name, or by the copy beside it. Throws RequestError.
nn::Network network_of_checkpoint(const std::filesystem::path& checkpoint,
                                  const nn::NetworkReference& reference);

}  // namespace syrtos::api
