// tests/fake_driver/occupancy.cpp -- the CUDA toolkit's own occupancy calculator, a reference for kiln's.
#include "tests/fake_driver/fake_driver.h"

#if __has_include(<cuda_occupancy.h>)
#include <cuda_occupancy.h>

extern "C" int kiln_calculator_blocks(const kiln::fake::CardFacts& card, int registers, int threads, int shared_bytes) {
  cudaOccDeviceProp properties{};
  properties.computeMajor = card.capability / 10;
  properties.computeMinor = card.capability % 10;
  properties.maxThreadsPerBlock = 1024;
  properties.maxThreadsPerMultiprocessor = card.threads;
  properties.regsPerBlock = properties.regsPerMultiprocessor = 65536;
  properties.warpSize = 32;
  properties.sharedMemPerBlock = 48 << 10;
  properties.sharedMemPerMultiprocessor = static_cast<std::size_t>(card.shared_kib) << 10;
  properties.sharedMemPerBlockOptin = static_cast<std::size_t>(card.optin_kib) << 10;
  properties.reservedSharedMemPerBlock = static_cast<std::size_t>(card.reserved);
  properties.numSms = 100;
  cudaOccFuncAttributes attributes{};
  attributes.maxThreadsPerBlock = 1024;
  attributes.numRegs = registers;
  attributes.maxDynamicSharedSizeBytes = static_cast<std::size_t>(shared_bytes);
  attributes.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
  attributes.numBlockBarriers = 1;
  cudaOccDeviceState state{};
  state.carveoutConfig = 100;  // as much shared memory as there is
  cudaOccResult result{};
  const cudaOccError error = cudaOccMaxActiveBlocksPerMultiprocessor(&result, &properties, &attributes, &state, threads,
                                                                     static_cast<std::size_t>(shared_bytes));
  return error == CUDA_OCC_SUCCESS ? result.activeBlocksPerMultiprocessor : -2;
}

#else
extern "C" int kiln_calculator_blocks(const kiln::fake::CardFacts&, int, int, int) { return -1; }
#endif
