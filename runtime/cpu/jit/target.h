// runtime/cpu/jit/target.h -- architecture string to LLVM triple, CPU and feature list.
#pragma once

#include <string>
#include <string_view>

namespace kiln::cpu_jit {

struct TargetDescription {
  std::string triple, cpu, features;
  std::string error;
};

/// "x86-64 avx2,fma": the base CPU with exactly these features; every other one that kiln knows is switched off by
/// name, so that no CPU name can bring in what the hypervisor or the operating system masks.
TargetDescription describe_target(std::string_view arch);

}  // namespace kiln::cpu_jit
