# The files of web/ and uPlot, as bytes in the library: pages need no other file and no network.
# syrtos_embed_web(<target>)

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
    "runs_js=${PROJECT_SOURCE_DIR}/web/runs.js" "chart_css=${uplot}/uPlot.min.css"
    "chart_js=${uplot}/uPlot.iife.min.js" "chart_license=${uplot}/LICENSE")
  string(REGEX REPLACE "[a-z_]+=" "" depends "${files}")
  string(REPLACE ";" "," list "${files}")
  set(output "${PROJECT_BINARY_DIR}/web_files.cc")
  set(script "${PROJECT_SOURCE_DIR}/cmake/embed.cmake")
  add_custom_command(
    OUTPUT "${output}"
    COMMAND "${CMAKE_COMMAND}" "-DFILES=${list}" "-DOUTPUT=${output}" -P "${script}"
    DEPENDS ${depends} "${script}"
    COMMENT "Embedding the files of pages"
    VERBATIM)
  target_sources(${target} PRIVATE "${output}")
endfunction()
