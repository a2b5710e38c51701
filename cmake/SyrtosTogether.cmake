# syrtos_together(<target>): compiles its C++ files several at a time, as one unit: most of what compiling
# one costs is reading headers and making templates of them, which neighbours share. So names in unnamed
# namespaces must differ within a folder. Nothing else depends on it: with -DSYRTOS_TOGETHER=OFF each file
# is compiled alone, as tools/lint reads them, which finds what a file forgets to include.

function(syrtos_together target)
  if(SYRTOS_TOGETHER)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
    # GCC 12 takes frames of coroutines in included files for types that headers show to others.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()
