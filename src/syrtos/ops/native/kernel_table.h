#pragma once

// Each subject X has a table of function pointers (X_kernels.h) that X.isa.cc fills once for each
// instruction set; X.cc checks arguments, splits the work over threads and calls the table of this
// CPU. Kernels work on ranges and know nothing of threads, so that an .isa.cc file needs no inline
// function of other headers that could leak into code for lesser CPUs.

namespace syrtos::ops::native {

/// Kernels over tensors stand in arrays of this size, for DType::f32 and DType::bf16.
inline constexpr int kElementTypes = 2;

}  // namespace syrtos::ops::native

/// Declares the tables `name` of type `Type`; to be used inside syrtos::ops::native.
#if defined(__x86_64__)
#define SYRTOS_DECLARE_KERNELS(Type, name) \
  namespace generic {                      \
  extern const Type name;                  \
  }                                        \
  namespace avx2 {                         \
  extern const Type name;                  \
  }                                        \
  namespace avx512 {                       \
  extern const Type name;                  \
  }                                        \
  namespace avx512_bf16 {                  \
  extern const Type name;                  \
  }
#else
#define SYRTOS_DECLARE_KERNELS(Type, name) \
  namespace generic {                      \
  extern const Type name;                  \
  }
#endif
