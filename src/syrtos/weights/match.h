#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "syrtos/weights/source.h"

namespace syrtos::weights {

/// What of a file fits a network.
struct Match {
  std::map<std::string, Entry> taken = {};    ///< The network's name -> what the file has for it.
  std::vector<std::string> new_head = {};     ///< Of the head, in words: not in the file, or of
                                              ///< another number of classes.
  std::vector<std::string> superfluous = {};  ///< In the file, not in the network.
};

/// Finds for each tensor of a network the one of a file: by the same name, by the same name below a
/// prefix that wrappers add ("module.", "model."), or by the name that timm has for it. `head`: the
/// tensors that depend on the number of classes; these alone may be missing or of another shape.
/// Throws RequestError that lists what is missing or has another shape; `name` is the file's.
Match match(const std::vector<Entry>& network, const std::set<std::string>& head,
            const std::vector<Entry>& file, const std::string& name);

/// Whether a pattern with * and ? fits a name: "layer1.*".
bool fits_pattern(std::string_view pattern, std::string_view name);

}  // namespace syrtos::weights
