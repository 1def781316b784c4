// runtime/exit_order.h -- the process ends only when nobody is inside of what its end tears down.
//
// Compilers and the driver register handlers of exit when they are loaded, and some more when they are first used. exit
// runs handlers in the reverse order, so ours is registered again after each of theirs. It waits, up to 20 s, for those
// who hold the exit. That holds for a return from main and for exit on any thread; quick_exit and _exit run none of the
// handlers, and the library stays mapped after dlclose. What remains: exit on a thread that has never used kiln, in the
// milliseconds in which a compiler registers its handlers one by one, between the last of them and ours.
#pragma once

#include <atomic>
#include <memory>

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

/// Counts the first uses of a library.
class FirstUses {
 public:
  bool is_first() { return uses_.load(std::memory_order_relaxed) < first && uses_.fetch_add(1) < first; }

 private:
  static constexpr unsigned first = 2;
  std::atomic<unsigned> uses_{0};
};

/// While one lives, a library is loaded or used for the first time: a thread keeps our handler behind those that it
/// registers. To be made after a HoldsExit.
class RegistersHandlers {
 public:
  RegistersHandlers();
  /// Does nothing after the first uses.
  explicit RegistersHandlers(FirstUses& uses);
  RegistersHandlers(const RegistersHandlers&) = delete;
  RegistersHandlers& operator=(const RegistersHandlers&) = delete;
  ~RegistersHandlers();

 private:
  void watch();
  std::shared_ptr<std::atomic<bool>> done_;  ///< null: nothing to do
};

/// While one lives, a thread of its own does the above for threads of low priority, whose children would have theirs
/// and come too late on a busy machine.
class KeepsHandlerLast {
 public:
  KeepsHandlerLast();
  KeepsHandlerLast(const KeepsHandlerLast&) = delete;
  KeepsHandlerLast& operator=(const KeepsHandlerLast&) = delete;
  ~KeepsHandlerLast();
  /// Between the two, handlers may be registered by anything. At the end ours is the last.
  void begin();
  void end();
};

/// CompileError where the process has begun to end. Between the loading of a library and its use.
void refuse_while_exiting();

/// CompileError where handlers of exit have begun to run, on the thread that ends the process too: a destructor of a
/// static object comes after the compiler's own.
void refuse_after_exit();

/// From now on the end of this thread waits while a library is loaded, up to 150 ms: exit runs the destructors
/// of a thread's objects first, so where this thread calls exit, our handler is then the last. Cheap after the first
/// call.
void watch_end_of_thread();

/// What our handler does before it waits.
void set_exit_action(void (*action)());

/// Registers our handler behind all that are registered now.
void put_exit_handler_last();

}  // namespace kiln::runtime
