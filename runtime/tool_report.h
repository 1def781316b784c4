// runtime/tool_report.h -- what `kiln info` shows: what is installed, found and usable, and why not.
//
// Exported from libkiln.so for the kiln command alone.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <kiln/dtype.h>

#include "runtime/tool_cache.h"

namespace kiln::tool {

struct Problem {
  bool serious = false;  ///< something asked for, or needed by what is there, does not work; else it is merely absent
  std::string what;
  std::string cure;  ///< empty if `what` says it
};

struct DeviceReport {
  std::string id, name, arch;
  int multiprocessors = 0;  ///< CPU: threads
  std::size_t memory_bytes = 0;
};

struct SettingReport {
  std::string name, value, origin, meaning;  ///< origin: "default" or "environment"
};

struct SystemReport {
  std::string version, build, library;  ///< of libkiln.so
  std::string nvrtc_version, nvrtc_path;
  std::vector<std::string> nvrtc_archs;
  std::vector<std::string> nvrtc_tried;  ///< places, if none was found
  std::string driver_version;            ///< "CUDA 13.0 (580.65.06)"
  std::vector<DeviceReport> gpus;
  DeviceReport cpu;
  int cpu_vector_bits = 0;
  std::string cpu_compiler_version, cpu_compiler_path;
  std::string default_device;
  CacheState cache;
  std::vector<SettingReport> settings;
  std::vector<Problem> problems;
};
/// Looks everywhere and opens the compilers and the driver; throws nothing for what is missing.
KILN_API SystemReport system_report();

/// "0.1.0"
KILN_API const char* version();

}  // namespace kiln::tool
