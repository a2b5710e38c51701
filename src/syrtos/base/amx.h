#pragma once

namespace syrtos {

/// Asks the operating system, once for the process, to let it use AMX's tiles; whether the CPU has
/// them with bf16 and the request was granted.
bool grant_amx();

}  // namespace syrtos
