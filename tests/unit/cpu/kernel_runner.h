// tests/unit/cpu/kernel_runner.h -- builds, compiles and runs small kernels for the tests of the CPU code generator.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/emit/emit.h"
#include "runtime/cpu/cpu.h"
#include "runtime/cpu/image.h"
#include "runtime/cpu/libm_table.h"

namespace kiln::test {

using codegen::Access;
using codegen::AxisClass;
using codegen::Kernel;
using codegen::NodeId;

inline Access access(DType type, std::vector<AxisClass> axes, bool store = false) {
  Access a;
  a.type = type;
  a.axes = std::move(axes);
  a.store = store;
  return a;
}

/// One contiguous axis, `inputs` loads of `type`, no body yet.
inline Kernel flat_kernel(int inputs, DType type) {
  Kernel kernel;
  kernel.rank = 1;
  kernel.index = codegen::IndexWidth::bits64;
  for (int k = 0; k < inputs; ++k) kernel.accesses.push_back(access(type, {AxisClass::contiguous}));
  return kernel;
}

/// result = op(inputs), everything contiguous.
inline Kernel operation_kernel(Op op, int arity, DType type, DType result) {
  Kernel kernel = flat_kernel(arity, type);
  NodeId operands[3];
  for (int k = 0; k < arity; ++k) operands[k] = kernel.body.load(static_cast<std::uint64_t>(k), type);
  kernel.body.outputs = {kernel.body.operation(op, result, {operands, static_cast<std::size_t>(arity)})};
  kernel.accesses.push_back(access(result, {AxisClass::contiguous}, true));
  return kernel;
}

/// Values of one call. Vectors are indexed as in the argument layout.
struct CallArguments {
  std::vector<void*> pointers;                     ///< by access
  std::vector<std::int64_t> offsets;               ///< by access, iotas
  std::vector<std::int64_t> extents;               ///< by axis
  std::vector<std::vector<std::int64_t>> strides;  ///< by access and axis, in elements
  std::vector<std::vector<unsigned char>> parameters;
  void* workspace = nullptr;  ///< kernels with reduced axes
};

class CompiledKernel {
 public:
  explicit CompiledKernel(const Kernel& kernel, std::string arch = runtime::cpu_arch(), bool contract = true,
                          bool want_assembly = false, const codegen::Schedule& schedule = {})
      : kernel_(kernel) {
    codegen::EmitOptions emit;
    emit.contract = contract;
    emit.cpu_features = arch;
    source = codegen::emit_llvm(kernel, schedule, emit);
    CompileOptions options;
    options.arch = std::move(arch);
    binary = runtime::compile_cpu(source, options, want_assembly);
    image_ = std::make_unique<runtime::CpuImage>(binary.image);
  }

  std::vector<char> block(const CallArguments& call) const {
    const codegen::ArgumentLayout layout = codegen::argument_layout(kernel_);
    std::vector<char> bytes(layout.size);
    for (const codegen::Argument& argument : layout.arguments) put(bytes, argument, call);
    return bytes;
  }
  void run(const std::vector<char>& arguments, std::int64_t begin, std::int64_t end) const {
    image_->entry()(arguments.data(), begin, end, runtime::libm_table());
  }
  /// All units at once.
  void run(const CallArguments& call) const { run(block(call), 0, codegen::cpu_units(kernel_, {call.extents})); }

  /// Kernels with reduced axes: all units in `pieces` ranges, as so many threads would take them, then the finish
  /// units.
  void run_reduction(CallArguments call, int pieces = 1) const {
    const LaunchShape shape = codegen::cpu_reduction_shape(kernel_, {call.extents});
    std::vector<char> scratch(shape.workspace_bytes + 1, '\x7f');
    call.workspace = scratch.data();
    const std::vector<char> arguments = block(call);
    for (int k = pieces; k-- > 0;) run(arguments, shape.units * k / pieces, shape.units * (k + 1) / pieces);
    for (int k = pieces; k-- > 0;) {
      run(arguments, shape.finish_units * k / pieces - shape.finish_units,
          shape.finish_units * (k + 1) / pieces - shape.finish_units);
    }
    EXPECT_EQ(scratch.back(), '\x7f') << "the workspace is longer than it says";
  }

  KernelSource source;
  runtime::Binary binary;

 private:
  void put(std::vector<char>& bytes, const codegen::Argument& argument, const CallArguments& call) const {
    char* const to = bytes.data() + argument.offset;
    switch (argument.kind) {
      case codegen::ArgumentKind::pointer:
        std::memcpy(to, &call.pointers[argument.a], 8);
        break;
      case codegen::ArgumentKind::offset:
        std::memcpy(to, &call.offsets[argument.a], 8);
        break;
      case codegen::ArgumentKind::extent:
        std::memcpy(to, &call.extents[argument.axis], argument.size);
        break;
      case codegen::ArgumentKind::stride:
        std::memcpy(to, &call.strides[argument.a][argument.axis], argument.size);
        break;
      case codegen::ArgumentKind::fold_start:
      case codegen::ArgumentKind::fold_step:
      case codegen::ArgumentKind::fold_length:
      case codegen::ArgumentKind::divisor:
        break;
      case codegen::ArgumentKind::parameter:
        std::memcpy(to, call.parameters[argument.a].data(), argument.size);
        break;
      case codegen::ArgumentKind::workspace:
        std::memcpy(to, &call.workspace, 8);
        break;
      case codegen::ArgumentKind::counters:
        std::memset(to, 0, 8);
        break;
      default:
        ADD_FAILURE() << "the kernels of these tests have no such argument";
        break;
    }
  }

  Kernel kernel_;
  std::unique_ptr<runtime::CpuImage> image_;
};

/// A kernel with reduced axes as it is chosen for these extents.
inline CompiledKernel compile_reduction(const Kernel& kernel, const std::vector<std::int64_t>& extents,
                                        const std::string& arch = runtime::cpu_arch()) {
  return CompiledKernel(kernel, arch, true, false, codegen::choose_cpu_reduction(kernel, {extents}));
}

/// Runs a one-axis kernel whose accesses are all contiguous.
template <class In, class Out>
std::vector<Out> run_flat(const CompiledKernel& kernel, const std::vector<std::vector<In>>& inputs) {
  std::vector<Out> result(inputs[0].size());
  CallArguments call;
  for (const auto& input : inputs) call.pointers.push_back(const_cast<In*>(input.data()));
  call.pointers.push_back(result.data());
  call.extents = {static_cast<std::int64_t>(result.size())};
  kernel.run(call);
  return result;
}

}  // namespace kiln::test
