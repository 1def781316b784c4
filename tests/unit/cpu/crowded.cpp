// tests/unit/cpu/crowded.cpp -- kernels in a process whose address space is crowded: far from every library (case F03).
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <thread>

#include "tests/unit/cpu/kernel_runner.h"

namespace kiln::test {
namespace {

/// Address space that is taken and holds nothing.
class Reservations {
 public:
  Reservations() = default;
  Reservations(const Reservations&) = delete;
  Reservations& operator=(const Reservations&) = delete;
  ~Reservations() {
    for (const auto& [start, bytes] : taken_) munmap(start, bytes);
  }
  /// Null where there is no room of this size.
  const void* take(std::size_t bytes) {
    void* const start = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) return nullptr;
    taken_.emplace_back(start, bytes);
    return start;
  }

 private:
  std::vector<std::pair<void*, std::size_t>> taken_;
};

constexpr std::uintptr_t reach = std::uintptr_t{1} << 31;  // of a 32-bit displacement

std::uintptr_t distance(const void* a, const void* b) {
  const auto x = reinterpret_cast<std::uintptr_t>(a), y = reinterpret_cast<std::uintptr_t>(b);
  return std::max(x, y) - std::min(x, y);
}

/// Fills the space around `place` until new mappings of a page come to lie beyond its reach.
bool crowd(Reservations& reservations, const void* place) {
  for (std::size_t bytes = std::size_t{1} << 34; bytes >= 4096; bytes /= 4) {
    for (int k = 0; k < 20000; ++k) {
      const void* const start = reservations.take(bytes);
      if (!start || distance(start, place) > 2 * reach) break;
    }
  }
  const void* const probe = reservations.take(4096);
  return probe && distance(probe, place) > reach;
}

/// What a kernel of one operation makes of 1.5 in a row of 33, its image loaded once more.
float run_copy(const CompiledKernel& kernel, const std::vector<char>& block, const std::vector<float>& result,
               std::vector<std::unique_ptr<runtime::CpuImage>>& images) {
  images.push_back(std::make_unique<runtime::CpuImage>(kernel.binary.image));
  images.back()->entry()(block.data(), 0, 33, runtime::libm_table());
  return result[32];
}

TEST(CpuCrowded, KernelsFarFromTheLibrariesTheyCallRunOnFortyThreads) {
  // exp has a pool of constants, lgamma calls the C library: code, constants and callee need not be neighbours.
  const CompiledKernel exponential(operation_kernel(Op::exp, 1, DType::f32, DType::f32));
  const CompiledKernel calling(operation_kernel(Op::lgamma, 1, DType::f32, DType::f32));
  const void* const callee = reinterpret_cast<const void*>(static_cast<double (*)(double)>(::exp));
  Reservations reservations;
  if (!crowd(reservations, callee)) GTEST_SKIP() << "this system does not let its address space be filled";
  std::atomic<int> right{0}, far{0};
  std::vector<Reservations> arenas(40);  // until all threads have ended: the room of one would be room for others
  const auto work = [&](Reservations& arena) {
    arena.take(std::size_t{1} << 30);
    std::vector<float> x(33, 1.5f), y(33);
    CallArguments call;
    call.pointers = {x.data(), y.data()};
    call.extents = {33};
    const std::vector<char> first = exponential.block(call), second = calling.block(call);
    std::vector<std::unique_ptr<runtime::CpuImage>> images;
    for (int k = 0; k < 63; ++k) {
      right += std::fabs(run_copy(exponential, first, y, images) - 4.4816891f) < 2e-6f;
      right += std::fabs(run_copy(calling, second, y, images) - -0.12078224f) < 1e-7f;
      far += distance(reinterpret_cast<const void*>(images.back()->entry()), callee) > reach;
      if (k % 2) images.resize(images.size() - 2);  // half of them go away again
    }
  };
  std::vector<std::thread> threads;
  for (Reservations& arena : arenas) threads.emplace_back([&] { work(arena); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 40 * 63 * 2);
  // Stacks of threads that ended leave some room near the C library.
  EXPECT_GE(far, 40 * 63 / 4) << "the space around the C library was full";
}

}  // namespace
}  // namespace kiln::test
