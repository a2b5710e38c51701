#pragma once

namespace syrtos::ops::native {

/// Whether kernels may use AMX for bf16: the CPU has it and the operating system grants it, which
/// is asked once for the process. What a virtual machine hides of it does not matter here.
bool amx_usable();

}  // namespace syrtos::ops::native
