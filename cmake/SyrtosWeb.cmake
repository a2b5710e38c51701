# Files as bytes in the library, so that the program needs no other file.

# Of web/ and uPlot: pages need no network either.

function(syrtos_embed_web target)
  set(uplot "${SYRTOS_DEPS_DIR}/uplot")
  if(NOT EXISTS "${uplot}/uPlot.iife.min.js")
    message(FATAL_ERROR "uPlot is missing.\n  expected: ${uplot}/uPlot.iife.min.js\n"
                        "  to do:    run tools/bootstrap")
  endif()
  set(files
    "page_html=${PROJECT_SOURCE_DIR}/web/page.html" "page_css=${PROJECT_SOURCE_DIR}/web/page.css"
    "page_js=${PROJECT_SOURCE_DIR}/web/page.js"
    "timeline_js=${PROJECT_SOURCE_DIR}/web/timeline.js"
    "runs_js=${PROJECT_SOURCE_DIR}/web/runs.js"
    "search_js=${PROJECT_SOURCE_DIR}/web/search.js" "chart_css=${uplot}/uPlot.min.css"
    "chart_js=${uplot}/uPlot.iife.min.js" "chart_license=${uplot}/LICENSE")
  syrtos_embed(${target} report ${files})
endfunction()

# The adapters of other frameworks, which the program unpacks where it runs them.
function(syrtos_embed_adapters target)
  set(files "protocol_py=${PROJECT_SOURCE_DIR}/compare/syrtos_peer.py")
  foreach(peer IN ITEMS numpy pytorch tensorflow mxnet horovod)
    list(APPEND files "${peer}_py=${PROJECT_SOURCE_DIR}/compare/${peer}_peer.py")
  endforeach()
  syrtos_embed(${target} compare ${files})
endfunction()

# syrtos_embed(<target> <namespace> <name>=<path>...)
function(syrtos_embed target namespace)
  string(REGEX REPLACE "[a-z_]+=" "" depends "${ARGN}")
  string(REPLACE ";" "," list "${ARGN}")
  set(output "${PROJECT_BINARY_DIR}/${namespace}_files.cc")
  set(script "${PROJECT_SOURCE_DIR}/cmake/embed.cmake")
  add_custom_command(
    OUTPUT "${output}"
    COMMAND "${CMAKE_COMMAND}" "-DFILES=${list}" "-DNAMESPACE=${namespace}" "-DOUTPUT=${output}"
            -P "${script}"
    DEPENDS ${depends} "${script}"
    COMMENT "Embedding the files of ${namespace}"
    VERBATIM)
  target_sources(${target} PRIVATE "${output}")
endfunction()
