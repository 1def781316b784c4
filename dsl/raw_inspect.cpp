// dsl/raw_inspect.cpp -- what inspect() tells about a kernel of the user's own.
#include <algorithm>

#include "dsl/out_of_memory.h"
#include "dsl/owning_inspection.h"
#include "dsl/raw_kernel.h"
#include "dsl/session.h"
#include "dsl/shapes.h"
#include "support/check.h"

namespace kiln::dsl {
namespace {

std::string explain(const detail::RawProgram& program, const RawVariant& variant, const KernelInfo& info) {
  std::string text = fmt::format("raw kernel {}{}: {} for {}\n", program.name(), program.place({}),
                                 variant.binary->entry, variant.arch);
  text += variant.parameters.empty() ? "  no parameters\n" : parameter_lines(variant);
  text += fmt::format("  {} registers, {} bytes spilled, {} bytes of static shared memory, at most {} dynamic ones\n",
                      info.registers, std::max(0, info.spills), std::max(0, info.shared_bytes), variant.dynamic);
  const unsigned threads = info.launch.block[0] * info.launch.block[1] * info.launch.block[2];
  text += fmt::format("  blocks of up to {} threads; with {} of them and {} dynamic bytes", variant.max_threads,
                      threads, info.launch.shared_bytes);
  if (info.occupancy < 0) return text + " the occupancy is unknown: the driver compiles this PTX\n";
  const int blocks = runtime::resident_blocks(variant.use(threads, info.launch.shared_bytes), *variant.limits);
  return text + fmt::format(", {} blocks are resident on a multiprocessor: occupancy {:.0f} %\n", blocks,
                            100 * info.occupancy);
}

/// The block of the launch, or the best one.
void fill_launch(const RawVariant& variant, const detail::LaunchControl& launch, KernelInfo& info) {
  info.launch.shared_bytes = launch.shared_bytes;
  info.launch.cluster = std::max(1u, launch.cluster);
  const bool given = launch.block[0] > 0;
  const unsigned best = runtime::best_block(variant.use(0, launch.shared_bytes), variant.max_threads, *variant.limits);
  for (int axis = 0; axis < 3; ++axis) {
    info.launch.grid[axis] = launch.grid[axis];
    info.launch.block[axis] = given ? std::max(1u, launch.block[axis]) : axis == 0 ? best : 1;
  }
}

}  // namespace
}  // namespace kiln::dsl

namespace kiln::detail {

Inspection* inspect_raw(RawProgram& program, const LaunchControl& launch, const char* arch) try {
  const runtime::DeviceId device = dsl::current_device();
  if (!arch && device.kind == runtime::DeviceKind::cpu) {
    fail<DeviceError>(
        "raw kernel {} is CUDA text and the current device is the CPU{}; name an architecture: k.inspect(\"sm_90\")",
        program.name(), program.place(launch.where));
  }
  const auto variant = program.compile(arch ? arch : runtime::backend(device).info().arch, true, launch.where);
  const runtime::Binary& binary = *variant->binary;
  auto owner = std::make_unique<dsl::OwningInspection>();
  KernelInfo& info = owner->infos.emplace_back();
  info.name = owner->keep(binary.entry);
  info.source = owner->keep(program.source().text);
  info.ptx = owner->keep(binary.ptx);
  info.schedule = "the user's own";
  info.arch = owner->keep(variant->arch);
  info.log = owner->keep(binary.log);
  info.registers = binary.registers;
  info.spills = binary.spill_bytes;
  info.shared_bytes = binary.shared_bytes;
  dsl::fill_launch(*variant, launch, info);
  const unsigned threads = info.launch.block[0] * info.launch.block[1] * info.launch.block[2];
  info.occupancy = runtime::occupancy(variant->use(threads, launch.shared_bytes), *variant->limits);
  info.sass = owner->keep_code(binary, program.source(), binary.options);
  owner->explain = owner->keep(dsl::explain(program, *variant, info));
  owner->kernels = owner->infos.data();
  owner->kernel_count = 1;
  return owner.release();
} catch (const std::bad_alloc&) {
  dsl::fail_without_memory("inspect a raw kernel", launch.where);
}

}  // namespace kiln::detail
