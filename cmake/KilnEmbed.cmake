# kiln_embed_bundle(TARGET BUNDLE): puts a bundle of precompiled kernels into a program or library.
#
# TARGET is an executable or a library that links kiln::kiln. BUNDLE is a file that exists, or that a rule of the same
# directory makes; a relative path is looked for in the source directory, then in the build directory. The kernels are
# there before any static object of the target is initialised, and no file is needed at run time. A target may hold
# several bundles. Of a static library every program that links it gets the bundle. When the file changes, it is
# embedded again.
function(kiln_embed_bundle target bundle)
  if(NOT TARGET ${target})
    message(FATAL_ERROR "kiln_embed_bundle: there is no target \"${target}\"; call it behind add_executable or add_library")
  endif()
  if(ARGC GREATER 2)
    message(FATAL_ERROR "kiln_embed_bundle takes a target and one bundle; for several bundles call it several times")
  endif()
  if(NOT CMAKE_SYSTEM_NAME STREQUAL "Linux")
    message(FATAL_ERROR "kiln_embed_bundle knows ELF files only; elsewhere load the bundle with kl::load_bundle")
  endif()
  if(IS_ABSOLUTE "${bundle}")
    set(path "${bundle}")
  elseif(EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/${bundle}")
    set(path "${CMAKE_CURRENT_SOURCE_DIR}/${bundle}")
  else()
    set(path "${CMAKE_CURRENT_BINARY_DIR}/${bundle}")
  endif()

  # A library of objects keeps the flags of the target away: unity builds, precompiled headers, link-time optimisation.
  get_target_property(count ${target} KILN_BUNDLE_COUNT)
  if(NOT count)
    set(count 0)
  endif()
  math(EXPR count "${count} + 1")
  set_target_properties(${target} PROPERTIES KILN_BUNDLE_COUNT ${count})
  set(objects ${target}_kiln_bundle_${count})
  set(source "${CMAKE_CURRENT_BINARY_DIR}/${objects}.cpp")
  cmake_path(GET path FILENAME name)
  string(REGEX REPLACE "([\\\"])" "\\\\\\1" KILN_BUNDLE_PATH "${path}")
  string(REGEX REPLACE "([\\\"])" "\\\\\\1" KILN_BUNDLE_NAME "${name}")
  configure_file("${CMAKE_CURRENT_FUNCTION_LIST_DIR}/kilnEmbeddedBundle.cpp.in" "${source}" @ONLY)
  set_source_files_properties("${source}" PROPERTIES OBJECT_DEPENDS "${path}")
  add_library(${objects} OBJECT "${source}")
  target_link_libraries(${objects} PRIVATE kiln::kiln)
  target_compile_options(${objects} PRIVATE -w -fno-lto)
  set_target_properties(${objects} PROPERTIES POSITION_INDEPENDENT_CODE ON INTERPROCEDURAL_OPTIMIZATION OFF
                                              UNITY_BUILD OFF)

  get_target_property(type ${target} TYPE)
  if(type STREQUAL "STATIC_LIBRARY" OR type STREQUAL "INTERFACE_LIBRARY")
    # Nothing refers to the object, so a linker would leave it in the archive.
    target_sources(${target} INTERFACE $<BUILD_INTERFACE:$<TARGET_OBJECTS:${objects}>>)
  else()
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${objects}>)
  endif()
  if(type STREQUAL "SHARED_LIBRARY" OR type STREQUAL "MODULE_LIBRARY")
    target_link_options(${target} PRIVATE LINKER:-z,nodelete)  # kernels are looked up in it until the process ends
  endif()
endfunction()
