# Language level, warnings and the instruction-set variants of kernel files.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Kind of build" FORCE)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O3 -DNDEBUG")
# For code that runs seldom, and for tests: optimising takes most of compiling.
set(SYRTOS_SELDOM_FLAGS $<$<CONFIG:Release>:-O1>)

find_program(SYRTOS_CCACHE ccache)
if(SYRTOS_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Paths are hashed as seen from the checkout: a second clone finds what the first one built,
  # and so does a second build directory, also where objects have lines for debuggers.
  # For precompiled headers a sum is hashed (SyrtosPrecompiled.cmake); no macro changes them.
  set(CMAKE_CXX_COMPILER_LAUNCHER env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_PCH_EXTSUM=1 "${SYRTOS_CCACHE}")
endif()

add_compile_options(-Wall -Wextra)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 warns of "literal" + std::string, in three ways.
  add_compile_options(-Wno-restrict -Wno-stringop-overflow -Wno-array-bounds)
endif()
if(SYRTOS_WERROR)
  add_compile_options(-Werror)
endif()

# Flags of each variant of a *.isa.cc file; SYRTOS_ISA carries its name.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  set(SYRTOS_ISAS generic avx2 avx512 avx512_bf16)
  set(SYRTOS_ISA_FLAGS_generic -march=x86-64-v2)
  set(SYRTOS_ISA_FLAGS_avx2 -march=x86-64-v3)
  set(SYRTOS_ISA_FLAGS_avx512 -march=x86-64-v4 -mprefer-vector-width=512)
  set(SYRTOS_ISA_FLAGS_avx512_bf16 ${SYRTOS_ISA_FLAGS_avx512} -mavx512bf16 -mavx512vnni)
  # Files *.amx.cc are compiled once, with these. GCC 12 warns of what its own intrinsics leave open.
  set(SYRTOS_AMX_FLAGS ${SYRTOS_ISA_FLAGS_avx512_bf16} -mamx-tile -mamx-bf16
      -Wno-maybe-uninitialized -Wno-uninitialized)
else()
  set(SYRTOS_ISAS generic)
  set(SYRTOS_ISA_FLAGS_generic)
endif()
# Vectorisation of square roots and comparisons needs the last two.
set(SYRTOS_ISA_COMMON_FLAGS $<IF:$<CONFIG:Debug>,-O1,-O3> -ffp-contract=fast -fno-math-errno
    -fno-trapping-math)

# Kernels take most of the time of tests and own no memory: sanitizers may leave them alone, since
# whoever calls them is still checked.
if(CMAKE_CXX_FLAGS MATCHES "-fsanitize" AND NOT SYRTOS_SANITIZE_KERNELS)
  list(APPEND SYRTOS_ISA_COMMON_FLAGS -O2 -fno-sanitize=all)
endif()
