# Finds what kiln is built with. Nothing found here reaches a user's include path.
find_package(fmt 9 REQUIRED)
find_package(Threads REQUIRED)

# LLVM goes into libkiln_cpu.so only. 19 is preferred; 16 to 18 are accepted. -DLLVM_DIR=/usr/lib/llvm-16/lib/cmake/llvm chooses
# one. Where there is none the build goes on without the CPU compiler, as with -DKILN_CPU_JIT=OFF.
if(KILN_CPU_JIT)
  if(NOT LLVM_DIR)
    foreach(version 19 18 17 16)  # by folder: LLVM 18's and 19's packages refuse a bare major version
      find_package(LLVM QUIET CONFIG PATHS /usr/lib/llvm-${version}/lib/cmake/llvm NO_DEFAULT_PATH)
      if(LLVM_FOUND)
        break()
      endif()
    endforeach()
  endif()
  if(NOT LLVM_FOUND)
    find_package(LLVM QUIET CONFIG)
  endif()
  if(LLVM_FOUND AND LLVM_PACKAGE_VERSION VERSION_GREATER_EQUAL 16)
    message(STATUS "kiln: LLVM ${LLVM_PACKAGE_VERSION} in ${LLVM_DIR}")
  else()
    message(STATUS "kiln: NO CPU DEVICE: the development files of LLVM 16 to 19 were not found, so only GPUs are built for, and")
    message(STATUS "kiln: tests that need the CPU device skip. Install llvm-19-dev or give -DLLVM_DIR=.../lib/cmake/llvm.")
    set(KILN_CPU_JIT OFF)  # for this configuration; the option keeps its value
  endif()
endif()

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
