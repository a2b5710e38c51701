# What 'make install' puts below a prefix: the program, oneDNN with it unless it is the system's, and
# the library for programs of others, which find_package(syrtos) finds.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS syrtos RUNTIME)
set_target_properties(syrtos PROPERTIES
                      INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}/syrtos")
if(NOT dnnl_FOUND)
  install(FILES "${SYRTOS_DEPS_DIR}/onednn/lib/libdnnl.so.3"
          DESTINATION "${CMAKE_INSTALL_LIBDIR}/syrtos")
endif()
if(SYRTOS_MPI_PLUGINS)
  add_dependencies(syrtos ${SYRTOS_MPI_PLUGINS})
  install(TARGETS ${SYRTOS_MPI_PLUGINS} LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/syrtos")
endif()

# Every folder up to api as one shared library. Programs see headers, and the three libraries that
# those mention; all others stay behind it.
set(folders ${SYRTOS_FOLDERS})
list(REMOVE_ITEM folders compare cli)
set(headers ${folders})
list(TRANSFORM folders PREPEND syrtos_)
add_library(syrtos_library SHARED)
foreach(folder IN LISTS folders) # whole, not only what something asks for
  target_sources(syrtos_library PRIVATE $<TARGET_OBJECTS:${folder}>)
endforeach()
target_link_libraries(syrtos_library
                      PRIVATE ${folders}
                      INTERFACE fmt::fmt nlohmann_json::nlohmann_json Threads::Threads)
target_include_directories(syrtos_library INTERFACE "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
target_compile_features(syrtos_library INTERFACE cxx_std_20)
set_target_properties(syrtos_library PROPERTIES LINKER_LANGUAGE CXX
                      OUTPUT_NAME syrtos EXPORT_NAME syrtos
                      VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
                      LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}"
                      INSTALL_RPATH "$ORIGIN/syrtos")
if(SYRTOS_MPI_PLUGINS)
  add_dependencies(syrtos_library ${SYRTOS_MPI_PLUGINS})
endif()

install(TARGETS syrtos_library EXPORT syrtos LIBRARY)
list(REMOVE_ITEM headers ops_native ops_cpu world_mpi) # below other folders; nobody's to include
foreach(folder IN LISTS headers)
  install(DIRECTORY "src/syrtos/${folder}/" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/syrtos/${folder}"
          FILES_MATCHING PATTERN "*.h" PATTERN native EXCLUDE PATTERN cpu EXCLUDE
          PATTERN mpi EXCLUDE)
endforeach()
set(package "${CMAKE_INSTALL_LIBDIR}/cmake/syrtos")
install(EXPORT syrtos NAMESPACE syrtos:: DESTINATION "${package}" FILE syrtosTargets.cmake)
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/syrtosConfig.cmake" @ONLY CONTENT
     "include(CMakeFindDependencyMacro)
find_dependency(fmt)
find_dependency(nlohmann_json)
find_dependency(Threads)
include(\"\${CMAKE_CURRENT_LIST_DIR}/syrtosTargets.cmake\")
")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/syrtosConfigVersion.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/syrtosConfig.cmake"
              "${PROJECT_BINARY_DIR}/syrtosConfigVersion.cmake" DESTINATION "${package}")

install(FILES LICENSE THIRD_PARTY.md README.md CHANGELOG.md TYPE DOC)
install(DIRECTORY examples/ DESTINATION "${CMAKE_INSTALL_DOCDIR}/examples"
        PATTERN CMakeLists.txt EXCLUDE)
