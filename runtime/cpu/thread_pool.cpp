// runtime/cpu/thread_pool.cpp -- lazy workers that claim chunks from one atomic ticket.
#include "runtime/cpu/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <mutex>
#include <system_error>
#include <thread>

#include "runtime/cpu/cpu.h"
#include "runtime/detached_thread.h"
#include "support/env.h"
#include "support/fork_safe.h"
#include "support/log.h"

namespace kiln::runtime {
namespace {

constexpr int max_threads = 1024;
constexpr int chunks_per_thread = 4;  // enough to even out slow cores, few enough to cost nothing

int available_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

int configured_threads() {
  const std::string text = setting("KILN_THREADS");
  if (text.empty()) return std::min(available_cores(), max_threads);
  int count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error == std::errc() && end == text.data() + text.size() && count >= 1) return std::min(count, max_threads);
  const int cores = std::min(available_cores(), max_threads);
  warn_once(fmt::format("KILN_THREADS={} is not a positive number; taking {}, the cores of this process", text, cores));
  return cores;
}

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

thread_local bool inside_kernel = false;

/// Ticket: generation (24 bits), chunk count (20 bits), next chunk (20 bits). Claiming is one fetch_add, and a claim
/// below the count keeps the job alive, because the caller waits for every chunk: late workers never see a half-written
/// job.
class Pool {
 public:
  explicit Pool(int threads) : threads_(threads) {}
  int threads() const { return threads_; }

  void run(std::int64_t units, std::int64_t grain, RangeBody body, void* context) {
    const std::int64_t most = std::max<std::int64_t>(1, units / std::max<std::int64_t>(1, grain));
    if (threads_ == 1 || most == 1 || inside_kernel || !busy_.try_lock()) return serial(units, body, context);
    start_workers();
    const std::int64_t chunks = std::min<std::int64_t>(most, std::int64_t{threads_} * chunks_per_thread);
    body_ = body;
    context_ = context;
    units_ = units;
    done_.store(0, std::memory_order_relaxed);
    generation_ = (generation_ + 1) & 0xffffff;
    ticket_.store(std::uint64_t{generation_} << 40 | static_cast<std::uint64_t>(chunks) << 20,
                  std::memory_order_release);
    wake_.fetch_add(1, std::memory_order_release);
    wake_.notify_all();
    drain();
    wait_for(static_cast<std::uint32_t>(chunks));
    busy_.unlock();
  }

 private:
  static void serial(std::int64_t units, RangeBody body, void* context) {
    const bool outer = inside_kernel;
    inside_kernel = true;
    body(context, 0, units);
    inside_kernel = outer;
  }

  void drain() {
    for (;;) {
      const std::uint64_t ticket = ticket_.fetch_add(1, std::memory_order_acq_rel);
      const auto next = static_cast<std::int64_t>(ticket & 0xfffff),
                 count = static_cast<std::int64_t>(ticket >> 20 & 0xfffff);
      if (next >= count) return;
      const std::int64_t step = units_ / count, extra = units_ % count;
      const std::int64_t begin = next * step + std::min(next, extra);
      inside_kernel = true;
      body_(context_, begin, begin + step + (next < extra ? 1 : 0));
      inside_kernel = false;
      if (done_.fetch_add(1, std::memory_order_acq_rel) + 1 == static_cast<std::uint32_t>(count)) done_.notify_all();
    }
  }

  void wait_for(std::uint32_t chunks) {
    for (int spin = 0; spin < 4000; ++spin) {
      if (done_.load(std::memory_order_acquire) == chunks) return;
      relax();
    }
    for (std::uint32_t done = done_.load(std::memory_order_acquire); done != chunks;
         done = done_.load(std::memory_order_acquire)) {
      done_.wait(done, std::memory_order_acquire);
    }
  }

  void start_workers() {
    if (started_) return;
    started_ = true;
    for (int k = 1; k < threads_; ++k)
      if (!start_detached([this] { work(); })) break;  // fewer workers: the caller takes their share
  }

  void work() {
    std::uint32_t seen = 0;
    for (;;) {
      const std::uint32_t now = wake_.load(std::memory_order_acquire);
      if (now == seen) {
        wake_.wait(seen, std::memory_order_acquire);
        continue;
      }
      seen = now;
      drain();
    }
  }

  const int threads_;
  bool started_ = false;  // guarded by busy_
  std::mutex busy_;
  std::uint32_t generation_ = 0;
  RangeBody body_ = nullptr;
  void* context_ = nullptr;
  std::int64_t units_ = 0;
  alignas(64) std::atomic<std::uint64_t> ticket_{0};
  alignas(64) std::atomic<std::uint32_t> done_{0};
  alignas(64) std::atomic<std::uint32_t> wake_{0};
};

/// Leaked on purpose: workers may still look at it while the process exits, and the child of a fork has no workers.
std::atomic<Pool*> current{nullptr};
constinit ForkSafeMutex creation;

const InForkedChild forget([] {
  current.store(nullptr, std::memory_order_relaxed);
  inside_kernel = false;
});

Pool& pool() {
  if (Pool* ready = current.load(std::memory_order_acquire)) return *ready;
  const int threads = configured_threads();
  const std::lock_guard lock(creation);
  if (!current.load(std::memory_order_acquire)) current.store(new Pool(threads), std::memory_order_release);
  return *current.load(std::memory_order_acquire);
}

struct HostPool {
  ParallelFor parallel_for = nullptr;
  void* host = nullptr;
};
HostPool host_pool;

struct HostJob {
  std::int64_t units, chunks;
  RangeBody body;
  void* context;
};

void host_chunk(void* context, std::int64_t k) {
  const HostJob& job = *static_cast<HostJob*>(context);
  const std::int64_t step = job.units / job.chunks, extra = job.units % job.chunks;
  const std::int64_t begin = k * step + std::min(k, extra);
  job.body(job.context, begin, begin + step + (k < extra ? 1 : 0));
}

}  // namespace

void set_parallel_for(ParallelFor parallel_for, void* host) { host_pool = {parallel_for, host}; }

bool parallel_ranges(std::int64_t units, std::int64_t grain, RangeBody body, void* context) noexcept {
  if (units <= 0) return true;
  if (!host_pool.parallel_for) {
    pool().run(units, grain, body, context);
    return true;
  }
  const std::int64_t most = std::max<std::int64_t>(1, units / std::max<std::int64_t>(1, grain));
  HostJob job{units, std::min<std::int64_t>(most, std::int64_t{pool_threads()} * chunks_per_thread), body, context};
  if (job.chunks == 1) {
    body(context, 0, units);
    return true;
  }
  return host_pool.parallel_for(host_pool.host, job.chunks, host_chunk, &job);
}

int pool_threads() { return pool().threads(); }

void reset_thread_pool() { current.store(nullptr); }

}  // namespace kiln::runtime
