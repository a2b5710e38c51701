# syrtos_folder(<name> [PATH <dir under src/syrtos>] [WITHOUT <subfolder>...]
#               [USES <folder>...] [EXTERNAL <library>...] [PRIVATE <library>...]
#               [MAIN <executable>] [SELDOM] [ALONE])
#
# Makes the target syrtos_<name> (alias syrtos::<name>) of every *.cc below the
# folder; *.isa.cc files are compiled once per instruction set with SYRTOS_ISA
# defined, *.amx.cc files once for CPUs with AMX. MAIN makes an executable of the
# folder's main.cc. SELDOM says that its code runs a few times in a command or a step,
# and has no loops over elements: it is compiled quickly rather than to be quick. ALONE says that each
# of its files has tables and plans of its own under the same names: they are compiled one by one.
#
# What may be included is enforced twice. A target shows only its own folder,
# through a directory of links in the build tree, so that a header outside of
# what is linked is not found. And before a folder is compiled its includes are
# compared with USES, which also refuses what is visible only because a used
# folder uses it.

set(SYRTOS_FOLDERS "" CACHE INTERNAL "Folders with files")

function(syrtos_folder name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "SELDOM;ALONE" "PATH;MAIN" "WITHOUT;USES;EXTERNAL;PRIVATE")
  if(NOT arg_PATH)
    set(arg_PATH ${name})
  endif()
  set(dir "${PROJECT_SOURCE_DIR}/src/syrtos/${arg_PATH}")
  file(GLOB_RECURSE files CONFIGURE_DEPENDS "${dir}/*.cc" "${dir}/*.h" "${dir}/*.inc")
  foreach(sub IN LISTS arg_WITHOUT)
    list(FILTER files EXCLUDE REGEX "^${dir}/${sub}/")
  endforeach()
  if(NOT files)
    return()
  endif()
  set(SYRTOS_FOLDERS ${SYRTOS_FOLDERS} ${name} CACHE INTERNAL "")

  _syrtos_links(${name} ${arg_PATH} "${arg_WITHOUT}" include_dir)

  set(sources ${files})
  list(FILTER sources INCLUDE REGEX "\\.cc$")
  set(isa_sources ${sources})
  list(FILTER isa_sources INCLUDE REGEX "\\.isa\\.cc$")
  set(amx_sources ${sources})
  list(FILTER amx_sources INCLUDE REGEX "\\.amx\\.cc$")
  list(FILTER sources EXCLUDE REGEX "\\.(isa|amx)\\.cc$")
  if(arg_MAIN)
    list(REMOVE_ITEM sources "${dir}/main.cc")
  endif()
  if(NOT arg_ALONE)
    syrtos_together(sources syrtos_${name} ${sources})
  endif()

  set(libraries ${arg_EXTERNAL})
  foreach(used IN LISTS arg_USES)
    if(used IN_LIST SYRTOS_FOLDERS)
      list(APPEND libraries syrtos::${used})
    endif()
  endforeach()

  set(target syrtos_${name})
  if(sources OR isa_sources)
    add_library(${target} STATIC ${sources})
    target_include_directories(${target} PUBLIC "${include_dir}")
    target_link_libraries(${target} PUBLIC ${libraries} PRIVATE ${arg_PRIVATE})
    set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
    if(arg_SELDOM)
      target_compile_options(${target} PRIVATE ${SYRTOS_SELDOM_FLAGS})
    endif()
    if(sources)
      syrtos_precompiled(${target})
    endif()
    set(scope PUBLIC)
  else()
    add_library(${target} INTERFACE)
    target_include_directories(${target} INTERFACE "${include_dir}")
    target_link_libraries(${target} INTERFACE ${libraries})
    set(scope INTERFACE)
  endif()
  add_library(syrtos::${name} ALIAS ${target})
  if(name STREQUAL "base")
    target_compile_definitions(${target} ${scope} SYRTOS_VERSION="${PROJECT_VERSION}")
  endif()

  _syrtos_check_includes(${name} "${dir}" "${files}" "${arg_USES}")
  add_dependencies(${target} ${target}_includes)

  if(isa_sources)
    foreach(isa IN LISTS SYRTOS_ISAS)
      set(variant ${target}_${isa})
      add_library(${variant} OBJECT ${isa_sources})
      target_include_directories(${variant} PRIVATE "${include_dir}")
      target_link_libraries(${variant} PRIVATE ${libraries} ${arg_PRIVATE})
      target_compile_definitions(${variant} PRIVATE SYRTOS_ISA=${isa})
      target_compile_options(${variant} PRIVATE ${SYRTOS_ISA_COMMON_FLAGS}
                             ${SYRTOS_ISA_FLAGS_${isa}})
      target_sources(${target} PRIVATE $<TARGET_OBJECTS:${variant}>)
      add_dependencies(${variant} ${target}_includes)
    endforeach()
  endif()

  if(amx_sources AND SYRTOS_AMX_FLAGS)
    add_library(${target}_amx OBJECT ${amx_sources})
    target_include_directories(${target}_amx PRIVATE "${include_dir}")
    target_link_libraries(${target}_amx PRIVATE ${libraries} ${arg_PRIVATE})
    target_compile_options(${target}_amx PRIVATE ${SYRTOS_ISA_COMMON_FLAGS} ${SYRTOS_AMX_FLAGS})
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_amx>)
    add_dependencies(${target}_amx ${target}_includes)
  endif()

  if(arg_MAIN AND EXISTS "${dir}/main.cc")
    add_executable(${arg_MAIN} "${dir}/main.cc")
    target_link_libraries(${arg_MAIN} PRIVATE syrtos::${name})
    set_target_properties(${arg_MAIN} PROPERTIES
                          RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
  endif()
endfunction()

# A directory in which nothing but this folder is visible as syrtos/<path>.
function(_syrtos_links name path without result)
  set(root "${PROJECT_BINARY_DIR}/include/${name}")
  set(from "${PROJECT_SOURCE_DIR}/src/syrtos/${path}")
  set(to "${root}/syrtos/${path}")
  if(NOT without)
    cmake_path(GET to PARENT_PATH parent)
    file(MAKE_DIRECTORY "${parent}")
    file(CREATE_LINK "${from}" "${to}" SYMBOLIC)
  else()
    # Part of the folder belongs to other targets: link its entries one by one.
    if(IS_SYMLINK "${to}") # of an older configuration
      file(REMOVE "${to}")
    endif()
    file(MAKE_DIRECTORY "${to}")
    file(GLOB entries CONFIGURE_DEPENDS RELATIVE "${from}" LIST_DIRECTORIES true "${from}/*")
    file(GLOB stale RELATIVE "${to}" LIST_DIRECTORIES true "${to}/*")
    list(REMOVE_ITEM entries ${without})
    foreach(entry IN LISTS stale)
      if(NOT entry IN_LIST entries)
        file(REMOVE "${to}/${entry}")
      endif()
    endforeach()
    foreach(entry IN LISTS entries)
      file(CREATE_LINK "${from}/${entry}" "${to}/${entry}" SYMBOLIC)
    endforeach()
  endif()
  set(${result} "${root}" PARENT_SCOPE)
endfunction()

function(_syrtos_check_includes name dir files uses)
  set(stamp "${PROJECT_BINARY_DIR}/include/${name}.checked")
  set(script "${PROJECT_SOURCE_DIR}/cmake/check_includes.cmake")
  list(JOIN uses "," used)
  # The list goes through a file: a command line would grow with the folder.
  set(list_file "${PROJECT_BINARY_DIR}/include/${name}.files")
  list(JOIN files "\n" lines)
  file(CONFIGURE OUTPUT "${list_file}" CONTENT "${lines}\n" @ONLY)
  add_custom_command(
    OUTPUT "${stamp}"
    COMMAND "${CMAKE_COMMAND}" -DFOLDER=${name} -DUSES=${used} -DFILES=${list_file}
            -DROOT=${PROJECT_SOURCE_DIR}/src/ -P "${script}"
    COMMAND "${CMAKE_COMMAND}" -E touch "${stamp}"
    DEPENDS ${files} "${script}" "${list_file}"
    COMMENT "Checking the includes of ${name}"
    VERBATIM)
  add_custom_target(syrtos_${name}_includes DEPENDS "${stamp}")
endfunction()
