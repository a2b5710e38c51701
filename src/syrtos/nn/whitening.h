#pragma once

#include "syrtos/nn/init.h"

namespace syrtos::nn {

/// A kernel [2 * values of a patch, channels, height, width] whose outputs are uncorrelated and of
/// variance 1 on patches of that covariance: the eigenvectors, largest first, each divided by
/// sqrt(eigenvalue + 5e-4), then the same negated.
void fill_whitening(Tensor& kernel, const PatchCovariance& patches);

}  // namespace syrtos::nn
