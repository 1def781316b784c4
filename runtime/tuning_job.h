// runtime/tuning_job.h -- one kernel with all its candidates and the shape of its arguments: what an offline tuner
// needs to measure it without the program that uses it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/tuning_record.h"
#include "support/kernel.h"

namespace kiln::runtime {

struct TuningJob {
  /// An argument that points to memory of its own.
  struct Buffer {
    std::uint32_t at = 0;      ///< in the argument block
    std::uint64_t bytes = 0;   ///< of the memory
    std::uint64_t offset = 0;  ///< of the address in it
  };
  struct Candidate {
    std::string name;
    KernelSource source;
    LaunchShape shape;
  };
  TuningKey key;     ///< without device and multiprocessors: those of the card that runs it
  std::string name;  ///< for people
  CompileOptions options;
  std::int64_t bytes = 0;  ///< moved by one launch
  std::vector<std::uint8_t> image;
  std::vector<Buffer> buffers;
  std::int32_t workspace_at = -1, counters_at = -1;  ///< in the argument block; -1: none
  std::vector<Candidate> candidates;                 ///< the heuristic first
};

/// Lines of numbers and texts of counted length, and a checksum at the end.
std::string to_text(const TuningJob& job);
/// False, with the problem, for anything that is not exactly such a text of this version, and for arguments that point
/// outside of what they say.
bool parse_job(std::string_view text, TuningJob& job, std::string& problem);

/// Writes the job into `directory` under a name that says what it is about, unless it is there. Returns an errno value.
int keep_job(const std::string& directory, const TuningJob& job);

}  // namespace kiln::runtime
