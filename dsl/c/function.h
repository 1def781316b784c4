// dsl/c/function.h -- what a kiln_function is: a function of CUDA text with the host's version for the CPU.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include <kiln/detail/program.h>

#include "dsl/c/host_memory.h"

namespace kiln::dsl::c {

/// The host's version, for as long as a kernel may call it, and whether it threw.
class HostVersion {
 public:
  explicit HostVersion(const kiln_function_description& description);
  HostVersion(const HostVersion&) = delete;
  HostVersion& operator=(const HostVersion&) = delete;
  ~HostVersion();

  /// As kernels of the CPU call it: `owner` is an Owner, results come first, then the arguments, `stride` bytes apart.
  using Owner = std::shared_ptr<HostVersion>;
  static void run(const void* owner, unsigned char* block, std::int64_t stride, std::int64_t count) noexcept;
  bool take_failure() { return threw_.exchange(false, std::memory_order_relaxed); }

 private:
  kiln_host_function function_;
  void* context_;
  void (*destroy_)(void*);
  std::size_t count_;
  std::atomic<bool> threw_{false};
};

/// Shared by the handle, graphs and kernels.
class UserFunction {
 public:
  UserFunction(const kiln_function_description& description, std::shared_ptr<HostVersion> host);
  ~UserFunction();
  UserFunction(const UserFunction&) = delete;
  UserFunction& operator=(const UserFunction&) = delete;

  const std::string& name() const { return name_; }
  const std::vector<DType>& parameters() const { return parameters_; }
  const detail::Slot& slot() const { return slot_; }
  /// KILN_ERROR_CALLBACK where the host's version threw since the last time.
  void check_host() const;

 private:
  std::string name_;
  std::vector<DType> parameters_;  ///< as the text sees them
  std::shared_ptr<HostVersion> host_;
  detail::Slot slot_;
};

}  // namespace kiln::dsl::c

struct kiln_function {
  kiln_function(const kiln::dsl::c::HostMemory& from, std::shared_ptr<const kiln::dsl::c::UserFunction> made)
      : memory(from), function(std::move(made)) {}
  kiln::dsl::c::HostMemory memory;
  std::shared_ptr<const kiln::dsl::c::UserFunction> function;
};
