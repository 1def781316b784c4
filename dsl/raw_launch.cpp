// dsl/raw_launch.cpp -- launches of the user's own kernels: arguments and shape are checked, then enqueued.
#include <algorithm>

#include "dsl/array_memory.h"
#include "dsl/layouts.h"
#include "dsl/out_of_memory.h"
#include "dsl/raw_kernel.h"
#include "dsl/shapes.h"
#include "runtime/activity.h"
#include "runtime/recording.h"
#include "support/check.h"
#include "support/log.h"

namespace kiln::dsl {
namespace {

using detail::LaunchControl;
using detail::RawArgument;
using detail::RawProgram;

constexpr unsigned inline_arguments = 32;
constexpr std::uint64_t grid_limit_x = 0x7fffffff, grid_limit_yz = 65535;
constexpr unsigned block_limit_z = 64;
constexpr unsigned largest_cluster = 16;
constexpr unsigned first_cluster_capability = 90;

struct Launching {
  RawProgram& program;
  const LaunchControl& control;
  const RawArgument* arguments;
  unsigned count;
  std::string place() const { return program.place(control.where); }
};

// ------------------------------------------------------------------ the device
[[noreturn]] void fail_on_cpu(const Launching& l, const std::string& what) {
  const std::string reason = runtime::unavailable_reason(runtime::DeviceKind::cuda);
  if (reason.empty()) {
    fail<DeviceError>(
        "raw kernel {}: {}{}, and CUDA kernels read the memory of a GPU; copy it first: "
        "x.to(kl::Device::cuda())",
        l.program.name(), what, l.place());
  }
  fail<DeviceError>(
      "raw kernel {} is CUDA text and needs an NVIDIA GPU{}: {}\nOn the CPU device write the operation with kl::jit, "
      "or "
      "with kl::function and a host version",
      l.program.name(), l.place(), reason);
}

runtime::DeviceId device_of_launch(const Launching& l) {
  for (unsigned i = 0; i < l.count; ++i) {
    const detail::Handle* const handle = l.arguments[i].handle;
    if (!handle) continue;
    if (!handle->layout)
      fail<ShapeError>("raw kernel {}: argument {} is a default-constructed array{}; give it a shape first",
                       l.program.name(), i, l.place());
    if (handle->layout->device_kind == 0) fail_on_cpu(l, fmt::format("argument {} is on the CPU", i));
    return device_of(*handle->layout);
  }
  const runtime::DeviceId current = current_device();
  if (current.kind == runtime::DeviceKind::cpu) fail_on_cpu(l, "the current device is the CPU");
  return current;
}

// ------------------------------------------------------------------ arguments
std::string given_text(const RawArgument& argument) {
  switch (argument.kind) {
    case RawArgument::array:
      return fmt::format("an array of {}, shape {}", name_of(argument.type),
                         to_text(shape_of(*argument.handle->layout)));
    case RawArgument::number:
      return fmt::format("{} ({} byte{})", name_of(argument.type), argument.size, argument.size == 1 ? "" : "s");
    case RawArgument::structure:
      return fmt::format("a structure of {} bytes", argument.size);
    case RawArgument::address:
      return "a pointer";
    case RawArgument::null:
      return "nullptr";
  }
  return "";
}

[[noreturn]] void fail_count(const Launching& l, const RawVariant& variant) {
  std::string given;
  for (unsigned i = 0; i < l.count; ++i) given += fmt::format("  argument {}: {}\n", i, given_text(l.arguments[i]));
  fail<TypeError>("raw kernel {} takes {} parameter{} and got {} argument{}{}\n{}{}", l.program.name(),
                  variant.parameters.size(), variant.parameters.size() == 1 ? "" : "s", l.count,
                  l.count == 1 ? "" : "s", l.place(), parameter_lines(variant), given);
}

/// What to write instead, for the mistakes that are made most.
std::string advice(const RawArgument& argument, const runtime::KernelParameter& parameter,
                   const DeclaredParameter& declared) {
  if (argument.kind == RawArgument::number && declared.kind == DeclaredParameter::value && declared.lanes <= 1)
    return fmt::format("; numbers are not converted: pass kl::scalar<T>(v), or a C++ value, of type {}",
                       name_of(declared.type));
  if (argument.kind == RawArgument::number && parameter.size == sizeof(int) && argument.size == 2 * sizeof(int))
    return "; pass a 4-byte number, e.g. static_cast<int>(n)";
  if (argument.kind == RawArgument::number && parameter.size == 2 * sizeof(int) && argument.size == sizeof(int))
    return "; pass an 8-byte number, e.g. std::int64_t(n) or a double";
  if (argument.kind == RawArgument::array && declared.kind == DeclaredParameter::pointer)
    return fmt::format("; convert it with x.astype<...>(), or pass x.data() to have the bytes taken as they are");
  return "";
}

[[noreturn]] void fail_argument(const Launching& l, const RawVariant& variant, unsigned i) {
  const RawArgument& argument = l.arguments[i];
  const runtime::KernelParameter& parameter = variant.parameters[i];
  const DeclaredParameter& declared = variant.declared[i];
  const std::string wanted = declared.text.empty() ? fmt::format("{} bytes", parameter.size)
                                                   : fmt::format("'{}' ({} bytes)", declared.text, parameter.size);
  fail<TypeError>("raw kernel {}: parameter {} is {}, and argument {} is {}{}{}\n{}", l.program.name(), i, wanted, i,
                  given_text(argument), l.place(), advice(argument, parameter, declared), parameter_lines(variant));
}

void check_array(const Launching& l, const RawVariant& variant, unsigned i, runtime::DeviceId device) {
  const detail::Handle& handle = *l.arguments[i].handle;
  if (!handle.layout)
    fail<ShapeError>("raw kernel {}: argument {} is a default-constructed array{}; give it a shape first",
                     l.program.name(), i, l.place());
  const detail::Layout& layout = *handle.layout;
  if (layout.device_kind == 0) [[unlikely]]
    fail_on_cpu(l, fmt::format("argument {} is on the CPU", i));
  if (layout.device_index != device.index) [[unlikely]] {
    fail<DeviceError>("raw kernel {}: argument {} is on cuda:{} and an earlier one on cuda:{}{}; copy it with .to()",
                      l.program.name(), i, layout.device_index, device.index, l.place());
  }
  if (!accepts_array(variant.declared[i], l.arguments[i].type)) [[unlikely]]
    fail_argument(l, variant, i);
}

void check_arguments(const Launching& l, const RawVariant& variant, runtime::DeviceId device) {
  if (l.count != variant.parameters.size()) [[unlikely]]
    fail_count(l, variant);
  for (unsigned i = 0; i < l.count; ++i) {
    const RawArgument& argument = l.arguments[i];
    if (argument.size != variant.parameters[i].size) [[unlikely]]
      fail_argument(l, variant, i);
    if (argument.kind == RawArgument::array) check_array(l, variant, i, device);
    if (argument.kind == RawArgument::number && !accepts_number(variant.declared[i], argument.type)) [[unlikely]]
      fail_argument(l, variant, i);
    const bool is_address = argument.kind == RawArgument::address || argument.kind == RawArgument::null;
    if (is_address && variant.declared[i].kind == DeclaredParameter::value) [[unlikely]]
      fail_argument(l, variant, i);
  }
}

// ------------------------------------------------------------------ the launch
std::string triple(const std::array<std::uint32_t, 3>& n) { return fmt::format("{}x{}x{}", n[0], n[1], n[2]); }

bool is_given(const unsigned (&extents)[3]) { return extents[0] || extents[1] || extents[2]; }

void check_block(const Launching& l, const RawVariant& variant, const LaunchShape& shape) {
  const auto& block = shape.block;
  const std::uint64_t threads = std::uint64_t{block[0]} * block[1] * block[2];
  if (threads == 0)
    fail<ShapeError>("raw kernel {}: a block of {} has no threads{}", l.program.name(), triple(block), l.place());
  if (threads <= variant.max_threads && block[2] <= block_limit_z) return;
  if (threads > static_cast<std::uint64_t>(runtime::max_block_threads) || block[2] > block_limit_z) {
    fail<ShapeError>(
        "raw kernel {}: a block of {} ({} threads) is more than CUDA allows: 1024 threads, at most 64 along z{}",
        l.program.name(), triple(block), threads, l.place());
  }
  fail<ShapeError>(
      "raw kernel {}: a block of {} has {} threads, and at most {} of this kernel fit: it uses {} registers per "
      "thread, "
      "or states fewer in __launch_bounds__{}",
      l.program.name(), triple(block), threads, variant.max_threads, variant.binary->registers, l.place());
}

void check_grid(const Launching& l, const LaunchShape& shape) {
  const auto& grid = shape.grid;
  if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0) {
    fail<ShapeError>("raw kernel {}: a grid of {} has no blocks{}; do not launch where there is nothing to do",
                     l.program.name(), triple(grid), l.place());
  }
  if (grid[0] > grid_limit_x || grid[1] > grid_limit_yz || grid[2] > grid_limit_yz) {
    fail<ShapeError>("raw kernel {}: a grid of {} is more than CUDA allows: 2147483647 along x, 65535 along y and z{}",
                     l.program.name(), triple(grid), l.place());
  }
}

void check_cluster(const Launching& l, const RawVariant& variant, const LaunchShape& shape) {
  if (variant.limits->capability < static_cast<int>(first_cluster_capability)) {
    fail<DeviceError>("raw kernel {}: a cluster of {} blocks needs compute capability 9.0; this is {}{}",
                      l.program.name(), shape.cluster, variant.arch, l.place());
  }
  if (shape.cluster > largest_cluster || shape.grid[0] % shape.cluster != 0) {
    fail<ShapeError>(
        "raw kernel {}: clusters of {} blocks in a grid of {}: a cluster has at most 16 blocks, and whole clusters "
        "fill "
        "the grid along x{}",
        l.program.name(), shape.cluster, triple(shape.grid), l.place());
  }
}

void check_cooperative(const Launching& l, const RawVariant& variant, const LaunchShape& shape) {
  const unsigned threads = shape.block[0] * shape.block[1] * shape.block[2];
  const std::uint64_t blocks = std::uint64_t{shape.grid[0]} * shape.grid[1] * shape.grid[2];
  const auto per_multiprocessor =
      static_cast<std::uint64_t>(runtime::resident_blocks(variant.use(threads, shape.shared_bytes), *variant.limits));
  const auto multiprocessors = static_cast<std::uint64_t>(variant.backend->info().multiprocessors);
  if (blocks <= per_multiprocessor * multiprocessors) return;
  fail<ShapeError>(
      "raw kernel {}: a cooperative launch of {} blocks, and at most {} run at the same time: {} on each of {} "
      "multiprocessors, with {} threads, {} registers per thread and {} bytes of shared memory{}",
      l.program.name(), blocks, per_multiprocessor * multiprocessors, per_multiprocessor, multiprocessors, threads,
      variant.binary->registers, variant.use(threads, shape.shared_bytes).shared_bytes, l.place());
}

void choose_block(const Launching& l, const RawVariant& variant, LaunchShape& shape) {
  const unsigned block = shape.shared_bytes == 0 ? variant.default_block
                                                 : runtime::best_block(variant.use(0, shape.shared_bytes),
                                                                       variant.max_threads, *variant.limits);
  shape.block = {std::max(block, 1u), 1, 1};
  if (block == 0) check_block(l, variant, shape);
}

void choose_grid(const Launching& l, std::int64_t over, LaunchShape& shape) {
  if (over < 0)
    fail<ShapeError>("raw kernel {}: over({}) asks for fewer than no threads{}", l.program.name(), over, l.place());
  if (l.control.grid[0])
    fail<ShapeError>("raw kernel {}: both .grid and over({}) are given{}; one of them says how many blocks run",
                     l.program.name(), over, l.place());
  const std::uint64_t threads = std::uint64_t{shape.block[0]} * shape.block[1] * shape.block[2];
  const std::uint64_t blocks = (static_cast<std::uint64_t>(over) + threads - 1) / threads;
  if (blocks > grid_limit_x) {
    fail<ShapeError>(
        "raw kernel {}: over({}) needs {} blocks of {} threads, and a grid has at most 2147483647; write the kernel "
        "with "
        "a grid-stride loop and give .grid{}",
        l.program.name(), over, blocks, threads, l.place());
  }
  shape.grid = {static_cast<std::uint32_t>(blocks), 1, 1};
}

LaunchShape shape_of_launch(const Launching& l, const RawVariant& variant, std::int64_t over) {
  const LaunchControl& control = l.control;
  LaunchShape shape;
  shape.shared_bytes = control.shared_bytes;
  shape.cluster = std::max(1u, control.cluster);
  shape.cooperative = control.cooperative;
  if (shape.shared_bytes > variant.dynamic) [[unlikely]] {
    fail<ShapeError>(
        "raw kernel {}: {} bytes of dynamic shared memory beside {} static ones are more than a block of {} can have, "
        "which is {}{}",
        l.program.name(), shape.shared_bytes, std::max(0, variant.binary->shared_bytes), variant.arch,
        variant.limits->shared_per_block(), l.place());
  }
  if (is_given(control.block)) {
    shape.block = {control.block[0], control.block[1], control.block[2]};
  } else {
    choose_block(l, variant, shape);
  }
  check_block(l, variant, shape);
  if (over != detail::no_over) {
    choose_grid(l, over, shape);
    if (shape.grid[0] == 0) return shape;
  } else if (is_given(control.grid)) {
    shape.grid = {control.grid[0], control.grid[1], control.grid[2]};
  } else {
    fail<ShapeError>(
        "raw kernel {}: how many blocks run is not said{}; write k[{{.grid = blocks, .block = threads}}](...), or "
        "k.over(n)(...) for n threads",
        l.program.name(), l.place());
  }
  check_grid(l, shape);
  if (shape.cluster > 1) check_cluster(l, variant, shape);
  if (shape.cooperative) check_cooperative(l, variant, shape);
  return shape;
}

/// What the kernel moves if it touches each element of its arrays once.
std::int64_t bytes_of_arrays(const detail::RawArgument* arguments, unsigned count) {
  std::int64_t bytes = 0;
  for (unsigned i = 0; i < count; ++i) {
    const detail::Layout* const layout = arguments[i].handle ? arguments[i].handle->layout : nullptr;
    if (layout) bytes += layout->size * static_cast<std::int64_t>(size_of(layout->dtype));
  }
  return bytes;
}

/// The launch as part of a graph, which keeps the arrays.
[[gnu::cold]] void record_launch(runtime::Recording& capture, const Launching& l, const RawVariant& variant,
                                 const LaunchShape& shape, runtime::NativeStream stream) {
  runtime::RecordedLaunch recorded;
  recorded.kernel = variant.loaded.get();
  recorded.owner = variant.loaded;
  recorded.shape = shape;
  for (unsigned i = 0; i < l.count; ++i) {
    const auto* const bytes = static_cast<const unsigned char*>(l.arguments[i].bytes);
    recorded.parameters.emplace_back(bytes, bytes + l.arguments[i].size);
    if (!l.arguments[i].handle) continue;
    recorded.pointers.push_back({i, 0});
    if (runtime::Storage* const storage = storage_of(*l.arguments[i].handle)) capture.keep(*storage);
  }
  capture.launch(*variant.backend, std::move(recorded), stream);
}

}  // namespace
}  // namespace kiln::dsl

