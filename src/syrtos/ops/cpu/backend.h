#pragma once

#include <memory>

#include "syrtos/ops/backend.h"

namespace syrtos::ops::cpu {

/// The CPU backend: convolutions and matrix products by oneDNN, the rest (and weight gradients
/// where ours are faster) by ops/native. Uses the thread pool of base/parallel.h.
std::unique_ptr<Backend> make_backend();

/// "3.13.0"
std::string version();

/// Primitives created by this process so far: a step must not raise it.
int64_t primitives_created();

}  // namespace syrtos::ops::cpu
