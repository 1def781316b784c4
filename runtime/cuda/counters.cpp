// runtime/cuda/counters.cpp -- zeroed counters for kernels whose last block joins what the others left.
//
// A kernel leaves its counters zero, so kernels of one stream, which run one after another, share them and no launch
// has to clear anything. A captured kernel may run at any time, beside anything: it gets counters of its own.
#include <algorithm>

#include "runtime/cuda/backend.h"
#include "support/log.h"

namespace kiln::runtime::cuda {
namespace {

constexpr std::uint32_t fewest_counters = 1024;

}  // namespace

/// Fresh memory, cleared in the order of the stream.
void* CudaBackend::zeros(std::uint32_t count, NativeStream stream) {
  const std::size_t bytes = std::size_t{count} * sizeof(std::uint32_t);
  void* const memory = allocate(bytes, stream);
  const CUresult result = in_context(*this, [&] {
    return driver().set_bytes(reinterpret_cast<CUdeviceptr>(memory), 0, bytes, static_cast<CUstream>(stream));
  });
  if (result != CUDA_SUCCESS) {
    release(memory, stream);
    check(result, "clearing counters");
  }
  return memory;
}

/// Numbers, and not handles: handles are used again, and the default stream of each context and thread has the same
/// one.
CUresult CudaBackend::number_of(NativeStream stream, std::pair<unsigned long long, unsigned long long>& number) {
  return in_context(*this, [&] {
    const CUresult result = driver().context_id(nullptr, &number.first);
    return result == CUDA_SUCCESS ? driver().stream_id(static_cast<CUstream>(stream), &number.second) : result;
  });
}

Backend::Counters CudaBackend::zeroed_counters(std::uint32_t count, NativeStream stream) {
  if (is_capturing(stream)) return {zeros(count, stream), true};
  std::pair<unsigned long long, unsigned long long> number;
  check(number_of(stream, number), "asking for the number of a stream");
  const std::lock_guard lock(counters_mutex_);
  StreamCounters& counters = counters_[number];
  if (counters.count < count) {
    const std::uint32_t larger = std::max({fewest_counters, 2 * counters.count, count});
    void* const memory = zeros(larger, stream);
    if (counters.memory) release(counters.memory, stream);  // after the kernels that still use it
    counters = {memory, larger};
  }
  return {counters.memory, false};
}

/// The stream's work is done.
void CudaBackend::drop_counters(NativeStream stream) {
  std::pair<unsigned long long, unsigned long long> number;
  if (number_of(stream, number) != CUDA_SUCCESS) return;
  const std::lock_guard lock(counters_mutex_);
  const auto found = counters_.find(number);
  if (found == counters_.end()) return;
  release(found->second.memory, stream);
  counters_.erase(found);
}

}  // namespace kiln::runtime::cuda
