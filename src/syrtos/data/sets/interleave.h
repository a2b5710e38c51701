#pragma once

#include "syrtos/data/dataset.h"

namespace syrtos::data {

/// Several data sets as one: samples are taken from them in turn, and from those that are left when
/// the shorter ones are used up. `names` (files, for instance) stand for them in messages; without,
/// the names of the data sets. Throws RequestError when they differ in kind, shape or classes.
std::unique_ptr<Dataset> interleave(std::vector<std::unique_ptr<Dataset>> parts,
                                    std::vector<std::string> names = {});

/// Throws RequestError that names both when they differ in dtype, channels or classes, or in size
/// where both have samples of one size.
void check_agreement(const DatasetInfo& first, const std::string& first_name,
                     const DatasetInfo& other, const std::string& other_name);

}  // namespace syrtos::data
