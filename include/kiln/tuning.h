// kiln/tuning.h -- what tuning found, taken along and given to others; and schedules one by one, for benchmarks.
//
// Not part of kiln.h: programs are tuned without it (docs/tuning.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <kiln/dtype.h>

namespace kiln::tuning {

struct TunedKernel {
  char kernel[65] = "";   ///< identity, in hexadecimal
  char name[257] = "";    ///< entry point
  char device[257] = "";  ///< "NVIDIA H200"
  int multiprocessors = 0;
  int size = 0;              ///< of launches that move 2^size bytes or more, and less than twice that
  char choice[257] = "";     ///< the schedule that won
  char heuristic[257] = "";  ///< the one it was compared with; equal to `choice` where nothing was better
  bool any_order = false;    ///< found by KILN_TUNE=full
  double choice_us = 0, heuristic_us = 0;
  unsigned runs = 0;      ///< timed runs of all candidates
  std::int64_t date = 0;  ///< seconds since the epoch
};
/// On disk and in memory, sorted.
KILN_API std::vector<TunedKernel> records();
/// All records as text: lines that are equal wherever they are, in any order and mixed with others.
KILN_API std::vector<char> export_records();
struct Import {
  std::size_t taken = 0, known = 0, rejected = 0, unwritten = 0;  ///< lines
};
/// Takes such lines. `keep`: writes them beside the cache; else they serve this process, and only where it knows
/// nothing of its own.
KILN_API Import import_records(std::span<const char> text, bool keep);
/// Removes the records of a device ("": of all); their number is returned.
KILN_API std::size_t forget(const char* device = "");

/// Kernels whose tuning has begun and is not decided. Each needs calls, and candidates that are still being compiled.
KILN_API std::size_t undecided_kernels();
/// Waits until candidates are compiled and results are written.
KILN_API void finish_compiling();

/// While it lives, plans take one candidate of each kernel: number 0 is the heuristic's schedule. Plans that were made
/// before stay as they are, so a compiled function without captures keeps its first one. One at a time in a process.
/// The first 12 are those that programs try; up to `most` others follow, which differ in several respects.
class KILN_API ImposedCandidate {
 public:
  explicit ImposedCandidate(int number, bool any_order = false, unsigned most = 12);
  ImposedCandidate(const ImposedCandidate&) = delete;
  ImposedCandidate& operator=(const ImposedCandidate&) = delete;
  ~ImposedCandidate();
  /// Of the kernel with most candidates that was planned meanwhile; 0 while none was.
  static int candidates();
};

/// While it lives, plans ignore what is known, and tuning does not wait for the first calls to pass.
class KILN_API Afresh {
 public:
  Afresh();
  Afresh(const Afresh&) = delete;
  Afresh& operator=(const Afresh&) = delete;
  ~Afresh();
};

}  // namespace kiln::tuning
