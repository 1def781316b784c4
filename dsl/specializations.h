// dsl/specializations.h -- what a compiled function was compiled for: a record per signature, layouts and kernels.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <kiln/inspect.h>

#include "dsl/draft.h"
#include "support/fork_safe.h"

namespace kiln::dsl {

/// One of them. All but the count is fixed.
struct SpecializationRecord {
  std::string signature, layouts, device, kernels;
  int registers = -1;
  double compile_ms = 0;
  bool from_cache = true;
  std::atomic<std::int64_t> runs = 0;

  /// Adds one of its kernels.
  void add_kernel(const std::string& name, const runtime::Binary& binary);
  bool is_same(const SpecializationRecord& other) const {
    return signature == other.signature && layouts == other.layouts && device == other.device &&
           kernels == other.kernels;
  }
};

/// Those of one function. Calls of other extents that run the same kernels are the same one.
class SpecializationList {
 public:
  /// The record that is the same, or this one from now on.
  std::shared_ptr<SpecializationRecord> add(std::shared_ptr<SpecializationRecord> record);
  /// To be destroyed by the caller.
  detail::Specializations* list() const;

 private:
  mutable ForkSafeMutex mutex_;
  std::vector<std::shared_ptr<SpecializationRecord>> records_;
};

/// "cpu", "cuda:0".
std::string device_text(runtime::DeviceId device);

/// A record without kernels: the types of the call, and how the draft's kernels walk over each of its arrays.
std::shared_ptr<SpecializationRecord> describe(const Draft& draft, const detail::Call& call, std::string device);

}  // namespace kiln::dsl
