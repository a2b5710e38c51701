# syrtos_precompiled(<target> [TESTS]): compiles the target's C++ files with the common headers of
# cmake/precompiled.h (tests: precompiled_tests.h) parsed beforehand, once for all targets.
# Nothing depends on it: -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON builds the same program.

function(_syrtos_precompiled_carrier name header versions)
  set(empty "${PROJECT_BINARY_DIR}/${name}.cc")
  file(CONFIGURE OUTPUT "${empty}" CONTENT "" @ONLY)
  add_library(${name} OBJECT EXCLUDE_FROM_ALL "${empty}")
  target_link_libraries(${name} PRIVATE fmt::fmt ${ARGN})
  target_precompile_headers(${name} PRIVATE "${PROJECT_SOURCE_DIR}/cmake/${header}")

  # GCC never writes the same file twice: ccache goes by this sum of what it is made of.
  set(parts "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} fmt ${fmt_VERSION} ${versions}")
  foreach(file IN ITEMS precompiled.h ${header})
    file(READ "${PROJECT_SOURCE_DIR}/cmake/${file}" text)
    string(APPEND parts "${text}")
    set_property(DIRECTORY "${PROJECT_SOURCE_DIR}" APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
                 "${PROJECT_SOURCE_DIR}/cmake/${file}")
  endforeach()
  string(SHA256 sum "${parts}")
  file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${name}.dir/cmake_pch.hxx.gch.sum" "${sum}\n")
endfunction()

function(syrtos_precompiled target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "TESTS" "" "")
  if(CMAKE_DISABLE_PRECOMPILE_HEADERS)
    return()
  endif()
  if(arg_TESTS)
    set(carrier syrtos_precompiled_tests)
    if(NOT TARGET ${carrier})
      _syrtos_precompiled_carrier(${carrier} precompiled_tests.h "gtest ${GTest_VERSION}"
                                  GTest::gmock)
      # Tests are executables, and headers precompiled for a library do not fit them.
      target_compile_options(${carrier} PRIVATE -fPIE)
    endif()
  else()
    set(carrier syrtos_precompiled)
    if(NOT TARGET ${carrier})
      _syrtos_precompiled_carrier(${carrier} precompiled.h "")
    endif()
  endif()
  target_precompile_headers(${target} REUSE_FROM ${carrier})
endfunction()
