// runtime/exit_order.h -- the process ends only when nobody is inside of what its end tears down.
//
// A handler of exit waits, up to 20 s, for those who hold the exit. exit runs handlers in the reverse order, so ours is
// registered again after whatever may have registered others: the driver, above all. The compilers register none (NVRTC
// by without_exit_handlers.h, libkiln_cpu.so by its own __cxa_atexit), so it does not matter when one is loaded. That
// holds for a return from main and for exit on any thread; quick_exit and _exit run none of the handlers, and the
// library stays mapped after dlclose. What remains: a system that does not let kiln bind NVRTC anew (no /proc, memory
// that must not be executed), and exit in the 3 ms in which NVRTC then registers its handlers.
#pragma once

#include <atomic>

namespace kiln::runtime {

/// While one lives, the end of the process waits for this thread. Threads that want one while the process already ends
/// sleep, so that nothing is used that is being torn down, and fail with CompileError after 5 s: who joins them waits.
/// The thread that ends the process is free.
class HoldsExit {
 public:
  HoldsExit();
  /// Holds nothing then, and does not fail.
  struct UnlessTooLate {};
  explicit HoldsExit(UnlessTooLate);
  bool holds() const { return holds_; }
  HoldsExit(const HoldsExit&) = delete;
  HoldsExit& operator=(const HoldsExit&) = delete;
  ~HoldsExit();

 private:
  bool holds_ = true;
};

/// Counts the first uses of a library, in which it may register handlers.
class FirstUses {
 public:
  bool is_first() { return uses_.load(std::memory_order_relaxed) < first && uses_.fetch_add(1) < first; }

 private:
  static constexpr unsigned first = 2;
  std::atomic<unsigned> uses_{0};
};

/// CompileError where the process has begun to end. Between the loading of a library and its use.
void refuse_while_exiting();

/// CompileError where handlers of exit have begun to run, on the thread that ends the process too: a destructor of a
/// static object may come after the driver's own.
void refuse_after_exit();

/// What our handler does before it waits.
void set_exit_action(void (*action)());

/// Registers our handler behind all that are registered now.
void put_exit_handler_last();

}  // namespace kiln::runtime
