// dsl/draft.h -- everything decided about a call before anything is compiled.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <kiln/detail/bridge.h>

#include "codegen/ir/kernel.h"
#include "codegen/schedule/schedule.h"
#include "dsl/collapse.h"
#include "dsl/kernels.h"
#include "dsl/lower.h"
#include "dsl/plan.h"
#include "dsl/trace.h"
#include "dsl/tunable.h"

namespace kiln::dsl {

/// Where one access of a kernel finds its memory.
struct Base {
  std::uint32_t number = 0;  ///< as PointerPatch::base; input slot for iotas
  bool constant = false;     ///< an iota that depends on the loop alone
};

/// One kernel of a draft, before compilation.
struct DraftKernel {
  codegen::Kernel kernel;
  codegen::Schedule schedule;
  codegen::Extents extents;
  LaunchShape shape;
  LoopNest nest;            ///< collapsed; one walk per access
  std::vector<Base> bases;  ///< one per access
  std::vector<Parameter> parameters;
  std::int64_t bytes_moved = 0;
  std::vector<char> is_shared;  ///< per access: a load of memory that another one reads, at a neighbouring place
  std::map<std::size_t, std::int64_t> gathered_bytes;  ///< by access that is read by index
  std::int64_t operations = 0;                         ///< of arithmetic, operation_count()
  std::shared_ptr<Tunable> tunable;                    ///< null where nothing is to be tuned
};

/// Everything decided about a call; a plan adds compiled code to it, an inspection prints it.
struct Draft {
  runtime::DeviceId device;  ///< of the operands; an inspection may generate code for another
  std::vector<TargetPlan> targets;
  std::vector<std::uint64_t> temporaries;
  std::vector<DraftKernel> kernels;
  std::vector<std::string> notes;  ///< what was split or copied, and why
  std::vector<std::uint32_t> non_negative;
};

}  // namespace kiln::dsl
