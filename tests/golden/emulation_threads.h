// tests/golden/emulation_threads.h -- the threads of a block as fibers of one host thread, and what they meet at:
// barriers, warps, atomics. Blocks run one after another, in any order that a test asks for.
#pragma once

#include <ucontext.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace kiln::emulation {

struct Dim3 {
  unsigned x = 1, y = 1, z = 1;
};
/// That run blocks side by side, slowed down at random; __shared__ must then be thread_local.
inline unsigned host_threads = 1;
inline thread_local Dim3 threadIdx, blockIdx, blockDim, gridDim;

/// Threads that wait for one another: those that have returned no longer count.
struct Meeting {
  unsigned members = 0, arrived = 0, generation = 0;
  void leave() {
    if (--members > 0 && arrived == members) release();
  }
  void release() { arrived = 0, ++generation; }
};

/// One warp: the values that its lanes show one another, for two operations in turn.
struct Warp {
  Meeting meeting;
  std::uint64_t shown[2][32] = {};
};

/// Runs one block, or the blocks of one cluster, to the end.
class Fibers {
 public:
  static constexpr std::size_t stack_bytes = 128 << 10;

  /// `threads` per block; `shared_bytes` of dynamic shared memory for each block of the cluster.
  Fibers(unsigned threads, unsigned blocks, std::size_t shared_bytes)
      : threads_(threads), blocks_(blocks), warps_((blocks * threads + 31) / 32), fibers_(blocks * threads) {
    cluster_.members = blocks * threads;
    for (unsigned b = 0; b < blocks; ++b) {
      blocks_[b].members = threads;
      shared_.emplace_back(shared_bytes / 16 + 1);
    }
    for (unsigned t = 0; t < blocks * threads; ++t) ++warps_[t / 32].meeting.members;
  }

  /// `place(t)` sets the indices of thread t, every time before it runs on.
  void run(const std::function<void(unsigned)>& place, const std::function<void()>& kernel) {
    kernel_ = &kernel;
    current_fibers = this;
#if defined(__SANITIZE_THREAD__)
    scheduler_fiber_ = __tsan_get_current_fiber();
#endif
    for (auto& fiber : fibers_) start(fiber);
    std::size_t running = fibers_.size();
    unsigned idle_rounds = 0;
    while (running > 0) {
      moved_ = false;
      for (unsigned t = 0; t < fibers_.size(); ++t) {
        if (fibers_[t].done) continue;
        current_ = t;
        place(t);
        resume(fibers_[t]);
        if (!fibers_[t].done) continue;
        moved_ = true;
        --running;
        warps_[t / 32].meeting.leave();
        blocks_[t / threads_].leave();
        cluster_.leave();
      }
      idle_rounds = moved_ ? 0 : idle_rounds + 1;
      if (idle_rounds > 2) fail("threads of a block wait for one another for ever");
    }
    current_fibers = nullptr;
  }

  void wait(Meeting& meeting) {
    const unsigned generation = meeting.generation;
    moved_ = true;
    if (++meeting.arrived == meeting.members) {
      meeting.release();
      return;
    }
    while (meeting.generation == generation) pause();
  }
  /// `holds` is asked once in each round of all threads.
  template <class F>
  void wait_until(F&& holds) {
    moved_ = true;
    while (!holds()) pause();
    moved_ = true;
  }
  void wait_for_block() { wait(blocks_[rank()]); }
  void wait_for_cluster() { wait(cluster_); }
  /// Of the current block within its cluster.
  unsigned rank() const { return current_ / threads_; }
  std::uint8_t* shared_memory(unsigned block) { return reinterpret_cast<std::uint8_t*>(shared_[block].data()); }

  /// What `source` of the warp shows; every lane of a full warp must take part.
  std::uint64_t exchange(std::uint64_t value, unsigned source) {
    Warp& warp = warps_[current_ / 32];
    const unsigned lane = current_ % 32;
    const std::size_t in_warp = std::min<std::size_t>(32, fibers_.size() - current_ / 32 * 32);
    if (warp.meeting.members != in_warp) fail("a lane takes part in a shuffle that others have left");
    const unsigned turn = fibers_[current_].turn++ % 2;
    warp.shown[turn][lane] = value;
    wait(warp.meeting);
    return warp.shown[turn][source < in_warp ? source : lane];
  }
  /// Bit l is set where lane l shows something other than 0.
  unsigned vote(bool shows) {
    exchange(shows ? 1 : 0, lane());
    const Warp& warp = warps_[current_ / 32];
    const unsigned turn = (fibers_[current_].turn - 1) % 2;
    unsigned votes = 0;
    for (unsigned l = 0; l < 32; ++l) votes |= warp.shown[turn][l] != 0 ? 1u << l : 0u;
    return votes;
  }
  unsigned lane() const { return current_ % 32; }

  static inline thread_local Fibers* current_fibers = nullptr;

 private:
  struct Fiber {
    ucontext_t context = {};
    std::unique_ptr<char[]> stack;
    bool done = false;
    unsigned turn = 0;
    void* sanitizer = nullptr;
  };

  [[noreturn]] static void fail(const char* what) {
    std::fprintf(stderr, "emulation: %s\n", what);
    std::abort();
  }

  static void enter() {
    Fibers& self = *current_fibers;
    (*self.kernel_)();
    self.fibers_[self.current_].done = true;
    self.pause();
  }

