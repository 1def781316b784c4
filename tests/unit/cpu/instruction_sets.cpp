// tests/unit/cpu/instruction_sets.cpp -- for every list of features, from none to all, code keeps to it; and the list
// of this machine is what its operating system reports (case F01).
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "codegen/schedule/schedule.h"
#include "tests/support/x86_instructions.h"
#include "tests/unit/cpu/kernel_runner.h"

#if defined(__x86_64__)
namespace kiln::test {
namespace {

constexpr const char* all_features[] = {
#define KILN_CPU_FEATURE(name) name,
#include "runtime/cpu/features.def"
#undef KILN_CPU_FEATURE
};

// The scanner itself, on instructions whose feature the manual names.
TEST(InstructionSets, TheScannerKnowsTheManual) {
  const std::pair<const char*, const char*> samples[] = {
      {"\taddps\t%xmm1, %xmm0", ""},
      {"\tmovaps\t16(%rdi), %xmm15", ""},
      {"\trep\t\tbsfl\t%eax, %ecx", ""},
      {"\tandnps\t%xmm1, %xmm0", ""},
      {"\thaddps\t%xmm1, %xmm0", "sse3"},
      {"\tpshufb\t%xmm1, %xmm0", "ssse3"},
      {"\tpmulld\t%xmm1, %xmm0", "sse4.1"},
      {"\tpextrq\t$1, %xmm0, %rax", "sse4.1"},
      {"\tpcmpgtq\t%xmm1, %xmm0", "sse4.2"},
      {"\tpopcntl\t%eax, %ecx", "popcnt"},
      {"\tvaddps\t%xmm1, %xmm0, %xmm2", "avx"},
      {"\tvaddps\t(%rsi), %ymm0, %ymm2", "avx"},
      {"\tvpaddd\t%xmm1, %xmm0, %xmm2", "avx"},
      {"\tvpermilps\t$1, %ymm0, %ymm2", "avx"},
      {"\tvbroadcastss\t(%rax), %ymm2", "avx"},
      {"\tvbroadcastss\t%xmm0, %ymm2", "avx2"},
      {"\tvpaddd\t%ymm1, %ymm0, %ymm2", "avx2"},
      {"\tvgatherdps\t%ymm1, (%rax,%ymm0), %ymm2", "avx2"},
      {"\tvfmadd213ps\t%xmm1, %xmm0, %xmm2", "fma"},
      {"\tvcvtph2ps\t(%rax), %ymm0", "f16c"},
      {"\tshlxq\t%rax, %rcx, %rdx", "bmi2"},
      {"\tandnl\t%eax, %ecx, %edx", "bmi"},
      {"\tlzcntl\t%eax, %ecx", "lzcnt"},
      {"\tvaddps\t%zmm1, %zmm0, %zmm2", "avx512f"},
      {"\tkmovw\t%k1, %eax", "avx512f"},
      {"\tvaddps\t%ymm16, %ymm0, %ymm2", "avx512f"},
      {"\tvaddps\t%ymm1, %ymm0, %ymm2 {%k1} {z}", "avx512f"},
      {".LCPI0_0:", ""},
      {"\t.long\t0x3f800000", ""},
  };
  for (const auto& [line, feature] : samples) {
    const x86::Features found = x86::needed(line);
    EXPECT_EQ(found, *feature ? x86::Features{feature} : x86::Features{}) << line;
  }
}

struct Body {
  const char* name;
  Kernel kernel;
  std::vector<std::int64_t> extents;
};

Kernel converting(DType from, DType to) {
  Kernel kernel = flat_kernel(1, from);
  kernel.body.outputs = {kernel.body.cast(kernel.body.load(0, from), to)};
  kernel.accesses.push_back(access(to, {AxisClass::contiguous}, true));
  return kernel;
}

/// A reduction or scan over the last of two axes; `columns`: the kept one is contiguous.
Kernel folding(codegen::Reduction kind, DType from, DType to, bool scan, bool columns) {
  Kernel kernel;
  kernel.rank = 2;
  kernel.reduced = 1;
  kernel.index = codegen::IndexWidth::bits64;
  const AxisClass dense = AxisClass::contiguous, strided = AxisClass::strided;
  kernel.accesses = {access(from, columns ? std::vector{dense, strided} : std::vector{strided, dense})};
  const NodeId value = kernel.body.cast(kernel.body.load(0, from), to);
  codegen::ReductionSpec spec;
  spec.kind = kind;
  kernel.body.outputs = {scan ? kernel.body.scan(spec, to, {value}) : kernel.body.reduce(spec, to, {value})};
  kernel.accesses.push_back(scan ? access(to, kernel.accesses[0].axes, true)
                                 : access(to, {dense, AxisClass::broadcast}, true));
  return kernel;
}

/// Elements by an index of their own.
Kernel gathering() {
  Kernel kernel = flat_kernel(1, DType::i64);
  Access memory = access(DType::f32, {AxisClass::broadcast});
  memory.gathered = true;
  memory.alignment = 4;
  const NodeId place = kernel.body.load(0, DType::i64), zero = kernel.body.literal(DType::i64, 0);
  kernel.accesses.push_back(memory);
  kernel.body.outputs = {kernel.body.primitive(codegen::NodeKind::gather, DType::f32, {place, zero, zero}, 1)};
  kernel.accesses.push_back(access(DType::f32, {AxisClass::contiguous}, true));
  return kernel;
}

std::vector<Body> bodies() {
  using codegen::Reduction;
  return {
      {"sin", operation_kernel(Op::sin, 1, DType::f32, DType::f32), {}},
      {"exp of f64", operation_kernel(Op::exp, 1, DType::f64, DType::f64), {}},
      {"f16 to f32", converting(DType::f16, DType::f32), {}},
      {"f32 to f16", converting(DType::f32, DType::f16), {}},
      {"f32 to bf16", converting(DType::f32, DType::bf16), {}},
      {"i8 to f64", converting(DType::i8, DType::f64), {}},
      {"u64 to f32", converting(DType::u64, DType::f32), {}},
      {"sums of rows", folding(Reduction::sum, DType::f32, DType::f32, false, false), {5, 3000}},
      {"sums of f16 rows", folding(Reduction::sum, DType::f16, DType::f32, false, false), {5, 3000}},
      {"largest of i64 rows", folding(Reduction::max, DType::i64, DType::i64, false, false), {5, 3000}},
      {"sums of columns", folding(Reduction::sum, DType::f32, DType::f32, false, true), {300, 50}},
      {"running sums", folding(Reduction::sum, DType::f32, DType::f32, true, false), {5, 3000}},
      {"running sums of i32", folding(Reduction::sum, DType::i32, DType::i64, true, false), {5, 3000}},
      {"gather", gathering(), {}},
  };
}

// Rule: what cpuid or the operating system masks does not come back, in whatever order features were invented: each
// list is one longer than the one before.
TEST(InstructionSets, CodeKeepsToEveryListOfFeatures) {
  std::string arch = "x86-64 ";
  x86::Features used;
  for (std::size_t count = 0; count <= std::size(all_features); ++count) {
    if (count > 0) arch += (count > 1 ? "," : "") + std::string(all_features[count - 1]);
    const x86::Features given = x86::features_of(arch);
    ASSERT_EQ(given.size(), count);
    for (const Body& body : bodies()) {
      const codegen::Schedule schedule =
          body.extents.empty() ? codegen::Schedule{} : codegen::choose_cpu_reduction(body.kernel, {body.extents});
      const CompiledKernel compiled(body.kernel, arch, true, true, schedule);
      EXPECT_EQ(x86::beyond(compiled.binary.ptx, given), "") << body.name << " for '" << arch << "'";
      for (const std::string& feature : x86::needed(compiled.binary.ptx)) used.insert(feature);
    }
  }
  for (const char* const feature : {"sse4.1", "avx", "avx2", "fma", "f16c", "avx512f"})
    EXPECT_TRUE(used.contains(feature)) << feature << " is used once it is there, or nothing was scanned";
}

// Rule: features are what cpuid and xgetbv report. Linux lists the same, by names of its own.
TEST(InstructionSets, FeaturesAreWhatTheOperatingSystemReports) {
  std::ifstream cpuinfo("/proc/cpuinfo");
  x86::Features flags;
  for (std::string line; flags.empty() && std::getline(cpuinfo, line);) {
    if (!line.starts_with("flags")) continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    for (std::string word; words >> word;) flags.insert(word);
  }
  if (flags.empty()) GTEST_SKIP() << "/proc/cpuinfo lists no flags here";
  const std::map<std::string_view, std::string_view> names = {
      {"sse3", "pni"}, {"sse4.1", "sse4_1"}, {"sse4.2", "sse4_2"}, {"bmi", "bmi1"}, {"lzcnt", "abm"}};
  const x86::Features claimed = x86::features_of(runtime::cpu_arch());
  const bool wide = flags.contains("avx512_vbmi2");  // the first cores on which 512 bits pay
  for (const std::string_view feature : all_features) {
    const auto other = names.find(feature);
    const bool reported = flags.contains(other == names.end() ? feature : other->second);
    const bool wanted = reported && (wide || !feature.starts_with("avx512"));
    EXPECT_EQ(claimed.contains(feature), wanted) << feature << " of " << runtime::cpu_arch();
  }
  for (const std::string& feature : claimed)
    EXPECT_NE(std::find(std::begin(all_features), std::end(all_features), feature), std::end(all_features)) << feature;
}

}  // namespace
}  // namespace kiln::test
#endif
