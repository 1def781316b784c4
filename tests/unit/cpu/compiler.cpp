// tests/unit/cpu/compiler.cpp -- libkiln_cpu.so: errors as text, masked features, exported symbols, other LLVM copies,
// images.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <kiln/error.h>

#include "runtime/cpu/compiler_library.h"
#include "tests/unit/cpu/kernel_runner.h"

namespace kiln::test {
namespace {

std::string output_of(const std::string& command, int* status = nullptr) {
  FILE* pipe = popen(command.c_str(), "r");
  std::string text;
  char buffer[4096];
  while (std::size_t n = fread(buffer, 1, sizeof buffer, pipe)) text.append(buffer, n);
  const int result = pclose(pipe);
  if (status) *status = result;
  return text;
}

std::string compile_error_of(const std::string& text) {
  KernelSource source;
  source.language = Language::llvm_ir;
  source.text = text;
  source.entry = "kernel";
  try {
    runtime::compile_cpu(source, {});
  } catch (const CompileError& error) {
    return error.what();
  }
  return "no error";
}

TEST(CpuCompiler, FaultsNameTheNumberedLineAndLeaveTheCompilerUsable) {
  const std::string syntax =
      compile_error_of("define void @kernel() {\nentry:\n  %x = frobnicate i32 1, 2\n  ret void\n}\n");
  EXPECT_NE(syntax.find("    3 >   %x = frobnicate"), std::string::npos) << syntax;
  EXPECT_NE(syntax.find("error"), std::string::npos);
  const std::string missing =
      compile_error_of("declare void @elsewhere()\ndefine void @kernel() {\n  call void @elsewhere()\n  ret void\n}\n");
  EXPECT_NE(missing.find("undefined symbol 'elsewhere'"), std::string::npos) << missing;
  const std::string entry = compile_error_of("define void @other() {\n  ret void\n}\n");
  EXPECT_NE(entry.find("does not define 'kernel'"), std::string::npos) << entry;
  EXPECT_EQ(compile_error_of("define void @kernel() {\n  ret void\n}\n"), "no error");
}

TEST(CpuCompiler, UnknownArchitecturesAndFeaturesAreErrors) {
  const Kernel kernel = operation_kernel(Op::add, 2, DType::f32, DType::f32);
  EXPECT_THROW(CompiledKernel(kernel, "sm_90"), CompileError);
  EXPECT_THROW(CompiledKernel(kernel, "x86-64 avx2,warp9"), CompileError);
}

#if defined(__x86_64__)
TEST(CpuCompiler, MaskedFeaturesNeverAppearInTheCode) {
  // F01: what cpuid or the operating system masks must not come back through a CPU name.
  const Kernel kernel = operation_kernel(Op::sin, 1, DType::f32, DType::f32);
  const CompiledKernel avx2(kernel, "x86-64 sse3,ssse3,sse4.1,sse4.2,popcnt,avx,avx2,fma", true, true);
  EXPECT_EQ(avx2.binary.ptx.find("zmm"), std::string::npos);
  EXPECT_EQ(avx2.binary.ptx.find("%k1"), std::string::npos);
  EXPECT_NE(avx2.binary.ptx.find("ymm"), std::string::npos);
  const CompiledKernel sse2(kernel, "x86-64 ", true, true);
  EXPECT_EQ(sse2.binary.ptx.find("ymm"), std::string::npos);
  EXPECT_EQ(sse2.binary.ptx.find("\tv"), std::string::npos) << "a VEX instruction";
  std::vector<float> x(500);
  for (std::size_t k = 0; k < x.size(); ++k) x[k] = static_cast<float>(k) * 10.5f;
  const auto y = run_flat<float, float>(sse2, {x});
  for (std::size_t k = 0; k < x.size(); ++k) ASSERT_NEAR(y[k], std::sin(static_cast<double>(x[k])), 2e-7);
}

TEST(CpuCompiler, ArchitectureListsWhatTheHostReports) {
  const std::string flags = output_of("grep -m1 ^flags /proc/cpuinfo");
  for (const char* feature : {"avx2", "fma", "f16c", "avx512f"}) {
    const bool claimed = runtime::cpu_arch().find(feature) != std::string::npos;
    EXPECT_TRUE(!claimed || flags.find(feature) != std::string::npos) << feature;
  }
}
#endif

TEST(CpuCompiler, ExportsNothingButItsInterface) {
  // E04: LLVM's symbols and option registry must not meet another copy.
  const std::string path = runtime::compiler_library_path();
  ASSERT_FALSE(path.empty());
  const std::string names = output_of("nm -D --defined-only '" + path + "' | awk '{print $3}'");
  EXPECT_NE(names.find("kiln_cpu_compile"), std::string::npos);
  std::istringstream lines(names);
  for (std::string name; std::getline(lines, name);) EXPECT_EQ(name.rfind("kiln_cpu_", 0), 0u) << name;
}

/// Runs this program again with one test and an environment variable; returns its exit status.
int run_self(const std::string& filter, const std::string& variable, std::string* text = nullptr,
             const std::string& program = std::filesystem::read_symlink("/proc/self/exe").string()) {
  int status = 0;
  const std::string out = output_of(
      variable + " '" + program + "' --gtest_also_run_disabled_tests --gtest_filter=" + filter + " 2>&1", &status);
  if (text) *text = out;
  return status;
}

TEST(CpuCompilerChild, DISABLED_BesideAnotherLlvm) {
  const std::string order = std::getenv("CPU_TEST_ORDER"), library = std::getenv("CPU_TEST_LLVM");
  const Kernel kernel = operation_kernel(Op::exp, 1, DType::f32, DType::f32);
  const auto use = [&] {
    const auto y = run_flat<float, float>(CompiledKernel(kernel), {std::vector<float>(40, 1.0f)});
    ASSERT_NEAR(y[39], 2.718281828, 1e-6);
  };
  if (order == "ours") use();
  ASSERT_TRUE(dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL)) << dlerror();
  use();
}

TEST(CpuCompiler, LivesBesideAnotherLlvmInBothOrders) {
  int checked = 0;
  for (const char* library : {"libLLVM-14.so.1", "libLLVM-15.so.1", "libLLVM.so.19.1"}) {
    if (output_of(std::string("ldconfig -p 2>/dev/null || /sbin/ldconfig -p")).find(library) == std::string::npos)
      continue;
    for (const char* order : {"ours", "theirs"}) {
      std::string text;
      const int status = run_self("CpuCompilerChild.DISABLED_BesideAnotherLlvm",
                                  std::string("CPU_TEST_ORDER=") + order + " CPU_TEST_LLVM=" + library, &text);
      EXPECT_EQ(status, 0) << library << " " << order << "\n" << text;
      ++checked;
    }
  }
  if (!checked) GTEST_SKIP() << "no other LLVM is installed";
}

TEST(CpuCompilerChild, DISABLED_WithoutTheLibrary) {
  try {
    CompiledKernel kernel(operation_kernel(Op::add, 2, DType::f32, DType::f32));
  } catch (const DeviceError& error) {
    printf("%s\n", error.what());
  }
}

TEST(CpuCompiler, AMissingLibraryIsAnErrorThatNamesThePlacesTried) {
  const std::string directory = std::filesystem::temp_directory_path() / ("kiln_missing_" + std::to_string(getpid()));
  std::filesystem::create_directories(directory);
  std::filesystem::copy_file(std::filesystem::read_symlink("/proc/self/exe"), directory + "/test");
  std::string text;
  run_self("CpuCompilerChild.DISABLED_WithoutTheLibrary", "", &text, directory + "/test");
  std::filesystem::remove_all(directory);
  EXPECT_NE(text.find("cannot load the CPU compiler libkiln_cpu.so"), std::string::npos) << text;
  EXPECT_NE(text.find(directory + "/libkiln_cpu.so"), std::string::npos) << text;
}

std::size_t mapping_count() {
  std::ifstream maps("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);) ++count;
  return count;
}

TEST(CpuImages, ManyKernelsLoadRunAndGoAway) {
  // F03: one contiguous mapping per kernel, constants included; freed memory really returns.
  const CompiledKernel kernel(operation_kernel(Op::exp, 1, DType::f32, DType::f32));
  std::vector<float> x(33, 1.0f), y(33);
  CallArguments call;
  call.pointers = {x.data(), y.data()};
  call.extents = {33};
  const std::vector<char> block = kernel.block(call);
  const std::size_t before = mapping_count();
  for (int round = 0; round < 3; ++round) {
    std::vector<std::unique_ptr<runtime::CpuImage>> images;
    for (int k = 0; k < 2000; ++k) images.push_back(std::make_unique<runtime::CpuImage>(kernel.binary.image));
    for (const auto& image : images) {
      y.assign(33, 0);
      image->entry()(block.data(), 0, 33, runtime::libm_table());
      ASSERT_NEAR(y[32], 2.7182818f, 1e-6f);
    }
    for (std::size_t k = 0; k < images.size(); k += 2) images[k].reset();
  }
  EXPECT_LE(mapping_count(), before + 8);
}

TEST(CpuImages, DamagedImagesAreRefused) {
  const CompiledKernel kernel(operation_kernel(Op::add, 2, DType::f32, DType::f32));
  std::vector<char> image = kernel.binary.image;
  image.resize(image.size() - 1);
  EXPECT_THROW(runtime::CpuImage{image}, DeviceError);
  image = kernel.binary.image;
  image[0] ^= 1;
  EXPECT_THROW(runtime::CpuImage{image}, DeviceError);
  EXPECT_THROW(runtime::CpuImage{std::span<const char>()}, DeviceError);
}

TEST(CpuImages, CodeIsNeverWritableAndExecutable) {
  const CompiledKernel kernel(operation_kernel(Op::add, 2, DType::f32, DType::f32));
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) EXPECT_EQ(line.find("rwx"), std::string::npos) << line;
}

}  // namespace
}  // namespace kiln::test
