# syrtos_together(<result> <target> <file>...): files that include the given C++ files several at a time, to
# be compiled in their place: most of what compiling one costs is reading headers and making templates of
# them, which neighbours share. So names in unnamed namespaces must differ within a folder. Nothing else
# depends on it: with -DSYRTOS_TOGETHER=OFF each file is compiled alone, as tools/lint reads them, which
# finds what a file forgets to include. Files with flags of their own stay alone.
#
# CMake's UNITY_BUILD would do, but names files by their whole paths, and then a compiler cache finds
# nothing in another checkout.

set(SYRTOS_FILES_TOGETHER 8)

function(syrtos_together result target)
  if(NOT SYRTOS_TOGETHER)
    set(${result} ${ARGN} PARENT_SCOPE)
    return()
  endif()
  set(units "")
  set(text "")
  set(count 0)
  foreach(file IN LISTS ARGN)
    get_source_file_property(flags "${file}" COMPILE_OPTIONS)
    if(flags)
      list(APPEND units "${file}")
      continue()
    endif()
    cmake_path(RELATIVE_PATH file BASE_DIRECTORY "${PROJECT_SOURCE_DIR}/src" OUTPUT_VARIABLE name)
    string(APPEND text "#include \"${name}\"\n")
    math(EXPR count "${count} + 1")
    math(EXPR place "${count} % ${SYRTOS_FILES_TOGETHER}")
    if(place EQUAL 0)
      _syrtos_unit(units ${target} "${text}")
      set(text "")
    endif()
  endforeach()
  if(text)
    _syrtos_unit(units ${target} "${text}")
  endif()
  set(${result} ${units} PARENT_SCOPE)
endfunction()

function(_syrtos_unit result target text)
  list(LENGTH ${result} number)
  set(unit "${PROJECT_BINARY_DIR}/together/${target}_${number}.cc")
  file(CONFIGURE OUTPUT "${unit}" CONTENT "${text}" @ONLY)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC 12 takes frames of coroutines in included files for types that headers show to others.
    set_source_files_properties("${unit}" PROPERTIES COMPILE_OPTIONS -Wno-subobject-linkage)
  endif()
  set(${result} ${${result}} "${unit}" PARENT_SCOPE)
endfunction()
