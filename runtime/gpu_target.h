// runtime/gpu_target.h -- which architecture to compile for, given a device and what the compiler knows. Pure
// functions.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace kiln::runtime {

/// "sm_90", "sm_90a", "compute_80" taken apart: kind, number (10 * major + minor) and suffix.
struct GpuArch {
  bool is_virtual = false;  ///< compute_XY: PTX
  int number = 0;
  std::string suffix;  ///< "", "a" (this architecture only) or "f" (its family)
};
std::optional<GpuArch> parse_gpu_arch(std::string_view text);

struct GpuTarget {
  std::string arch;     ///< value of --gpu-architecture
  bool is_ptx = false;  ///< the result is PTX, which the driver compiles for the device
};

/// sm_XY as a cubin if the compiler knows it; else PTX for the highest architecture it knows that is not above; nothing
/// if there is none, or if a suffix binds the kernel to an architecture that the compiler does not know.
std::optional<GpuTarget> choose_target(const GpuArch& wanted, std::span<const int> known);

/// The PTX fallback alone, for a device whose driver refused the cubin.
std::optional<GpuTarget> choose_ptx_target(const GpuArch& wanted, std::span<const int> known);

}  // namespace kiln::runtime
