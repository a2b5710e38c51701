# syrtos::dnnl: the system's oneDNN (3.2 or later, OpenMP or thread runtime) when
# there is one, otherwise the one that tools/bootstrap unpacked.

find_package(dnnl 3.2 CONFIG QUIET)
if(dnnl_FOUND AND DNNL_CPU_RUNTIME MATCHES "SYCL|DPCPP")
  message(STATUS "oneDNN ${dnnl_VERSION} in ${dnnl_DIR} needs a SYCL runtime: not used")
  set(dnnl_FOUND FALSE)
endif()

if(dnnl_FOUND)
  message(STATUS "oneDNN ${dnnl_VERSION} of the system: ${dnnl_DIR}")
  add_library(syrtos_dnnl INTERFACE)
  target_link_libraries(syrtos_dnnl INTERFACE DNNL::dnnl)
else()
  set(_dnnl "${SYRTOS_DEPS_DIR}/onednn")
  if(NOT EXISTS "${_dnnl}/lib/libdnnl.so.3")
    message(FATAL_ERROR "oneDNN not found.\n"
            "  expected: a system oneDNN >= 3.2, or ${_dnnl}/lib/libdnnl.so.3\n"
            "  found:    neither\n"
            "  to do:    run tools/bootstrap")
  endif()
  # The archive also carries a libgomp; it is not unpacked, so that oneDNN and
  # our own parallel loops share the system's one pool of threads.
  add_library(syrtos_dnnl SHARED IMPORTED)
  set_target_properties(syrtos_dnnl PROPERTIES
    IMPORTED_LOCATION "${_dnnl}/lib/libdnnl.so.3"
    IMPORTED_SONAME libdnnl.so.3
    INTERFACE_INCLUDE_DIRECTORIES "${_dnnl}/include")
endif()
add_library(syrtos::dnnl ALIAS syrtos_dnnl)
