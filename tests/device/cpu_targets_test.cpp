// tests/device/cpu_targets_test.cpp -- code for a named processor keeps to its instructions, in kernels of every kind
// (case F01).
#include <string>
#include <tuple>
#include <vector>

#include "tests/support/devices.h"
#include "tests/support/x86_instructions.h"

#if defined(__x86_64__)
namespace {

class CpuTargets : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
#ifdef KILN_WITHOUT_CPU_COMPILER
    GTEST_SKIP() << "built without the CPU compiler (KILN_CPU_JIT=OFF)";
#endif
    guard_.emplace(kl::Device::cpu());
  }

  /// All kernels of a call, for this test's processor.
  template <class Function, class... A>
  void expect_own_instructions(const char* what, const Function& function, const A&... arguments) {
    const kl::Inspection plan = function.inspect_for(GetParam(), arguments...);
    ASSERT_GE(plan.kernels.size(), 1u) << what;
    for (const kl::KernelInfo& kernel : plan.kernels) {
      const std::string assembly = kernel.sass, arch = kernel.arch;
      ASSERT_NE(assembly.find("ret"), std::string::npos) << what << ": no code";
      EXPECT_EQ(x86::beyond(assembly, x86::features_of(arch)), "") << what << " for " << arch;
      for (const std::string& feature : x86::needed(assembly)) used_.insert(feature);
    }
  }

  /// The scan of the text sees what is there: code for a processor does use what it has.
  void expect_use() const {
    const char version = GetParam()[8];
    const x86::Features own = version == '2'   ? x86::Features{"sse4.1"}
                              : version == '3' ? x86::Features{"avx2", "fma", "f16c"}
                                               : x86::Features{"avx512f"};
    for (const std::string& feature : own) EXPECT_TRUE(used_.contains(feature)) << feature;
  }

  x86::Features used_;
  std::optional<kl::DeviceGuard> guard_;
};

INSTANTIATE_TEST_SUITE_P(Processor, CpuTargets, testing::Values("x86-64-v2", "x86-64-v3", "x86-64-v4"),
                         [](const auto& each) { return "v" + std::string(1, each.param[8]); });

// Rule: no instruction that the target lacks, whatever the kernel does.
TEST_P(CpuTargets, elementwise_kernels_keep_to_their_instructions) {
  const kl::Array<float> x = kl::ones<float>({40, 1000});
  const kl::Array<double> d = kl::ones<double>({40, 1000});
  const kl::Array<kl::half> h = kl::ones<kl::half>({40, 1000});
  const kl::Array<kl::bfloat16> b = kl::ones<kl::bfloat16>({40, 1000});
  const kl::Array<std::int8_t> i8 = kl::ones<std::int8_t>({40, 1000});
  const kl::Array<std::uint8_t> u8 = kl::ones<std::uint8_t>({40, 1000});
  const kl::Array<std::int32_t> i32 = kl::ones<std::int32_t>({40, 1000});
  const kl::Array<std::int64_t> i64 = kl::ones<std::int64_t>({40, 1000});

  const auto maths = kl::jit([](auto v, auto s) { return kl::exp(v) + kl::sin(v * s) * kl::log(v) + kl::erf(v); });
  expect_own_instructions("functions of f32", maths, x, 2.0f);
  expect_own_instructions("functions of f64", maths, d, 2.0);
  expect_own_instructions("functions of f16", maths, h, 2.0f);
  expect_own_instructions("functions of bf16", maths, b, 2.0f);
  const auto rounding = kl::jit([](auto v) { return kl::round(v) + kl::floor(v) * kl::fma(v, v, v); });
  expect_own_instructions("rounding", rounding, x);
  const auto to_half = kl::jit([](auto v) { return kl::cast<kl::half>(v); });
  const auto from_half = kl::jit([](auto v) { return kl::cast<double>(v); });
  expect_own_instructions("f32 to f16", to_half, x);
  expect_own_instructions("f64 to f16", to_half, d);
  expect_own_instructions("i32 to f16", to_half, i32);
  expect_own_instructions("f16 to f64", from_half, h);
  expect_own_instructions("bf16 to f64", from_half, b);

  const auto integers = kl::jit([](auto v, auto n) { return (v / n) + (v % n) * (v << n) - (v >> n) + kl::abs(v); });
  expect_own_instructions("i8", integers, i8, 3);
  expect_own_instructions("u8", integers, u8, 3);
  expect_own_instructions("i32", integers, i32, 3);
  expect_own_instructions("i64", integers, i64, 3);
  const auto to_integer =
      kl::jit([](auto v) { return std::tuple(kl::cast<std::uint8_t>(v), kl::cast<std::int64_t>(v)); });
  expect_own_instructions("f32 to integers", to_integer, x);
  expect_own_instructions("f64 to integers", to_integer, d);
  expect_use();
}

