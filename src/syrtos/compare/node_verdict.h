#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "syrtos/compare/arrays.h"

namespace syrtos::compare {

/// How this node's output came to be what the peer has, given that its inputs are equal: what it
/// would be with other attributes is computed by our references until one fits.
std::string explain_node(const nlohmann::json& node, const Arrays& truth,
                         const ops::RefTensor& theirs, double tolerance);

}  // namespace syrtos::compare
