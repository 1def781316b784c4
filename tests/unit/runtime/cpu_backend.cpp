// tests/unit/runtime/cpu_backend.cpp -- the CPU as a device: memory, copies, events, a compiled kernel.
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include <kiln/error.h>

#include "runtime/cpu/cpu.h"
#include "tests/support/cpu_compiler.h"

namespace kiln::runtime {
namespace {

TEST(CpuBackend, MemoryIsAlignedReusedAndBounded) {
  const std::unique_ptr<Backend> cpu = make_cpu_backend();
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{1000}, std::size_t{5} << 20}) {
    void* memory = cpu->allocate(bytes, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 256, 0u);
    std::memset(memory, 1, bytes ? bytes : 1);
    cpu->release(memory, nullptr);
  }
  void* first = cpu->allocate(std::size_t{3} << 20, nullptr);
  cpu->release(first, nullptr);
  void* second = cpu->allocate(std::size_t{3} << 20, nullptr);
  EXPECT_EQ(first, second) << "large blocks are kept for reuse";
  cpu->release(second, nullptr);
  EXPECT_THROW(cpu->allocate(std::size_t{1} << 60, nullptr), OutOfMemory);
  EXPECT_THROW(cpu->allocate(~std::size_t{0}, nullptr), OutOfMemory);
}

TEST(CpuBackend, CopiesLargeAndOverlappingRanges) {
  const std::unique_ptr<Backend> cpu = make_cpu_backend();
  std::vector<int> from(3 << 20), to(from.size());
  std::iota(from.begin(), from.end(), 0);
  cpu->copy(to.data(), from.data(), from.size() * sizeof(int), Backend::Copy::host_to_device, nullptr);
  EXPECT_EQ(from, to);
  cpu->copy(to.data() + 1, to.data(), (to.size() - 1) * sizeof(int), Backend::Copy::device_to_device, nullptr);
  EXPECT_EQ(to[1], 0);
  EXPECT_EQ(to.back(), static_cast<int>(to.size()) - 2);
  cpu->copy(nullptr, nullptr, 0, Backend::Copy::device_to_host, nullptr);
}

TEST(CpuBackend, EventsMeasureTime) {
  const std::unique_ptr<Backend> cpu = make_cpu_backend();
  void *begin = cpu->create_event(), *end = cpu->create_event();
  cpu->record_event(begin, nullptr);
  cpu->record_event(end, nullptr);
  EXPECT_GE(cpu->elapsed_ms(begin, end), 0.0f);
  cpu->destroy_event(begin);
  cpu->destroy_event(end);
}

TEST(CpuBackend, RunsACompiledKernelOverAllUnits) {
  KILN_NEEDS_CPU_COMPILER();
  const std::unique_ptr<Backend> cpu = make_cpu_backend();
  EXPECT_EQ(cpu->info().arch, cpu_arch());
  EXPECT_GE(cpu->info().multiprocessors, 1);
  KernelSource source;
  source.language = Language::llvm_ir;
  source.entry = "count";
  source.text =
      "define void @count(ptr %arguments, i64 %begin, i64 %end, ptr %libm) {\nentry:\n"
      "  %out = load ptr, ptr %arguments\n  br label %loop\nloop:\n"
      "  %i = phi i64 [ %begin, %entry ], [ %next, %loop ]\n  %p = getelementptr i64, ptr %out, i64 %i\n"
      "  store i64 %i, ptr %p\n  %next = add i64 %i, 1\n  %more = icmp slt i64 %next, %end\n"
      "  br i1 %more, label %loop, label %exit\nexit:\n  ret void\n}\n";
  const Binary binary = compile_cpu(source, {});
  const auto kernel = cpu->load(binary, source);
  std::vector<std::int64_t> out(100001, -1);
  void* pointer = out.data();
  LaunchShape shape;
  shape.units = static_cast<std::int64_t>(out.size());
  shape.grain = 1000;
  cpu->launch(*kernel, shape, &pointer, sizeof pointer, nullptr);
  for (std::size_t k = 0; k < out.size(); ++k) ASSERT_EQ(out[k], static_cast<std::int64_t>(k));
  EXPECT_FALSE(cpu_compiler_identity().empty());
}

}  // namespace
}  // namespace kiln::runtime
