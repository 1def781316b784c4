// runtime/cpu/features.cpp -- what this host's CPU and operating system really offer.
#include <string_view>

#include "runtime/cpu/cpu.h"
#include "support/fork_safe.h"

namespace kiln::runtime {
namespace {

#if defined(__x86_64__)
/// cpuid filtered by xgetbv: registers that the operating system does not save count as absent.
std::string detect() {
  __builtin_cpu_init();
  struct Row {
    const char* name;
    bool present;
  };
  const Row rows[] = {
#define KILN_CPU_FEATURE(name) {name, __builtin_cpu_supports(name) != 0},
#include "runtime/cpu/features.def"
#undef KILN_CPU_FEATURE
  };
  // 512-bit code pays from Ice Lake and Zen 4 on, which are the first with VBMI2; on older cores it lowers the clock.
  const bool wide = __builtin_cpu_supports("avx512vbmi2");
  std::string text = "x86-64 ";
  for (const Row& row : rows) {
    if (!row.present || (!wide && std::string_view(row.name).starts_with("avx512"))) continue;
    if (text.back() != ' ') text += ',';
    text += row.name;
  }
  return text;
}
#elif defined(__aarch64__)
std::string detect() { return "aarch64 neon"; }
#else
#error "the CPU device knows x86-64 and AArch64"
#endif

bool has(const std::string& arch, std::string_view feature) {
  for (std::size_t at = arch.find(feature); at != arch.npos; at = arch.find(feature, at + 1)) {
    const std::size_t end = at + feature.size();
    if (at && (arch[at - 1] == ' ' || arch[at - 1] == ',') && (end == arch.size() || arch[end] == ',')) return true;
  }
  return false;
}

}  // namespace

const std::string& cpu_arch() {
  static constinit Leaked<const std::string> text;
  return text.get([] { return new std::string(detect()); });
}

int cpu_vector_bits(const std::string& arch) {
  if (has(arch, "avx512f") && has(arch, "avx512bw") && has(arch, "avx512dq") && has(arch, "avx512vl")) return 512;
  return has(arch, "avx2") ? 256 : 128;
}

}  // namespace kiln::runtime
