#pragma once

#include <atomic>

// Every operator new and malloc of this binary is counted, on all threads, by who called it
// (allocation_test.cc). Not under sanitizers, which have allocators of their own.

namespace syrtos::allocations {

extern std::atomic<bool> counting;
extern std::atomic<int> ours;
extern std::atomic<int> libraries;  ///< oneDNN's and the OpenMP runtime's own

}  // namespace syrtos::allocations
