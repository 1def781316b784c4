// runtime/tool_tuning.h -- what `kiln tune`, benchmarks and tests ask of the library: records of tuning, and schedules
// one by one.
//
// Exported from libkiln.so for the kiln command, benchmarks and tests alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <kiln/dtype.h>

namespace kiln::tool {

struct TunedKernel {
  std::string kernel, name, device;  ///< identity, entry point, "NVIDIA H200"
  int multiprocessors = 0, size = 0;
  std::string choice, heuristic;
  bool any_order = false;
  double choice_us = 0, heuristic_us = 0;
  unsigned runs = 0;
  std::int64_t date = 0;  ///< seconds since the epoch
};
/// On disk and in memory, sorted.
KILN_API std::vector<TunedKernel> tuned_kernels();
/// Where records are kept; empty if nowhere.
KILN_API std::string tuning_directory();

/// All records as text: lines that are equal wherever they are, in any order and mixed with others.
KILN_API std::string export_tuning();
struct TuningImport {
  std::size_t taken = 0, known = 0, rejected = 0, unwritten = 0;  ///< lines
};
/// Takes such lines. `keep`: writes them beside the cache; else they serve this process, and only where it knows
/// nothing of its own.
KILN_API TuningImport import_tuning(const std::string& text, bool keep);
/// Removes the records of a device ("": of all); their number is returned.
KILN_API std::size_t forget_tuning(const std::string& device);

/// Kernels whose tuning has begun and is not decided. Each needs calls, and candidates that are still being compiled.
KILN_API std::size_t kernels_being_tuned();
/// Waits until candidates are compiled and results are written.
KILN_API void finish_background_work();

/// While it lives, plans take one candidate of each kernel: number 0 is the heuristic's schedule. Plans that were made
/// before stay as they are, so a compiled function without captures keeps its first one. One at a time in a process.
class KILN_API ImposedCandidate {
 public:
  explicit ImposedCandidate(int number, bool any_order = false);
  ImposedCandidate(const ImposedCandidate&) = delete;
  ImposedCandidate& operator=(const ImposedCandidate&) = delete;
  ~ImposedCandidate();
  /// Of the kernel with most candidates that was planned meanwhile; 0 while none was.
  static int candidates();
};

/// While it lives, plans ignore what is known, and tuning does not wait for the first calls to pass.
class KILN_API TuningAfresh {
 public:
  TuningAfresh();
  TuningAfresh(const TuningAfresh&) = delete;
  TuningAfresh& operator=(const TuningAfresh&) = delete;
  ~TuningAfresh();
};

}  // namespace kiln::tool
