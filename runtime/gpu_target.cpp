// runtime/gpu_target.cpp -- choice between a cubin and PTX.
#include "runtime/gpu_target.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace kiln::runtime {

std::optional<GpuArch> parse_gpu_arch(std::string_view text) {
  GpuArch arch;
  if (text.starts_with("compute_")) {
    arch.is_virtual = true;
    text.remove_prefix(8);
  } else if (text.starts_with("sm_")) {
    text.remove_prefix(3);
  } else {
    return std::nullopt;
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), arch.number);
  if (error != std::errc() || arch.number < 10) return std::nullopt;
  arch.suffix = text.substr(static_cast<std::size_t>(end - text.data()));
  if (!arch.suffix.empty() && arch.suffix != "a" && arch.suffix != "f") return std::nullopt;
  return arch;
}

std::optional<GpuTarget> choose_ptx_target(const GpuArch& wanted, std::span<const int> known) {
  int best = 0;
  for (const int number : known)
    if (number <= wanted.number) best = std::max(best, number);
  if (best == 0) return std::nullopt;
  // A suffix is honoured only by its own architecture.
  if (!wanted.suffix.empty() && best != wanted.number) return std::nullopt;
  return GpuTarget{fmt::format("compute_{}{}", best, wanted.suffix), true};
}

std::optional<GpuTarget> choose_target(const GpuArch& wanted, std::span<const int> known) {
  const bool is_known = std::find(known.begin(), known.end(), wanted.number) != known.end();
  if (is_known && !wanted.is_virtual) return GpuTarget{fmt::format("sm_{}{}", wanted.number, wanted.suffix), false};
  return choose_ptx_target(wanted, known);
}

}  // namespace kiln::runtime
