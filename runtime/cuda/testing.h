// runtime/cuda/testing.h -- hooks of the CUDA backend for unit tests. Not for programs.
#pragma once

namespace kiln::runtime::cuda {

/// Opens this library as the driver at the next use, in place of libcuda.so.1; null restores. Backends made before keep
/// theirs.
void use_driver_for_tests(const char* path);

/// Searches and opens NVRTC again at the next use: the environment has changed.
void search_nvrtc_again_for_tests();
/// As on a machine without NVRTC: searches nowhere. False restores, and searches again at the next use.
void hide_nvrtc_for_tests(bool hidden);

}  // namespace kiln::runtime::cuda
