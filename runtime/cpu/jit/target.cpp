// runtime/cpu/jit/target.cpp -- the feature list of a target, presence and absence spelled out.
#include "runtime/cpu/jit/target.h"

#include <set>

namespace kiln::cpu_jit {
namespace {

constexpr const char* x86_features[] = {
#define KILN_CPU_FEATURE(name) name,
#include "runtime/cpu/features.def"
#undef KILN_CPU_FEATURE
};

std::set<std::string, std::less<>> split(std::string_view list) {
  std::set<std::string, std::less<>> words;
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    if (comma != 0) words.emplace(list.substr(0, comma));
    list.remove_prefix(comma == list.npos ? list.size() : comma + 1);
  }
  return words;
}

}  // namespace

TargetDescription describe_target(std::string_view arch) {
  TargetDescription target;
  const std::size_t space = arch.find(' ');
  const std::string_view base = arch.substr(0, space);
  if (base == "aarch64") return {"aarch64-unknown-linux-gnu", "generic", "+neon", {}};
  if (base != "x86-64") {
    target.error =
        "unknown CPU architecture '" + std::string(arch) + "': expected x86-64 or aarch64 and a feature list";
    return target;
  }
  std::set<std::string, std::less<>> wanted = split(space == arch.npos ? std::string_view() : arch.substr(space + 1));
  target.triple = "x86_64-unknown-linux-gnu";
  target.cpu = "x86-64";
  for (const char* feature : x86_features) {
    const bool present = wanted.erase(feature) > 0;
    if (!target.features.empty()) target.features += ',';
    target.features += present ? '+' : '-';
    target.features += feature;
  }
  if (!wanted.empty()) target.error = "unknown CPU feature '" + *wanted.begin() + "' in '" + std::string(arch) + "'";
  return target;
}

}  // namespace kiln::cpu_jit