TEST_P(CpuTargets, reductions_scans_and_gathers_keep_to_their_instructions) {
  const kl::Array<float> x = kl::ones<float>({40, 1000}), long_rows = kl::ones<float>({2, 100000});
  const kl::Array<double> d = kl::ones<double>({40, 1000});
  const kl::Array<kl::half> h = kl::ones<kl::half>({40, 1000});
  const kl::Array<kl::bfloat16> b = kl::ones<kl::bfloat16>({40, 1000});
  const kl::Array<std::int8_t> i8 = kl::ones<std::int8_t>({40, 1000});
  const kl::Array<std::uint8_t> u8 = kl::ones<std::uint8_t>({40, 1000});
  const kl::Array<std::int32_t> i32 = kl::ones<std::int32_t>({40, 1000});
  const kl::Array<std::int64_t> ids = kl::zeros<std::int64_t>({300});
  const auto sums = kl::jit([](auto v) { return kl::sum(v, 1); });
  const auto columns = kl::jit([](auto v) { return kl::sum(v, 0); });
  const auto all = kl::jit([](auto v) { return std::tuple(kl::max(v), kl::argmax(v), kl::any(v > 0)); });
  const auto moments = kl::jit([](auto v) { return std::tuple(kl::mean(v, -1), kl::var(v, -1)); });
  expect_own_instructions("sums of f32 rows", sums, x);
  expect_own_instructions("sums of long rows", sums, long_rows);
  expect_own_instructions("sums of f16 rows", sums, h);
  expect_own_instructions("sums of i8 rows", sums, i8);
  expect_own_instructions("sums of u8 columns", columns, u8);
  expect_own_instructions("sums of f64 columns", columns, d);
  expect_own_instructions("sums of bf16 columns", columns, b);
  expect_own_instructions("extremes of f32", all, x);
  expect_own_instructions("extremes of i32", all, i32);
  expect_own_instructions("moments", moments, x);
  const auto softmax = kl::jit([](auto v) {
    auto e = kl::exp(v - kl::max(v, -1, kl::keepdims));
    return e / kl::sum(e, -1, kl::keepdims);
  });
  expect_own_instructions("softmax of f16", softmax, h);
  expect_own_instructions("logsumexp of columns", kl::jit([](auto v) { return kl::logsumexp(v, 0); }), x);

  const auto scan = kl::jit([](auto v) { return kl::cumsum(v, 1); });
  expect_own_instructions("cumsum of f32", scan, x);
  expect_own_instructions("cumsum of i32", scan, i32);
  expect_own_instructions("cumsum of f16", scan, h);
  expect_own_instructions("cummax of columns", kl::jit([](auto v) { return kl::cummax(v, 0); }), x);

  const auto take = kl::jit([](auto v, auto at) { return kl::take(v, at) * 2.0f; });
  const auto take_rows = kl::jit([](auto v, auto at) { return kl::sum(kl::take(v, at, 0), 1); });
  expect_own_instructions("take of f32", take, x, ids);
  expect_own_instructions("take of f16", take, h, ids);
  expect_own_instructions("sums of taken rows", take_rows, x, ids % 40);
  kl::Array<float> target = kl::zeros<float>({50});
  const kl::Inspection scatter = kl::scatter_add.inspect_for(GetParam(), target, ids, kl::exp(kl::cast<float>(ids)));
  for (const kl::KernelInfo& kernel : scatter.kernels)
    EXPECT_EQ(x86::beyond(std::string(kernel.sass), x86::features_of(std::string(kernel.arch))), "") << "scatter";

  expect_use();
}

}  // namespace
#endif
