// runtime/bundle/choose.cpp -- ranks images for a device and says why others do not suit it.
#include "runtime/bundle/choose.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "runtime/gpu_target.h"

namespace kiln::runtime {
namespace {

struct CpuTarget {
  std::string_view name;
  std::string_view features;  ///< as cpu_arch() writes them
};
// The wider the later. The levels of the x86-64 psABI, as far as generated code uses their instructions.
#define KILN_X86_V2 "x86-64 sse3,ssse3,sse4.1,sse4.2,popcnt"
#define KILN_X86_V3 KILN_X86_V2 ",avx,avx2,fma,f16c,bmi,bmi2,lzcnt"
constexpr CpuTarget cpu_targets[] = {
    {"x86-64-v2", KILN_X86_V2},
    {"x86-64-v3", KILN_X86_V3},
    {"x86-64-v4", KILN_X86_V3 ",avx512f,avx512cd,avx512bw,avx512dq,avx512vl"},
    {"aarch64", "aarch64 neon"},
};
#undef KILN_X86_V2
#undef KILN_X86_V3

const CpuTarget* find_cpu_target(std::string_view name) {
  const auto* const found = std::find_if(std::begin(cpu_targets), std::end(cpu_targets),
                                         [&](const CpuTarget& target) { return target.name == name; });
  return found == std::end(cpu_targets) ? nullptr : found;
}

/// "sm_90a" and "ptx_80" taken apart; the number is written in one way only.
std::optional<GpuArch> parse_gpu_target(std::string_view target) {
  const std::size_t digits = target.find('_') + 1;  // 0 if there is none
  const bool is_ptx = target.starts_with("ptx_");
  if (digits == 0 || digits == target.size() || target[digits] == '0') return std::nullopt;
  if (!is_ptx && !target.starts_with("sm_")) return std::nullopt;
  auto arch = parse_gpu_arch(fmt::format("{}{}", is_ptx ? "compute_" : "sm_", target.substr(digits)));
  if (arch && arch->number > 999) return std::nullopt;
  return arch;
}

/// Machine code of these runs on nothing else: integrated GPUs, whose code is compatible with no discrete one's.
bool is_integrated(int number) {
  constexpr std::array numbers = {53, 62, 72, 87, 101, 110};
  return std::find(numbers.begin(), numbers.end(), number) != numbers.end();
}

std::string capability(int number) { return fmt::format("{}.{}", number / 10, number % 10); }

/// A position in the order of preference, the best being the lowest; or why the image does not suit.
struct Rank {
  int value = -1;
  std::string rejection;
};

Rank rank_suffixed(const GpuArch& image, const GpuArch& device) {
  if (image.suffix == "a" && image.number != device.number)
    return {-1, fmt::format("the suffix a binds it to compute capability {}, the device has {}",
                            capability(image.number), capability(device.number))};
  if (image.suffix == "f" && (image.number / 10 != device.number / 10 || image.number > device.number))
    return {-1, fmt::format("the suffix f binds it to compute capability {} and later ones of its major version, the "
                            "device has {}",
                            capability(image.number), capability(device.number))};
  return {};
}

int suffix_rank(const GpuArch& image) { return image.suffix == "a" ? 0 : image.suffix == "f" ? 1 : 2; }

// Per number four places for the suffixes; PTX comes after all machine code.
constexpr int places_per_number = 4, first_ptx = 1'000'000;

Rank rank_cubin(const GpuArch& image, const GpuArch& device) {
  if (Rank rank = rank_suffixed(image, device); !rank.rejection.empty()) return rank;
  if (image.number / 10 != device.number / 10)
    return {-1, fmt::format("machine code of compute capability {}.x does not run on {}", image.number / 10,
                            capability(device.number))};
  if (image.number > device.number)
    return {-1, fmt::format("it needs compute capability {} or a later one of {}.x, the device has {}",
                            capability(image.number), image.number / 10, capability(device.number))};
  if (image.number != device.number && (is_integrated(image.number) || is_integrated(device.number)))
    return {-1, fmt::format("machine code of {} does not run on {}: one of them is an integrated GPU",
                            capability(image.number), capability(device.number))};
  return {(device.number - image.number) * places_per_number + suffix_rank(image), ""};
}

Rank rank_ptx(const GpuArch& image, const GpuArch& device, bool allow_ptx) {
  if (Rank rank = rank_suffixed(image, device); !rank.rejection.empty()) return rank;
  if (image.number > device.number)
    return {-1, fmt::format("PTX for compute capability {} does not run on {}", capability(image.number),
                            capability(device.number))};
  if (!allow_ptx) return {-1, "PTX is not allowed here"};
  return {first_ptx + (device.number - image.number) * places_per_number + suffix_rank(image), ""};
}

Rank rank_on_gpu(const BundleKernel& kernel, const GpuArch& device, bool allow_ptx) {
  if (kernel.kind == ImageKind::object) return {-1, "it is for CPUs"};
  const auto image = parse_gpu_target(kernel.target);
  if (!image) return {-1, "its target is unknown to this kiln"};
  return image->is_virtual ? rank_ptx(*image, device, allow_ptx) : rank_cubin(*image, device);
}

/// Calls `take` for each feature of "x86-64 sse3,ssse3", first "x86-64".
template <class Take>
void for_each_feature(std::string_view text, Take take) {
  while (!text.empty()) {
    const std::size_t end = text.find_first_of(" ,");
    take(text.substr(0, end));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
}

bool has_feature(std::string_view arch, std::string_view feature) {
  bool found = false;
  for_each_feature(arch, [&](std::string_view name) { found |= name == feature; });
  return found;
}

Rank rank_on_cpu(const BundleKernel& kernel, std::string_view arch) {
  if (kernel.kind != ImageKind::object) return {-1, "it is for GPUs"};
  const CpuTarget* const target = find_cpu_target(kernel.target);
  if (!target) return {-1, "its target is unknown to this kiln"};
  const std::string_view family = target->features.substr(0, target->features.find(' '));
  if (!has_feature(arch, family))
    return {-1, fmt::format("it is for {}, this CPU is {}", family, arch.substr(0, arch.find(' ')))};
  std::string missing;
  for_each_feature(target->features, [&](std::string_view feature) {
    if (!has_feature(arch, feature)) missing += fmt::format("{}{}", missing.empty() ? "" : ",", feature);
  });
  if (!missing.empty()) return {-1, fmt::format("this CPU lacks {}", missing)};
  return {static_cast<int>(std::end(cpu_targets) - target), ""};
}

}  // namespace

std::optional<ImageKind> kind_of_target(std::string_view target) {
  if (find_cpu_target(target)) return ImageKind::object;
  const auto arch = parse_gpu_target(target);
  if (!arch) return std::nullopt;
  return arch->is_virtual ? ImageKind::ptx : ImageKind::cubin;
}

std::string_view cpu_target_features(std::string_view target) {
  const CpuTarget* const found = find_cpu_target(target);
  return found ? found->features : std::string_view();
}

BundleChoice choose(std::span<const BundleKernel> candidates, std::string_view arch, bool allow_ptx) {
  const auto gpu = parse_gpu_target(arch);
  BundleChoice choice;
  std::vector<std::pair<int, const BundleKernel*>> ranked;
  for (const BundleKernel& kernel : candidates) {
    Rank rank = gpu ? rank_on_gpu(kernel, *gpu, allow_ptx) : rank_on_cpu(kernel, arch);
    if (rank.rejection.empty())
      ranked.emplace_back(rank.value, &kernel);
    else
      choice.rejections.push_back(fmt::format("{}: {}", kernel.target, rank.rejection));
  }
  std::sort(ranked.begin(), ranked.end());
  for (const auto& [rank, kernel] : ranked) choice.usable.push_back(kernel);
  return choice;
}

}  // namespace kiln::runtime
