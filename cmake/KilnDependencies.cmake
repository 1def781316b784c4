# Finds what kiln is built with. Nothing found here reaches a user's include path.
find_package(fmt 9 REQUIRED)
find_package(Threads REQUIRED)

# LLVM 19 is preferred; 16 to 18 are accepted. Support (BLAKE3, JSON) goes into the core even when KILN_CPU_JIT is off; the
# code generators go into libkiln_cpu.so only.
foreach(version 19 18 17 16)
  find_package(LLVM ${version} QUIET CONFIG PATHS /usr/lib/llvm-${version}/lib/cmake/llvm NO_DEFAULT_PATH)
  if(LLVM_FOUND)
    break()
  endif()
endforeach()
if(NOT LLVM_FOUND)
  find_package(LLVM REQUIRED CONFIG)
endif()
if(LLVM_PACKAGE_VERSION VERSION_LESS 16)
  message(FATAL_ERROR "kiln needs LLVM 16 to 19, found ${LLVM_PACKAGE_VERSION} in ${LLVM_DIR}")
endif()
message(STATUS "kiln: LLVM ${LLVM_PACKAGE_VERSION} in ${LLVM_DIR}")

# Headers only: the driver and NVRTC are opened at run time. They come from a toolkit or from PyPI's wheels in build/venv.
set(KILN_HAVE_CUDA OFF)
if(KILN_CUDA)
  file(GLOB wheel_folders ${PROJECT_SOURCE_DIR}/build/venv/lib/python3*/site-packages/nvidia/*/include)
  find_path(KILN_CUDA_INCLUDE nvrtc.h
            HINTS ENV CUDA_HOME ENV CUDA_PATH /usr/local/cuda
            PATHS ${wheel_folders}
            PATH_SUFFIXES include targets/x86_64-linux/include)
  if(KILN_CUDA_INCLUDE AND EXISTS ${KILN_CUDA_INCLUDE}/cuda.h)
    set(KILN_HAVE_CUDA ON)
    message(STATUS "kiln: CUDA headers in ${KILN_CUDA_INCLUDE}")
  else()
    message(STATUS "kiln: NO CUDA: cuda.h and nvrtc.h were not found, so only the CPU device is built and CUDA tests skip.")
    message(STATUS "kiln: install the CUDA toolkit (12.0 or later) or set CUDA_HOME; PyPI's wheels will do too:")
    message(STATUS "kiln:   build/venv/bin/python -m pip install nvidia-cuda-nvrtc nvidia-cuda-runtime")
    unset(KILN_CUDA_INCLUDE CACHE)  # look again at the next configuration
  endif()
endif()
