// dsl/c/kernel.h -- what a kiln_kernel is, and tensors of the host as operands of a call without any allocation.
#pragma once

#include <atomic>
#include <memory>

#include <kiln/detail/bridge.h>

#include "dsl/c/fault.h"
#include "dsl/c/program.h"
#include "dsl/layouts.h"

namespace kiln::dsl::c {

/// A tensor of a launch: its type, and the layout that it had last, which mostly comes again.
struct Operand {
  DType type = DType::f32;
  std::int32_t rank = -1;  ///< -1: any
  std::atomic<const detail::Layout*> last{nullptr};

  Operand() = default;
  Operand(DType t, std::int32_t r) : type(t), rank(r) {}
  Operand(const Operand& other) : type(other.type), rank(other.rank) {}
};

/// The device that a tensor says it is on; pinned and managed memory goes with the others.
bool names_device(kiln_dl_device device);
runtime::DeviceId device_named(kiln_dl_device device);
kiln_dl_device dl_device(runtime::DeviceId device);

/// A tensor of any description.
struct TensorView {
  const void* data = nullptr;
  const std::int64_t* shape = nullptr;
  const std::int64_t* strides = nullptr;
  std::int32_t rank = 0;
  DType type = DType::f32;
};
TensorView view_of(const kiln_dl_tensor& tensor);
TensorView view_of(const kiln_tensor& tensor);

/// Which tensor of a call a message is about.
struct Role {
  const char* name;
  std::size_t number;
};
/// The tensor as an operand: checked, borrowed, nothing allocated once its layout is known.
detail::Handle bind(Operand& operand, const TensorView& tensor, runtime::DeviceId device, Role role);
/// The same of any type and rank. Pinned and managed memory is on `device`.
detail::Handle bind_any(const kiln_dl_tensor& tensor, const char* name, runtime::DeviceId device);
/// What handles of the host's memory have as their storage; nothing is counted or freed by it.
detail::Storage* borrowed_storage(runtime::DeviceId device);

/// Null: what kiln chooses.
detail::LaunchControl launch_control(const kiln_launch_options* options);

}  // namespace kiln::dsl::c

struct kiln_kernel {
  kiln_kernel(const kiln::dsl::c::HostMemory& from, const kiln_graph& graph, const kiln::detail::CodeOptions& options);
  ~kiln_kernel();
  kiln_kernel(const kiln_kernel&) = delete;
  kiln_kernel& operator=(const kiln_kernel&) = delete;

  /// A call with everything but operands, scalars and targets.
  kiln::detail::Call call() const;

  template <class T>
  using List = std::vector<T, kiln::dsl::c::HostAllocator<T>>;
  kiln::dsl::c::HostMemory memory;
  kiln::dsl::c::Program program;
  kiln::detail::CodeOptions options;
  List<kiln::dsl::c::Operand> inputs, outputs;
  List<kiln::DType> scalars;
  kiln::detail::Site site;
};
