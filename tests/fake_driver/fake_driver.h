// tests/fake_driver/fake_driver.h -- what tests see of the fake CUDA driver: its devices, its record of calls, its
// faults.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace kiln::fake {

/// Makes calls of one function fail: the first `skip` succeed, then `times` give `result`.
struct Fault {
  int result = 0;
  int skip = 0;
  int times = 1;
};

struct FakeDriver {
  // What there is.
  int driver_version = 13000;
  int device_count = 1;
  int major = 9, minor = 0;
  bool has_pools = true;
  std::uint64_t memory_bytes = std::uint64_t{1} << 30;
  bool deinitialized = false;  ///< every call gives CUDA_ERROR_DEINITIALIZED, as during process exit
  bool capturing = false;      ///< every stream, as if another program captured it
  void* captured = nullptr;    ///< the stream that cuStreamBeginCapture was called for
  std::size_t nodes = 0;       ///< whose handles were asked for since
  std::map<std::string, Fault> faults;
  std::size_t argument_bytes = 0;  ///< how much a launch copies from its only parameter
  /// The sizes of the next kernels' parameters: a launch copies all of them, one after another. Empty: see above.
  std::vector<std::size_t> parameter_bytes;
  /// What the device takes for a launch, as `calls` describes it; without it everything takes 1.5 ms.
  float (*milliseconds_of)(const std::string& launch) = nullptr;
  /// What cuPointerGetAttributes says of addresses that were not allocated here: a CUmemorytype and a device.
  struct Known {
    int type = 0, device = 0;
  };
  std::map<const void*, Known> known;
  int unfinished_queries = 0;  ///< so many times the next cuEventQuery calls say that the work is going on

  // What happened: "cuLaunchKernel stream=1 grid=2,1,1 block=256,1,1 shared=0".
  std::vector<std::string> calls;
  std::vector<unsigned char> arguments;  ///< of the last launch
  std::uint64_t used = 0;                ///< bytes allocated and not freed
  std::set<const void*> libraries;       ///< loaded and not unloaded
  std::uint64_t held = 0;                ///< bytes freed but kept by the pool
  std::mutex mutex;

  int count(const std::string& prefix) {
    const std::lock_guard lock(mutex);
    int number = 0;
    for (const std::string& call : calls) number += call.starts_with(prefix);
    return number;
  }
};

/// Exported by the library as `kiln_fake_driver`.
using GetFakeDriver = FakeDriver* (*)();

/// What NVIDIA's occupancy calculator is told of a card: compute capability * 10, threads and shared memory of a
/// multiprocessor, shared memory of a block, and what the system takes of it.
struct CardFacts {
  int capability, threads, shared_kib, optin_kib, reserved;
};
/// Exported as `kiln_calculator_blocks`: resident blocks of a multiprocessor, -1 where the calculator is missing.
using Calculator = int (*)(const CardFacts& card, int registers, int threads, int shared_bytes);

}  // namespace kiln::fake
