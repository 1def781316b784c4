// tests/unit/dsl/call.h -- calls of the bridge written by hand, as the public templates make them.
#pragma once

#include <cstring>
#include <functional>
#include <vector>

#include <kiln/detail/bridge.h>

#include "dsl/array_memory.h"

namespace kiln::dsl::test {

using detail::Handle;
using detail::NodeId;
using detail::Recorder;
using detail::ScalarArgument;

/// An owning array on the current device, which tests make the CPU.
struct CpuArray {
  OwnedHandle owner;
  Handle handle;
  CpuArray(DType type, std::vector<std::int64_t> shape) {
    owner = OwnedHandle(detail::allocate(type, shape.data(), static_cast<int>(shape.size())));
    handle = owner.get();
  }
  template <class T>
  CpuArray(std::vector<std::int64_t> shape, const std::vector<T>& values) : CpuArray(dtype_of<T>, std::move(shape)) {
    std::memcpy(handle.data, values.data(), values.size() * sizeof(T));
  }
  template <class T>
  T* data() const {
    return static_cast<T*>(handle.data);
  }
};

/// A site that ends with the test, as one of a jit object does.
struct OwnedSite : detail::Site {
  OwnedSite() = default;
  OwnedSite(const OwnedSite&) = delete;
  OwnedSite& operator=(const OwnedSite&) = delete;
  ~OwnedSite() { detail::destroy(static_cast<detail::Site&>(*this)); }
};

template <class T>
ScalarArgument scalar(T value) {
  ScalarArgument argument;
  std::memcpy(argument.bytes, &value, sizeof value);
  argument.type = dtype_of<T>;
  return argument;
}

using Function = std::function<void(Recorder&, NodeId*)>;

/// One call; fields may be changed before run().
struct TestCall {
  std::vector<Handle> inputs;
  std::vector<ScalarArgument> scalars;
  std::vector<detail::Target> targets;
  Function function;
  detail::CodeOptions options;
  detail::Where where{"user.cpp", 12};

  detail::Call call() const {
    detail::Call c;
    c.inputs = inputs.data();
    c.input_count = static_cast<unsigned>(inputs.size());
    c.scalars = scalars.data();
    c.scalar_count = static_cast<unsigned>(scalars.size());
    c.targets = const_cast<detail::Target*>(targets.data());
    c.target_count = static_cast<unsigned>(targets.size());
    c.trace = [](Recorder& recorder, const void* environment, NodeId* outputs) {
      (*static_cast<const Function*>(environment))(recorder, outputs);
    };
    c.environment = &function;
    c.options = options;
    c.where = where;
    return c;
  }
  void run(detail::Site& site) const { detail::execute(site, call()); }
};

inline NodeId operation(Recorder& r, Op op, DType type, std::vector<NodeId> operands) {
  return detail::record_operation(r, op, type, operands.data(), static_cast<unsigned>(operands.size()),
                                  {"user.cpp", 12});
}

/// out = s * x + y in f32.
inline Function saxpy() {
  return [](Recorder& r, NodeId* out) {
    const NodeId x = detail::record_input(r, 0, DType::f32), y = detail::record_input(r, 1, DType::f32);
    const NodeId s = detail::record_parameter(r, 0, DType::f32);
    out[0] = operation(r, Op::add, DType::f32, {operation(r, Op::mul, DType::f32, {s, x}), y});
  };
}
inline Function add_one_to_input0() {
  return [](Recorder& r, NodeId* out) {
    const NodeId one = detail::record_literal(r, DType::f32, 0x3f800000u, 0, {});
    out[0] = operation(r, Op::add, DType::f32, {detail::record_input(r, 0, DType::f32), one});
  };
}

inline std::vector<float> ramp(std::size_t n, float start = 0) {
  std::vector<float> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = start + static_cast<float>(i);
  return values;
}

}  // namespace kiln::dsl::test
