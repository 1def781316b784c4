// runtime/cpu/backend.cpp -- the CPU as a device: work is done when a call returns, so streams and events are trivial.
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <string>

#include "runtime/cpu/cpu.h"
#include "runtime/cpu/image.h"
#include "runtime/cpu/libm_table.h"
#include "runtime/cpu/memory.h"
#include "runtime/cpu/thread_pool.h"
#include "runtime/device_allocator.h"
#include "support/check.h"
#include "support/float_environment.h"

namespace kiln::runtime {
namespace {

using Clock = std::chrono::steady_clock;

struct CpuEvent {
  Clock::time_point when;
};

std::string model_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != line.npos) return line.substr(colon + 2);
  }
  return "CPU";
}

DeviceInfo describe() {
  DeviceInfo info;
  info.id = {DeviceKind::cpu, 0};
  info.name = model_name();
  info.arch = cpu_arch();
  info.multiprocessors = pool_threads();
  info.threads_per_multiprocessor = 1;
  const long cache = sysconf(_SC_LEVEL2_CACHE_SIZE);
  info.l2_bytes = cache > 0 ? static_cast<std::size_t>(cache) : 0;
  info.memory_bytes =
      static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  info.cpu_vector_bits = cpu_vector_bits(info.arch);
  return info;
}

struct CopyJob {
  char* to;
  const char* from;
};

struct LaunchJob {
  CpuImage::Entry entry;
  const void* arguments;
  const void* libm;
  std::int64_t first;  ///< unit that the range's 0 stands for
};

[[noreturn]] void fail_unfinished(const char* what) {
  fail<DeviceError>("the host's parallel_for did not run all parts of {}; what it writes is undefined", what);
}

constexpr std::int64_t finish_grain = 4;  ///< a finish unit joins a few to a thousand partial results

class CpuBackend final : public Backend {
 public:
  const DeviceInfo& info() const override { return info_; }
  void* allocate(std::size_t bytes, NativeStream) override {
    const DeviceAllocator* const host = device_allocator(DeviceKind::cpu);
    if (!host) [[likely]]
      return allocate_host(bytes);
    return allocate_from_host(*host, info_.id, bytes ? bytes : 1, nullptr, [] {
      trim_host_memory();
      return true;
    });
  }
  void release(void* memory, NativeStream) noexcept override {
    if (!release_to_host(info_.id, memory, nullptr)) [[likely]]
      release_host(memory);
  }

  void copy(void* to, const void* from, std::size_t bytes, Copy, NativeStream) override {
    const char* source = static_cast<const char*>(from);
    char* target = static_cast<char*>(to);
    const bool overlap = source < target + bytes && target < source + bytes;
    constexpr std::size_t worth_threads = std::size_t{4} << 20;
    if (overlap || bytes < worth_threads) {
      if (bytes) std::memmove(target, source, bytes);
      return;
    }
    CopyJob job{target, source};
    const bool done = parallel_ranges(
        static_cast<std::int64_t>(bytes), static_cast<std::int64_t>(worth_threads / 2),
        [](void* context, std::int64_t begin, std::int64_t end) {
          const CopyJob& j = *static_cast<CopyJob*>(context);
          std::memcpy(j.to + begin, j.from + begin, static_cast<std::size_t>(end - begin));
        },
        &job);
    if (!done) fail_unfinished("a copy");
  }

  std::shared_ptr<const LoadedKernel> load(const Binary& binary, const KernelSource&) override {
    auto image = std::make_shared<const CpuImage>(binary.image);
    const auto* const kernel = reinterpret_cast<const LoadedKernel*>(image.get());
    return {std::move(image), kernel};
  }

  void launch(const LoadedKernel& kernel, const LaunchShape& shape, const void* arguments, std::size_t,
              NativeStream) override {
    LaunchJob job{reinterpret_cast<const CpuImage&>(kernel).entry(), arguments, libm_table(), 0};
    const auto run = [](void* context, std::int64_t begin, std::int64_t end) {
      const LaunchJob& j = *static_cast<LaunchJob*>(context);
      const DefaultFloatEnvironment environment;
      j.entry(j.arguments, begin + j.first, end + j.first, j.libm);
    };
    if (!parallel_ranges(shape.units, shape.grain, run, &job)) fail_unfinished("a kernel");
    if (shape.finish_units == 0) return;
    job.first = -shape.finish_units;
    if (!parallel_ranges(shape.finish_units, finish_grain, run, &job)) fail_unfinished("a kernel");
  }

  void launch(const LoadedKernel&, const LaunchShape&, void**, NativeStream) override {
    fail<DeviceError>("a kernel written in CUDA cannot run on the CPU device");
  }

  Counters zeroed_counters(std::uint32_t count, NativeStream) override {
    void* const memory = allocate(count * sizeof(std::uint32_t), nullptr);
    std::memset(memory, 0, count * sizeof(std::uint32_t));
    return {memory, true};
  }

  NativeStream create_stream() override { return nullptr; }
  void destroy_stream(NativeStream) noexcept override {}
  void synchronize(NativeStream) override {}
  void* create_event() override { return new CpuEvent; }
  void destroy_event(void* event) noexcept override { delete static_cast<CpuEvent*>(event); }
  void record_event(void* event, NativeStream) override { static_cast<CpuEvent*>(event)->when = Clock::now(); }
  void wait_event(NativeStream, void*) override {}
  void synchronize_event(void*) override {}
  float elapsed_ms(void* begin, void* end) override {
    const auto span = static_cast<CpuEvent*>(end)->when - static_cast<CpuEvent*>(begin)->when;
    return std::chrono::duration<float, std::milli>(span).count();
  }
  void bind_thread() override {}
  bool is_capturing(NativeStream) override { return false; }

 private:
  DeviceInfo info_ = describe();
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend() { return std::make_unique<CpuBackend>(); }

}  // namespace kiln::runtime
