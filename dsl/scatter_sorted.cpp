// dsl/scatter_sorted.cpp -- updates of floats on a GPU: sorted by key, then joined level by level.
#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "codegen/emit/cuda_sort.h"
#include "codegen/schedule/arithmetic.h"
#include "dsl/kernels.h"
#include "dsl/scatter.h"
#include "dsl/scatter_report.h"
#include "dsl/shapes.h"
#include "dsl/usage.h"
#include "support/check.h"
#include "support/fork_safe.h"
#include "support/log.h"

namespace kiln::dsl {
namespace {

using codegen::ceil_divide;
using codegen::SortArguments;

constexpr std::uint32_t grid_limit_y = 65535;

/// Loaded once per device; never unloaded.
const runtime::LoadedKernel& loaded(const KernelSource& source, runtime::DeviceId device) {
  struct Loaded {
    std::mutex mutex;
    std::map<std::pair<int, std::string>, std::shared_ptr<const runtime::LoadedKernel>> kernels;
  };
  static constinit Leaked<Loaded> loaded_kernels;
  runtime::backend(device).bind_thread();  // refuses a forked child, which may find the mutex locked
  Loaded& all = loaded_kernels.get();
  const std::lock_guard lock(all.mutex);
  std::shared_ptr<const runtime::LoadedKernel>& kernel = all.kernels[{device.index, source.text}];
  if (!kernel) {
    const Machine machine = machine_of(device);
    const auto binary = runtime::cached_binary(source, compile_options(machine, {}));
    kernel = runtime::backend(device).load(*binary, source);
  }
  return *kernel;
}

/// Memory of the call, freed in the order of its stream.
class Scratch {
 public:
  Scratch(runtime::DeviceId device, runtime::NativeStream stream)
      : backend_(runtime::backend(device)), stream_(stream) {}
  ~Scratch() {
    for (void* memory : memory_) backend_.release(memory, stream_);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  void* allocate(std::int64_t bytes) {
    memory_.push_back(nullptr);
    return memory_.back() = backend_.allocate(static_cast<std::size_t>(std::max<std::int64_t>(1, bytes)), stream_);
  }

 private:
  runtime::Backend& backend_;
  runtime::NativeStream stream_;
  std::vector<void*> memory_;
};

/// Running sums of the u32 counts, by kiln's own scan.
OwnedHandle running_sums(void* counts, std::int64_t size, runtime::DeviceId device, runtime::NativeStream stream) {
  using detail::Instruction;
  using detail::ReductionCall;
  static constinit detail::Site site{};
  const Instruction code[] = {{.kind = Instruction::input, .type = DType::u32},
                              {.kind = Instruction::structure},
                              {.kind = Instruction::reduction, .type = DType::u64, .arity = 1}};
  const detail::Handle source =
      detail::borrow(DType::u32, counts, &size, 1, nullptr, static_cast<int>(device.kind), device.index);
  const OwnedHandle owned(source);
  const std::uint64_t bits = ReductionCall::named | std::uint64_t{1} << ReductionCall::count_shift |
                             static_cast<std::uint64_t>(detail::Reducing::cumsum) << ReductionCall::function_shift;
  const detail::Slot slots[] = {__builtin_bit_cast(detail::Slot, source), {nullptr, {bits, 0}}, {nullptr, {0, 0}}};
  const detail::Parts parts{code, slots, 3};
  detail::Handle result;
  detail::Target target{&result, DType::u64, true};
  detail::LaunchControl control;
  control.stream = stream;
  control.has_stream = true;
  detail::Evaluation evaluation(&parts, 1, &target, 1);
  evaluation.launch = &control;
  detail::evaluate(site, evaluation);
  return OwnedHandle(result);
}

class SortedScatter {
 public:
  SortedScatter(const ScatterJob& job, runtime::DeviceId device, runtime::NativeStream stream)
      : job_(job), device_(device), stream_(stream), scratch_(device, stream) {}

  void run() { join(sorted(nullptr)); }

  /// The keys in their order; `order`, unless it is null, gets the numbers of their updates.
  SortArguments sorted(void* order) {
    SortArguments arguments;
    arguments.keys = job_.keys;
    arguments.count = job_.count;
    arguments.bins = job_.bins;
    const int bits = key_bits(job_.bins);
    for (int shift = 0; shift < bits; shift += 8) sort(arguments, shift, shift + 8 >= bits ? order : nullptr);
    return arguments;
  }

  static int key_bits(std::int64_t bins) { return std::bit_width(static_cast<std::uint64_t>(bins)); }

 private:
  void launch(const KernelSource& source, const SortArguments& arguments, std::array<std::uint32_t, 3> grid,
              std::array<std::uint32_t, 3> block) {
    LaunchShape shape;
    shape.grid = grid;
    shape.block = block;
    KILN_LOG(2, "launch {} grid {}x{}x{} block {}x{}x{}", source.entry, grid[0], grid[1], grid[2], block[0], block[1],
             block[2]);
    runtime::backend(device_).launch(loaded(source, device_), shape, &arguments, sizeof arguments, stream_);
  }

