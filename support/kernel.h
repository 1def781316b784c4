// support/kernel.h -- plain data that codegen produces and runtime consumes; the only vocabulary they share.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace kiln {

enum class Language : std::uint8_t { cuda, llvm_ir };

/// One variant of one kernel, ready for a compiler.
struct KernelSource {
  Language language = Language::cuda;
  std::string text;
  std::string entry;                 ///< unmangled symbol of the kernel
  std::uint32_t argument_bytes = 0;  ///< size of the by-value argument block
  int max_threads = 0;               ///< __launch_bounds__, 0 for CPU kernels
  /// Kernels of the user's own CUDA text: the C++ name of the kernel, e.g. "scale<float, 4>", whose lowered name
  /// becomes the entry of the binary; `entry` then only names it in messages.
  std::string expression;
  /// Their headers by name: found by #include before any file.
  std::vector<std::pair<std::string, std::string>> headers;
  std::string title;  ///< for people, as bundles have it; may be empty. No part of what the kernel is
};

/// What changes the binary besides the text; hashed in this order.
struct CompileOptions {
  std::string arch;      ///< "sm_90", "compute_80", or a CPU feature string
  bool contract = true;  ///< --fmad
  bool fast_math = false;
  bool lineinfo = false;
  std::vector<std::string> extra;  ///< user options of raw kernels (include paths, defines), in order
  friend bool operator==(const CompileOptions&, const CompileOptions&) = default;
};

struct LaunchShape {
  std::array<std::uint32_t, 3> grid = {1, 1, 1};
  std::array<std::uint32_t, 3> block = {1, 1, 1};
  std::uint32_t shared_bytes = 0;
  std::uint32_t cluster = 1;          ///< blocks per cluster along x
  bool cooperative = false;           ///< all blocks run at the same time, or the launch fails
  std::uint64_t workspace_bytes = 0;  ///< scratch memory for partial results, uninitialised
  std::uint32_t counters = 0;         ///< u32 counters that are zero before and after the launch
  std::int64_t units = 0;             ///< CPU kernels: how many units of work, split among threads
  /// CPU kernels: > 0: when all units are done, the kernel runs once more over the units [-finish_units, 0), which join
  /// what the first ones left in the workspace.
  std::int64_t finish_units = 0;
  std::int64_t grain = 1;  ///< CPU kernels: fewest units worth a thread
};

}  // namespace kiln
