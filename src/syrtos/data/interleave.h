#pragma once

#include "syrtos/data/dataset.h"

namespace syrtos::data {

/// Several data sets as one: samples are taken from them in turn, and from those that are left when
/// the shorter ones are used up. `names` (files, for instance) stand for them in messages; without,
/// the names of the data sets. Throws RequestError when they differ in kind, shape or classes.
std::unique_ptr<Dataset> interleave(std::vector<std::unique_ptr<Dataset>> parts,
                                    std::vector<std::string> names = {});

}  // namespace syrtos::data
