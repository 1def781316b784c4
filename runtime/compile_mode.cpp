// runtime/compile_mode.cpp -- one atomic.
#include "runtime/compile_mode.h"

#include <atomic>

namespace kiln::runtime {
namespace {

std::atomic<CompileMode> mode_of_process{CompileMode::automatic};

}  // namespace

CompileMode compile_mode() { return mode_of_process.load(std::memory_order_relaxed); }

void set_compile_mode(CompileMode mode) { mode_of_process.store(mode, std::memory_order_relaxed); }

}  // namespace kiln::runtime
