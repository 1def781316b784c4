// dsl/c/managed.h -- memory of kiln as DLPack's managed tensors.
#pragma once

#include <vector>

#include <kiln/detail/bridge.h>

#include "dsl/c/host_memory.h"

namespace kiln::dsl::c {

/// A tensor and what keeps its memory; the deleter destroys it.
struct Managed {
  explicit Managed(const HostMemory& from) : memory(from) {}
  Managed(const Managed&) = delete;
  Managed& operator=(const Managed&) = delete;
  ~Managed() { detail::release(handle.storage); }
  /// Takes over the handle's reference.
  void adopt(const detail::Handle& owned) noexcept;

  HostMemory memory;
  kiln_dl_managed_tensor_versioned tensor = {};
  detail::Handle handle;
  std::int64_t shape[KILN_MAX_RANK] = {}, strides[KILN_MAX_RANK] = {};
};

/// Tensors that are made before their elements, so that nothing can fail once those are computed.
class ManagedResults {
 public:
  explicit ManagedResults(std::size_t count);
  ~ManagedResults();
  ManagedResults(const ManagedResults&) = delete;
  ManagedResults& operator=(const ManagedResults&) = delete;
  void adopt(std::size_t i, const detail::Handle& owned) noexcept { made_[i]->adopt(owned); }
  void hand_over(kiln_dl_managed_tensor_versioned** tensors) noexcept;

 private:
  std::vector<Managed*> made_;
};

}  // namespace kiln::dsl::c