namespace kiln::detail {

void launch_raw(RawProgram& program, const LaunchControl& launch, std::int64_t over, const RawArgument* arguments,
                unsigned count) try {
  const dsl::Launching l{program, launch, arguments, count};
  const runtime::DeviceId device = dsl::device_of_launch(l);
  const dsl::RawVariant& variant = program.on_device(device.index, launch.where);
  dsl::check_arguments(l, variant, device);
  const LaunchShape shape = dsl::shape_of_launch(l, variant, over);
  if (shape.grid[0] == 0) return;  // over(0)
  const runtime::NativeStream stream =
      launch.has_stream ? dsl::given_stream(launch, device) : dsl::current_stream(device);
  void* inline_parameters[dsl::inline_arguments];
  std::unique_ptr<void*[]> heap;
  void** parameters = inline_parameters;
  if (count > dsl::inline_arguments) parameters = (heap = std::make_unique<void*[]>(count)).get();
  for (unsigned i = 0; i < count; ++i) parameters[i] = const_cast<void*>(arguments[i].bytes);
  KILN_LOG(2, "launch {} grid {} block {} shared {}", program.name(), dsl::triple(shape.grid), dsl::triple(shape.block),
           shape.shared_bytes);
  variant.record->runs.fetch_add(1, std::memory_order_relaxed);
  runtime::Recording* const capture = runtime::recording_of(*variant.backend, stream);
  if (capture) [[unlikely]] {
    dsl::record_launch(*capture, l, variant, shape, stream);
    return;
  }
  const bool observed = runtime::is_observed();
  const std::string label = observed ? program.name() + program.place(launch.where) : "";
  const runtime::Activity activity{.kind = runtime::Activity::Kind::raw_kernel,
                                   .backend = variant.backend,
                                   .stream = stream,
                                   .name = program.name(),
                                   .label = label,
                                   .bytes = observed ? dsl::bytes_of_arrays(arguments, count) : 0};
  runtime::observe(activity, [&] { variant.backend->launch(*variant.loaded, shape, parameters, stream); });
  for (unsigned i = 0; i < count; ++i) {
    if (!arguments[i].handle) continue;
    runtime::Storage* const storage = dsl::storage_of(*arguments[i].handle);
    if (storage && storage->stream != stream) runtime::note_use(*storage, stream);
  }
} catch (const std::bad_alloc&) {
  dsl::fail_without_memory("launch a raw kernel", launch.where);
}

}  // namespace kiln::detail
