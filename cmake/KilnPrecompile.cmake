# Precompiled headers (KILN_PRECOMPILE, on in the asan preset): they halve what clang needs for a source. The release and lint
# builds go without, so that a source that forgets an #include fails there.
option(KILN_PRECOMPILE "Precompile common headers" OFF)
set(standard_headers <algorithm> <array> <atomic> <bit> <charconv> <chrono> <cmath> <complex> <cstdint> <cstdio> <cstdlib> <cstring>
                     <functional> <limits> <map> <memory> <mutex> <numeric> <optional> <set> <span> <string> <string_view>
                     <unordered_map> <unordered_set> <utility> <vector> <fmt/format.h>)
set(kiln_precompiled_support ${standard_headers} support/check.h support/env.h support/files.h support/log.h)
set(kiln_precompiled_codegen ${kiln_precompiled_support} codegen/emit/cuda_types.h codegen/ir/graph.h codegen/ir/kernel.h
                             codegen/ir/op_info.h codegen/ir/reduction.h codegen/ir/stages.h codegen/pass/builder.h
                             codegen/pass/passes.h codegen/schedule/schedule.h)
set(kiln_precompiled_runtime ${kiln_precompiled_support} runtime/cuda_interface.h runtime/runtime.h)
set(kiln_precompiled_dsl ${kiln_precompiled_codegen} runtime/runtime.h dsl/infer.h dsl/session.h dsl/shapes.h)
set(kiln_precompiled_tests ${kiln_precompiled_codegen} <gtest/gtest.h> <random> <thread> runtime/runtime.h)
set(kiln_precompiled_optimised_tests ${kiln_precompiled_tests})  # for what is compiled with another -O

# kiln_precompile(TARGET SET): the first target of a set compiles its headers, the others reuse them.
function(kiln_precompile target set)
  if(NOT KILN_PRECOMPILE)
    return()
  endif()
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")  # for ccache
  endif()
  get_property(owner GLOBAL PROPERTY kiln_precompiled_${set}_by)
  if(owner)
    target_precompile_headers(${target} REUSE_FROM ${owner})
    return()
  endif()
  list(TRANSFORM kiln_precompiled_${set} PREPEND ${PROJECT_SOURCE_DIR}/ REGEX "^[^<]" OUTPUT_VARIABLE headers)
  target_precompile_headers(${target} PRIVATE ${headers})
  # CMake gives the file that it writes an old date, so a change of the list alone would go unseen.
  set_source_files_properties(${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${target}.dir/cmake_pch.hxx.cxx PROPERTIES
                              OBJECT_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/KilnPrecompile.cmake)
  set_property(GLOBAL PROPERTY kiln_precompiled_${set}_by ${target})
endfunction()