  void start(Fiber& fiber) {
    fiber.stack.reset(new char[stack_bytes]);
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.get();
    fiber.context.uc_stack.ss_size = stack_bytes;
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, &Fibers::enter, 0);
#if defined(__SANITIZE_THREAD__)
    fiber.sanitizer = __tsan_create_fiber(0);
#endif
  }

  void resume(Fiber& fiber) {
#if defined(__SANITIZE_THREAD__)
    __tsan_switch_to_fiber(fiber.sanitizer, 0);
#endif
    swapcontext(&scheduler_, &fiber.context);
#if defined(__SANITIZE_THREAD__)
    if (fiber.done) __tsan_destroy_fiber(fiber.sanitizer);
#endif
  }

  void pause() {
    Fiber& fiber = fibers_[current_];
#if defined(__SANITIZE_THREAD__)
    __tsan_switch_to_fiber(scheduler_fiber_, 0);
#endif
    swapcontext(&fiber.context, &scheduler_);
  }

  struct alignas(16) Piece {
    std::uint8_t bytes[16];
  };

  unsigned threads_;
  Meeting cluster_;
  std::vector<Meeting> blocks_;
  std::vector<std::vector<Piece>> shared_;
  std::vector<Warp> warps_;
  std::vector<Fiber> fibers_;
  const std::function<void()>* kernel_ = nullptr;
  ucontext_t scheduler_ = {};
  void* scheduler_fiber_ = nullptr;
  unsigned current_ = 0;
  bool moved_ = false;
};

// NOLINTBEGIN: these names are CUDA's.
inline void __syncthreads() { Fibers::current_fibers->wait_for_block(); }
inline void __syncwarp() { Fibers::current_fibers->exchange(0, 0); }
inline void __threadfence() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  static thread_local unsigned calls = 0;
  if (host_threads > 1 && ++calls * 2654435761u % 64 == 0) std::this_thread::sleep_for(std::chrono::microseconds(20));
}

template <class T>
T exchanged(T value, unsigned source) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bits = Fibers::current_fibers->exchange(bits, source);
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}
template <class T>
T __shfl_xor_sync(unsigned, T value, int mask) {
  return exchanged(value, Fibers::current_fibers->lane() ^ static_cast<unsigned>(mask));
}
template <class T>
T __shfl_sync(unsigned, T value, int source) {
  return exchanged(value, static_cast<unsigned>(source) % 32);
}
template <class T>
T __shfl_down_sync(unsigned, T value, unsigned delta) {
  const unsigned source = Fibers::current_fibers->lane() + delta;
  return exchanged(value, source < 32 ? source : Fibers::current_fibers->lane());
}
template <class T>
T __shfl_up_sync(unsigned, T value, unsigned delta) {
  const unsigned lane = Fibers::current_fibers->lane();
  return exchanged(value, lane >= delta ? lane - delta : lane);
}
inline unsigned __ballot_sync(unsigned, int predicate) { return Fibers::current_fibers->vote(predicate != 0); }
inline unsigned cluster_rank() { return Fibers::current_fibers->rank(); }
/// What blocks of a cluster send: a counter of bytes that are awaited, whether the receiver has said how many, and the
/// parity of the phase, as barriers of shared memory have them.
struct Arrival {
  std::int32_t bytes = 0;
  std::uint16_t awaits = 0, parity = 0;
  void proceed() {
    if (!awaits || bytes != 0) return;
    awaits = 0, parity ^= 1;
  }
};
template <std::size_t N>
void cluster_start(unsigned long long (&arrivals)[N]) {
  if (threadIdx.x == 0) std::memset(arrivals, 0, sizeof(arrivals));
}
inline void cluster_started() { Fibers::current_fibers->wait_for_cluster(); }
inline std::uint8_t* shared_memory() { return Fibers::current_fibers->shared_memory(cluster_rank()); }
template <class T>
T& remote(T& here, unsigned rank) {
  Fibers& fibers = *Fibers::current_fibers;
  const auto offset = reinterpret_cast<std::uint8_t*>(&here) - fibers.shared_memory(fibers.rank());
  return *reinterpret_cast<T*>(fibers.shared_memory(rank) + offset);
}
template <class State>
void send_state(State& to, unsigned long long& arrival, unsigned rank, const State& from) {
  remote(to, rank) = from;
  auto& there = reinterpret_cast<Arrival&>(remote(arrival, rank));
  there.bytes -= static_cast<std::int32_t>(sizeof(State));
  there.proceed();
}
inline void await_states(unsigned long long& arrival, unsigned parity, unsigned bytes) {
  auto& here = reinterpret_cast<Arrival&>(arrival);
  if (threadIdx.x == 0) {
    here.bytes += static_cast<std::int32_t>(bytes), here.awaits = 1;
    here.proceed();
  }
  if (threadIdx.x < 32) Fibers::current_fibers->wait_until([&] { return here.parity != parity; });
}
template <class Word>
void copy_async(Word& to, const void* from, bool inside) {
  to = Word();
  if (inside) std::memcpy(&to, from, sizeof(Word));
}
inline void copy_wait() {}
inline void copy_commit() {}
template <int Groups>
void copy_wait_group() {}
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __ffs(unsigned x) { return x == 0 ? 0 : __builtin_ctz(x) + 1; }
inline unsigned atomicInc(unsigned* counter, unsigned limit) {
  const unsigned old = *counter;
  *counter = old >= limit ? 0 : old + 1;
  return old;
}
template <class T>
T atomicAdd(T* to, T value) {
  return std::atomic_ref(*to).fetch_add(value);
}
inline unsigned atomicCAS(unsigned* to, unsigned expected, unsigned value) {
  std::atomic_ref(*to).compare_exchange_strong(expected, value);
  return expected;
}
template <class T>
T __ldcg(const T* from) {
  return *from;
}
// NOLINTEND

}  // namespace kiln::emulation
