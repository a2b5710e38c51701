#pragma once

#include "syrtos/nn/network.h"

// Several networks of one kind in one program: they read the same samples and have weights of their
// own. Small ones use a machine better so than one after the other: layers of a few channels become
// layers of many.

namespace syrtos::nn {

/// So many of them; its scores are the logarithm of their mean probability. Each parameter is those
/// of the members, one behind the other, and starts as the member would alone from the seed, the
/// one after it and so on. The name says it: "lenet5:members=8". Building throws RequestError for
/// layers that would mix members.
Network side_by_side(const Network& network, int64_t members);

/// How many a reference asks for; 1: a usual network. Throws RequestError.
int64_t members_of(const NetworkReference& reference);
/// Of one of them alone.
NetworkReference member_reference(NetworkReference reference);

}  // namespace syrtos::nn
