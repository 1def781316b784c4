# Finds what kiln is built with. Nothing found here reaches a user's include path.
find_package(fmt 9 REQUIRED)
find_package(Threads REQUIRED)

# LLVM 19 is preferred; 16 to 18 are accepted. Support (BLAKE3, JSON) goes into the core, the rest into libkiln_cpu.so.
foreach(version 19 18 17 16)
  find_package(LLVM ${version} QUIET CONFIG PATHS /usr/lib/llvm-${version}/lib/cmake/llvm NO_DEFAULT_PATH)
  if(LLVM_FOUND)
    break()
  endif()
endforeach()
if(NOT LLVM_FOUND)
  find_package(LLVM REQUIRED CONFIG)
endif()
message(STATUS "kiln: LLVM ${LLVM_PACKAGE_VERSION} in ${LLVM_DIR}")

set(KILN_HAVE_CUDA OFF)
if(KILN_CUDA)
  find_path(KILN_CUDA_INCLUDE cuda.h
            HINTS $ENV{CUDA_HOME}/include $ENV{CUDA_PATH}/include /usr/local/cuda/include
            PATH_SUFFIXES include targets/x86_64-linux/include)
  if(KILN_CUDA_INCLUDE AND EXISTS ${KILN_CUDA_INCLUDE}/nvrtc.h)
    set(KILN_HAVE_CUDA ON)
    message(STATUS "kiln: CUDA headers in ${KILN_CUDA_INCLUDE}")
  else()
    message(WARNING "kiln: no CUDA headers found (cuda.h, nvrtc.h): building without the CUDA backend. "
                    "Install the CUDA toolkit, or set CUDA_HOME, to have it.")
  endif()
endif()