  void sort(SortArguments& arguments, int shift, void* order) {
    arguments.shift = shift;
    arguments.tiles = ceil_divide(job_.count, codegen::sort_tile);
    const auto grid = static_cast<std::uint32_t>(arguments.tiles);
    const std::int64_t size = codegen::sort_digits * arguments.tiles;
    arguments.counts = scratch_.allocate(size * 4);
    launch(codegen::emit_sort_count(), arguments, {grid, 1, 1}, {codegen::sort_block, 1, 1});
    const OwnedHandle sums = running_sums(arguments.counts, size, device_, stream_);
    arguments.counts = sums.get().data;
    arguments.sorted_keys = scratch_.allocate(job_.count * 4);
    arguments.sorted_numbers = order ? order : scratch_.allocate(job_.count * 4);
    launch(codegen::emit_sort_move(), arguments, {grid, 1, 1}, {codegen::sort_block, 1, 1});
    arguments.keys = arguments.sorted_keys;
    arguments.numbers = arguments.sorted_numbers;
  }

  /// Level after level, until one chunk is left and no run is shared.
  void join(SortArguments arguments) {
    const KernelSource source = codegen::emit_join_runs(job_.type);
    const std::int64_t columns = job_.outer * job_.inner;
    const std::int64_t sum_bytes = is_complex(job_.type) ? 16 : 8;
    arguments.values = job_.updates;
    arguments.target = job_.target;
    arguments.outer = job_.outer;
    arguments.inner = job_.inner;
    arguments.updates = job_.count;
    arguments.one_value = job_.one_update ? 1 : 0;
    arguments.by_number = 1;
    std::uint32_t across = 1;
    while (across < 128 && across < columns) across *= 2;
    for (;;) {
      const std::int64_t chunks = ceil_divide(arguments.count, codegen::join_chunk);
      const bool is_last = chunks == 1;
      arguments.next_keys = is_last ? nullptr : scratch_.allocate(2 * chunks * 4);
      arguments.next_values = is_last ? nullptr : scratch_.allocate(2 * chunks * columns * sum_bytes);
      const std::uint32_t down = codegen::sort_block / across;
      const auto tiles = static_cast<std::uint32_t>(std::min<std::int64_t>(ceil_divide(columns, across), grid_limit_y));
      launch(source, arguments, {static_cast<std::uint32_t>(ceil_divide(chunks, down)), tiles, 1}, {across, down, 1});
      if (is_last) return;
      arguments.keys = arguments.next_keys;
      arguments.values = arguments.next_values;
      arguments.numbers = nullptr;
      arguments.by_number = 0;
      arguments.one_value = 0;
      arguments.count = 2 * chunks;
    }
  }

  const ScatterJob& job_;
  runtime::DeviceId device_;
  runtime::NativeStream stream_;
  Scratch scratch_;
};

}  // namespace

void scatter_sorted(const ScatterJob& job, runtime::DeviceId device, runtime::NativeStream stream) {
  SortedScatter(job, device, stream).run();
}

void order_on_gpu(const std::int32_t* keys, std::int64_t count, std::int64_t bins, std::uint32_t* order,
                  runtime::DeviceId device, runtime::NativeStream stream) {
  ScatterJob job;
  job.keys = keys;
  job.count = count;
  job.bins = bins;
  SortedScatter(job, device, stream).sorted(order);
}

void report_sort(const ScatterJob& job, ScatterReport& report) {
  if (!report.is_cuda())
    return report.say(
        fmt::format("the host sorts {} indices into {} places; the threads of the CPU join the updates of "
                    "each place in f64, in their order",
                    job.count, job.bins));
  const int digits = (SortedScatter::key_bits(job.bins) + 7) / 8;
  report.say(fmt::format("{} indices into {} places: {} digit{} of 8 bits, each by two kernels and a running sum",
                         job.count, job.bins, digits, digits == 1 ? "" : "s"));
  report.add(codegen::emit_sort_count(), "counts the digits of each tile");
  report.add(codegen::emit_sort_move(), "puts indices and numbers of updates in order of a digit");
  report.add(codegen::emit_join_runs(job.type), "sums runs of equal indices in f64, level by level");
}

void record_scatter_sorted(const ScatterJob& job, Where where) {
  for (const KernelSource& source :
       {codegen::emit_sort_count(), codegen::emit_sort_move(), codegen::emit_join_runs(job.type)})
    record_cuda_kernel(source, {}, "scatter of " + std::string(name_of(job.type)), "scatter" + place(where));
  // Aligned as memory of the device is, and never touched.
  alignas(256) unsigned char counts[256];
  const OnlyRecording only;
  running_sums(counts, codegen::sort_digits * ceil_divide(job.count, codegen::sort_tile), {}, nullptr);
}

}  // namespace kiln::dsl
