// tests/support/producer.h -- a library that hands out tensors, for tests of DLPack.
#pragma once

#include <atomic>
#include <chrono>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <kiln/dlpack.h>
#include <kiln/kiln.h>

#include "tests/support/messages.h"

namespace producer {

namespace kl = kiln;
using messages::has;
using messages::message_of;

/// A producer: elements on the test's device, both forms of managed tensors, and how often they were deleted.
template <class T>
struct Producer {
  std::vector<std::int64_t> shape, strides;
  kl::Array<T> memory;
  kiln_dl_managed_tensor_versioned managed = {};
  kiln_dl_managed_tensor legacy = {};
  std::atomic<int> deleted{0};

  Producer(kl::Array<T> elements, std::vector<std::int64_t> extents, std::vector<std::int64_t> steps = {})
      : shape(std::move(extents)), strides(std::move(steps)), memory(std::move(elements)) {
    kiln_dl_tensor tensor = {};
    const kl::Device on = memory.device();
    tensor.data = memory.data();
    tensor.device = {on.kind() == kl::DeviceKind::cpu ? KILN_DL_CPU : KILN_DL_CUDA, on.index()};
    tensor.ndim = static_cast<std::int32_t>(shape.size());
    tensor.dtype = {KILN_DL_FLOAT, static_cast<std::uint8_t>(8 * sizeof(T)), 1};
    tensor.shape = shape.empty() ? nullptr : shape.data();
    tensor.strides = strides.empty() ? nullptr : strides.data();
    managed.version = {1, 0};
    managed.manager_ctx = this;
    managed.deleter = [](kiln_dl_managed_tensor_versioned* self) {
      ++static_cast<Producer*>(self->manager_ctx)->deleted;
    };
    managed.dl_tensor = tensor;
    legacy.manager_ctx = this;
    legacy.deleter = [](kiln_dl_managed_tensor* self) { ++static_cast<Producer*>(self->manager_ctx)->deleted; };
    legacy.dl_tensor = tensor;
  }
  kiln_dl_tensor& tensor() { return managed.dl_tensor; }
  /// The deleter may run on a thread of kiln's, a little after the last use.
  int deletions() {
    kl::synchronize();
    for (int i = 0; i < 2000 && deleted == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return deleted;
  }
};

inline kl::Array<float> counting(std::int64_t n) {
  std::vector<float> values(static_cast<std::size_t>(n));
  std::iota(values.begin(), values.end(), 0.0f);
  return kl::from_host(values);
}

}  // namespace producer
