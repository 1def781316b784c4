// tests/unit/runtime/fault_plan.h -- numbers the system calls of the cache and makes chosen ones fail, or kills there.
#pragma once

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <limits>

#include "support/file_faults.h"
#include "support/files.h"

namespace kiln::runtime::test_support {

struct FaultPlan {
  static constexpr int never = std::numeric_limits<int>::max();
  std::atomic<int> seen{0};  ///< system calls so far
  int first = never;         ///< number of the first call that fails
  int last = never;          ///< and of the last
  int error = 0;             ///< errno, or files::short_transfer
  bool deadly = false;       ///< SIGKILL instead
};
inline FaultPlan fault_plan;

inline int follow_plan(files::Step, const char*) {
  const int number = fault_plan.seen++;
  if (number < fault_plan.first || number > fault_plan.last) return 0;
  if (fault_plan.deadly) ::kill(::getpid(), SIGKILL);
  return fault_plan.error;
}

/// Calls number `first` to `last` fail with `error` until the end of the scope.
class Faults {
 public:
  Faults(int first, int last, int error, bool deadly = false) {
    fault_plan.seen = 0;
    fault_plan.first = first;
    fault_plan.last = last;
    fault_plan.error = error;
    fault_plan.deadly = deadly;
    files::set_fault_hook(follow_plan);
  }
  Faults() : Faults(FaultPlan::never, FaultPlan::never, 0) {}  // only counts
  Faults(const Faults&) = delete;
  Faults& operator=(const Faults&) = delete;
  ~Faults() { files::set_fault_hook(nullptr); }
  int seen() const { return fault_plan.seen; }
};

}  // namespace kiln::runtime::test_support
