# How every target of this repository is compiled and linked.
#
# One static library per layer; a layer's include path is the repository root, and its links are exactly the include matrix
# that tools/check_layers.py enforces: support <- codegen, support <- runtime, all <- dsl.
find_program(KILN_CCACHE ccache)
if(KILN_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${KILN_CCACHE})
  if(KILN_PRECOMPILE)  # what ccache demands before it stores what uses a precompiled header
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${KILN_CCACHE})
  endif()
  set(CMAKE_C_COMPILER_LAUNCHER ${KILN_CCACHE})
endif()
# mold links the LLVM archives in a tenth of the time; the sanitizer runtimes are linked by the compiler's default linker.
find_program(KILN_MOLD mold)
if(KILN_MOLD AND NOT KILN_SANITIZE)
  add_link_options(-fuse-ld=mold)
endif()

# Tests of whole programs that compile for the device at hand: without the CPU compiler and without a GPU they skip. The
# launcher turns the abort of an uncaught error into an exit status, for ctest counts an abort as failure in any case.
function(kiln_may_lack_cpu_compiler)
  if(NOT KILN_CPU_JIT)
    set_tests_properties(${ARGN} PROPERTIES SKIP_REGULAR_EXPRESSION "cannot load the CPU compiler libkiln_cpu.so")
  endif()
endfunction()
set(KILN_TEST_LAUNCHER "")
if(NOT KILN_CPU_JIT)
  set(KILN_TEST_LAUNCHER ${CMAKE_COMMAND} -E env)
endif()

add_library(kiln_options INTERFACE)
target_compile_options(kiln_options INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(kiln_options INTERFACE -Wno-restrict)  # false on std::string's operator+ (GCC bug 105651)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # libstdc++ 12 calls a function that it declares deprecated, inside std::stable_sort.
  target_compile_options(kiln_options INTERFACE -Wno-deprecated-declarations)
endif()
if(KILN_WERROR)
  target_compile_options(kiln_options INTERFACE -Werror)
endif()
if(KILN_SANITIZE)
  # Everywhere, tests and examples included: an instrumented library in a plain program reports nonsense.
  add_compile_options(-fsanitize=${KILN_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${KILN_SANITIZE})
endif()
# Shared libraries name all that they need; but clang links its sanitizers' functions into programs alone.
set(KILN_NO_UNDEFINED -Wl,--no-undefined)
if(KILN_SANITIZE AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  set(KILN_NO_UNDEFINED "")
endif()
if(KILN_FUZZER)
  add_compile_options(-fsanitize=fuzzer-no-link)  # counts which branches run
endif()

add_library(kiln_headers INTERFACE)
target_include_directories(kiln_headers INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
target_compile_features(kiln_headers INTERFACE cxx_std_20)

function(kiln_layer name)
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/anchor.cpp "")  # a layer may be empty for a while
  add_library(kiln_${name} STATIC ${CMAKE_CURRENT_BINARY_DIR}/anchor.cpp ${ARGN})
  target_include_directories(kiln_${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(kiln_${name} PUBLIC kiln_headers PRIVATE kiln_options)
  target_compile_options(kiln_${name} PRIVATE -ffunction-sections -fdata-sections)  # for --gc-sections in libkiln.so
  kiln_precompile(kiln_${name} ${name})
endfunction()
