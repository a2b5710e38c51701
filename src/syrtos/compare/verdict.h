#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "syrtos/compare/arrays.h"
#include "syrtos/compare/ours.h"

namespace syrtos::compare {

/// Which layer differs first, and how, as far as that can be told.
struct Cause {
  std::string layer;  ///< Empty: none was found.
  std::string how;
};

/// Compares every output of the forward pass, in order. What the first one that differs would be
/// with other paddings, another epsilon, another order and so on is computed and compared with what
/// the peer has. `truth`: from our references. `tolerance`: relative, of one output.
Cause forward_cause(const nlohmann::json& description, const Arrays& truth, const Arrays& theirs,
                    double tolerance);

/// The forward passes agree and the gradients do not.
Cause gradient_cause(const nlohmann::json& description, const Arrays& ours, const Arrays& theirs,
                     double tolerance);

/// The gradients agree and what one step made of the weights does not.
struct Step {
  const Arrays& before;
  const Arrays& ours;    ///< after it
  const Arrays& theirs;  ///< after it
  Rule rule;
};
Cause update_cause(const nlohmann::json& description, const Step& step, double tolerance);

}  // namespace syrtos::compare
