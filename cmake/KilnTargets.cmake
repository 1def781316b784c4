# One static library per layer; a layer's include path is the repository root, and its links are exactly the matrix of
# docs/architecture: support <- codegen, support <- runtime, all <- dsl.
find_program(KILN_CCACHE ccache)
if(KILN_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${KILN_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${KILN_CCACHE})
endif()
if(NOT KILN_SANITIZE)
  find_program(KILN_MOLD mold)
  if(KILN_MOLD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_link_options(-fuse-ld=mold)
  endif()
endif()

add_library(kiln_options INTERFACE)
target_compile_options(kiln_options INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Werror)
if(KILN_SANITIZE)
  target_compile_options(kiln_options INTERFACE -fsanitize=${KILN_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(kiln_options INTERFACE -fsanitize=${KILN_SANITIZE})
endif()

add_library(kiln_headers INTERFACE)
target_include_directories(kiln_headers INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                                  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(kiln_headers INTERFACE cxx_std_20)

function(kiln_layer name)
  add_library(kiln_${name} STATIC ${ARGN})
  target_include_directories(kiln_${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(kiln_${name} PUBLIC kiln_headers PRIVATE kiln_options)
endfunction()
