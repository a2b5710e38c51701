#pragma once

#include <string>

#include "syrtos/api/train.h"

namespace syrtos::api {

/// A request as one line of text, as the launcher gives it to ranks. Of what the caller brought
/// along only a network that is data (nn::Network::file) is part of it.
std::string to_task(const TrainRequest& request);
/// Throws RequestError: not such a line.
TrainRequest parse_task(const std::string& line);

}  // namespace syrtos::api
