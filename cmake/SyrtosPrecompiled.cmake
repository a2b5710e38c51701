# syrtos_precompiled(<target> [TESTS]): compiles the target's C++ files with the common headers of
# cmake/precompiled.h (tests: precompiled_tests.h) parsed beforehand, once for all targets.
# Nothing depends on it: -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON builds the same program.

function(_syrtos_precompiled_carrier name header)
  set(empty "${PROJECT_BINARY_DIR}/${name}.cc")
  file(CONFIGURE OUTPUT "${empty}" CONTENT "" @ONLY)
  add_library(${name} OBJECT "${empty}")
  target_link_libraries(${name} PRIVATE fmt::fmt ${ARGN})
  target_precompile_headers(${name} PRIVATE "${PROJECT_SOURCE_DIR}/cmake/${header}")
endfunction()

function(syrtos_precompiled target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "TESTS" "" "")
  if(CMAKE_DISABLE_PRECOMPILE_HEADERS)
    return()
  endif()
  if(arg_TESTS)
    set(carrier syrtos_precompiled_tests)
    if(NOT TARGET ${carrier})
      _syrtos_precompiled_carrier(${carrier} precompiled_tests.h GTest::gmock)
      # Tests are executables, and headers precompiled for a library do not fit them.
      target_compile_options(${carrier} PRIVATE -fPIE)
    endif()
  else()
    set(carrier syrtos_precompiled)
    if(NOT TARGET ${carrier})
      _syrtos_precompiled_carrier(${carrier} precompiled.h)
    endif()
  endif()
  target_precompile_headers(${target} REUSE_FROM ${carrier})
endfunction()
