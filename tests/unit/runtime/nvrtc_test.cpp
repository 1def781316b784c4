// tests/unit/runtime/nvrtc_test.cpp -- real NVRTC compiles without a GPU, and what is said when NVRTC is missing (case
// C11).
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "runtime/binary_cache.h"
#include "runtime/cache_key.h"
#include "runtime/runtime.h"
#include "support/check.h"
#include "tests/unit/temporary.h"
#ifdef KILN_FAKE_CUDA
#include "runtime/cuda/nvrtc_search.h"
#include "runtime/cuda/testing.h"

namespace kiln::runtime {
namespace {

KernelSource saxpy() {
  KernelSource source;
  source.text =
      "struct Arguments { float a; const float* x; float* y; };\n"
      "extern \"C\" __global__ void __launch_bounds__(256) saxpy(const __grid_constant__ Arguments p) {\n"
      "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
      "  p.y[i] = p.a * p.x[i] + p.y[i];\n"
      "}\n";
  source.entry = "saxpy";
  source.argument_bytes = 24;
  source.max_threads = 256;
  return source;
}

CompileOptions options_for(const char* arch) {
  CompileOptions options;
  options.arch = arch;
  return options;
}

bool have_nvrtc() { return !cuda::search_nvrtc(cuda::nvrtc_places()).found.empty(); }
#define NEEDS_NVRTC() \
  if (!have_nvrtc()) GTEST_SKIP() << "no NVRTC here (pip install nvidia-cuda-nvrtc, or the CUDA toolkit)"

TEST(NvrtcTest, CubinsForSeveralArchitecturesWithoutAGpu) {
  NEEDS_NVRTC();
  for (const char* const arch : {"sm_80", "sm_90", "sm_100"}) {
    const Binary binary = compile(saxpy(), options_for(arch), true);
    ASSERT_GT(binary.image.size(), 64u);
    if (!binary.is_ptx) {
      EXPECT_EQ(std::memcmp(binary.image.data(), "\177ELF", 4), 0) << arch;
      EXPECT_GT(binary.registers, 0);
      EXPECT_LE(binary.registers, 255);
      EXPECT_EQ(binary.spill_bytes, 0);
    }
    EXPECT_EQ(binary.entry, "saxpy");
    EXPECT_NE(binary.ptx.find(".entry saxpy"), std::string::npos);
    EXPECT_NE(binary.ptx.find("fma.rn.f32"), std::string::npos);
    EXPECT_EQ(binary.log, "");
  }
}

TEST(NvrtcTest, OptionsReachTheCompiler) {
  NEEDS_NVRTC();
  CompileOptions options = options_for("sm_90");
  options.contract = false;
  EXPECT_EQ(compile(saxpy(), options, true).ptx.find("fma.rn.f32"), std::string::npos) << "--fmad=false";
  options.lineinfo = true;
  EXPECT_NE(compile(saxpy(), options, true).ptx.find(".loc"), std::string::npos) << "-lineinfo";
  options.fast_math = true;
  KernelSource source = saxpy();
  source.text.replace(source.text.find("p.a * p.x[i]"), 12, "p.a / p.x[i]");
  EXPECT_NE(compile(source, options, true).ptx.find("div.approx"), std::string::npos) << "--use_fast_math";
}

TEST(NvrtcTest, SharedMemoryAndSpillsAreReported) {
  NEEDS_NVRTC();
  KernelSource source = saxpy();
  const std::size_t brace = source.text.find("{\n  const");
  source.text.insert(brace + 1, "__shared__ float tile[512]; tile[threadIdx.x] = 1.f; __syncthreads();\n");
  source.text.replace(source.text.find("p.a * p.x[i]"), 12, "tile[255 - threadIdx.x] * p.x[i]");
  const Binary binary = compile(source, options_for("sm_80"));
  EXPECT_EQ(binary.shared_bytes, 2048);
}

TEST(NvrtcTest, DeviceNewerThanTheCompilerGetsPtx) {
  NEEDS_NVRTC();
  const Binary binary = compile(saxpy(), options_for("sm_990"), true);
  EXPECT_TRUE(binary.is_ptx);
  EXPECT_EQ(binary.image.back(), '\0') << "the driver reads PTX as a C string";
  EXPECT_NE(std::string(binary.image.data()).find(".target sm_"), std::string::npos);
}

TEST(NvrtcTest, ErrorCarriesExcerptLogAndCompiler) {
  NEEDS_NVRTC();
  KernelSource source = saxpy();
  source.text.replace(source.text.find("p.a * p.x[i]"), 12, "p.b * p.x[i]");
  try {
    compile(source, options_for("sm_90"));
    FAIL() << "it compiled";
  } catch (const CompileError& error) {
    const std::string text = error.what();
    for (const char* const part :
         {"kernel saxpy", "sm_90", "NVRTC 1", ">     4 |   p.y[i] = p.b", "saxpy.cu(4): error"})
      EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  EXPECT_NO_THROW(compile(saxpy(), options_for("sm_90"))) << "usable after an error";
  EXPECT_THROW(compile(saxpy(), options_for("hopper")), CompileError);
  try {
    compile(saxpy(), options_for("sm_20"));
    FAIL() << "it compiled";
  } catch (const CompileError& error) {
    EXPECT_NE(std::string(error.what()).find("knows sm_"), std::string::npos) << error.what();
  }
}

TEST(NvrtcTest, MissingNvrtcNamesEveryPlaceAndHowToGetIt) {
  const test::TemporaryDirectory empty;
  cuda::NvrtcPlaces places;
  places.named = empty.path + "/libnvrtc.so";
  places.directories = {empty.path, empty.path + "/absent"};
  const cuda::NvrtcSearch search = cuda::search_nvrtc(places);
  EXPECT_TRUE(search.found.empty());
  EXPECT_EQ(search.tried, (std::vector<std::string>{"KILN_NVRTC=" + empty.path + "/libnvrtc.so", empty.path,
                                                    empty.path + "/absent"}));
}

TEST(NvrtcTest, SearchPrefersTheNamedPlaceAndTheNewestMajor) {
  const test::TemporaryDirectory root;
  const std::string a = root.path + "/a", b = root.path + "/b";
  std::filesystem::create_directories(a);
  std::filesystem::create_directories(b);
  for (const char* const name : {"/libnvrtc.so.11.2", "/libnvrtc.so.12", "/libnvrtc.so.13", "/libnvrtc.alt.so.13",
                                 "/libnvrtc-builtins.so.13.0", "/libnvrtc.so.11"})
    test::write_text(a + name, "");
  test::write_text(b + "/libnvrtc.so.12", "");
  EXPECT_EQ(cuda::search_nvrtc({"", {a, b, a}}).found,
            (std::vector<std::string>{a + "/libnvrtc.so.13", a + "/libnvrtc.so.12", b + "/libnvrtc.so.12"}));
  EXPECT_EQ(cuda::search_nvrtc({b, {a}}).found.front(), b + "/libnvrtc.so.12");
  EXPECT_EQ(cuda::search_nvrtc({b + "/libnvrtc.so.12", {a}}).found.front(), b + "/libnvrtc.so.12");
}

TEST(NvrtcTest, PythonPackagesAreSearched) {
  const test::TemporaryDirectory home;
  const std::string packages = home.path + "/.local/lib/python3.11/site-packages/nvidia";
  for (const char* const part : {"/cu13/lib", "/cuda_nvrtc/lib"}) std::filesystem::create_directories(packages + part);
  test::write_text(packages + "/cu13/lib/libnvrtc.so.13", "");
  const test::Variable variable("HOME", home.path.c_str());
  const cuda::NvrtcSearch search = cuda::search_nvrtc(cuda::nvrtc_places());
  EXPECT_NE(std::find(search.found.begin(), search.found.end(), packages + "/cu13/lib/libnvrtc.so.13"),
            search.found.end());
  EXPECT_NE(std::find(search.tried.begin(), search.tried.end(), packages + "/cuda_nvrtc/lib"), search.tried.end());
}

/// Runs in a child, because a process keeps the libraries that it has opened. The environment hides all but `nvrtc`.
template <class Body>
int in_child(const std::string& nvrtc, Body body) {
  const pid_t child = fork();
  if (child == 0) {
    setenv("KILN_NVRTC", nvrtc.c_str(), 1);
    reload_settings();
    cuda::search_nvrtc_again_for_tests();
    _exit(body() ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(NvrtcTest, UnusableLibrariesArePassedOver) {
  NEEDS_NVRTC();
  const test::TemporaryDirectory broken;
  test::write_text(broken.path + "/libnvrtc.so.13", "not a library");
  EXPECT_EQ(in_child(broken.path, [] { return !compile(saxpy(), options_for("sm_90")).image.empty(); }), 0)
      << "the next place is used";
}

// C11: what was compiled while there was an NVRTC still runs when there is none.
TEST(NvrtcTest, CachedKernelsAreFoundWithoutNvrtc) {
  NEEDS_NVRTC();
  const test::TemporaryDirectory cache;
  const test::Variable directory("KILN_CACHE_DIR", cache.path.c_str());
  reset_binary_cache();
  const auto compiled = cached_binary(saxpy(), options_for("sm_90"));
  reset_binary_cache();
  cuda::hide_nvrtc_for_tests(true);
  EXPECT_EQ(cached_binary(saxpy(), options_for("sm_90"))->image, compiled->image);
  EXPECT_EQ(cache_counters().disk_hits, 1u);
  try {
    cached_binary(saxpy(), options_for("sm_80"));
    ADD_FAILURE() << "compiled without a compiler";
  } catch (const CompileError& error) {
    const std::string text = error.what();
    for (const char* const part : {"pip install nvidia-cuda-nvrtc", "KILN_NVRTC", "looked in:"})
      EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  cuda::hide_nvrtc_for_tests(false);
  reset_binary_cache();
}

// C08: another NVRTC, or the same file upgraded in its place, makes other keys; nothing is loaded to know that.
TEST(NvrtcTest, AnotherNvrtcMakesAnotherKey) {
  const test::TemporaryDirectory a, b;
  test::write_text(a.path + "/libnvrtc.so.13", "one");
  test::write_text(b.path + "/libnvrtc.so.13", "another");
  const auto key_with = [](const std::string& directory) {
    const test::Variable named("KILN_NVRTC", directory.c_str());
    cuda::search_nvrtc_again_for_tests();
    return make_cache_key(saxpy(), options_for("sm_90")).text;
  };
  const std::string first = key_with(a.path), second = key_with(b.path);
  EXPECT_NE(first, second);
  EXPECT_EQ(first, key_with(a.path));
  test::write_text(a.path + "/libnvrtc.so.13", "upgraded");
  EXPECT_NE(first, key_with(a.path));
  cuda::search_nvrtc_again_for_tests();
}

TEST(NvrtcTest, TheFirstPlaceIsTheOneTheWholeSearchPrefers) {
  const test::TemporaryDirectory a, home;
  const auto expect_equal = [] {
    const std::vector<std::string> found = cuda::search_nvrtc(cuda::nvrtc_places()).found;
    EXPECT_EQ(cuda::first_nvrtc(), found.empty() ? "" : found.front());
  };
  expect_equal();
  const test::Variable loader("LD_LIBRARY_PATH", a.path.c_str()), packages("HOME", home.path.c_str());
  std::filesystem::create_directories(home.path + "/.local/lib/python3.11/site-packages/nvidia/cu13/lib");
  test::write_text(home.path + "/.local/lib/python3.11/site-packages/nvidia/cu13/lib/libnvrtc.so.13", "");
  expect_equal();
  test::write_text(a.path + "/libnvrtc.so.12", "");
  expect_equal();
  EXPECT_EQ(cuda::first_nvrtc(), a.path + "/libnvrtc.so.12");
  const test::Variable named("KILN_NVRTC", (a.path + "/none").c_str());
  expect_equal();
}

// The first NVRTC found by name cannot be opened: entries carry the name of the one that made them, and are found
// again.
TEST(NvrtcTest, EntriesNameTheCompilerThatMadeThem) {
  NEEDS_NVRTC();
  const test::TemporaryDirectory cache, broken;
  test::write_text(broken.path + "/libnvrtc.so.13", "not a library");
  const test::Variable directory("KILN_CACHE_DIR", cache.path.c_str());
  const auto run = [&](std::uint64_t compiles, std::uint64_t hits) {
    return in_child(broken.path, [&] {
      reset_binary_cache();
      const std::string before = make_cache_key(saxpy(), options_for("sm_90")).compiler;
      cached_binary(saxpy(), options_for("sm_90"));
      const std::string after = make_cache_key(saxpy(), options_for("sm_90")).compiler;
      return before != after && cache_counters().compiles == compiles && cache_counters().disk_hits == hits;
    });
  };
  EXPECT_EQ(run(1, 0), 0);
  EXPECT_EQ(run(0, 1), 0) << "the second process finds the first one's entry";
  reset_binary_cache();
  cached_binary(saxpy(), options_for("sm_90"));
  EXPECT_EQ(cache_counters().disk_hits, 1u) << "and so does one in which the good NVRTC comes first";
  reset_binary_cache();
}

TEST(NvrtcTest, HiddenBuiltinsGiveTheLogAndAHint) {
  NEEDS_NVRTC();
  const std::string real = std::filesystem::canonical(cuda::search_nvrtc(cuda::nvrtc_places()).found.front());
  const test::TemporaryDirectory lonely;
  const std::string copy = lonely.path + "/libnvrtc.so.13";
  std::filesystem::copy_file(real, copy);
  const int result = in_child(copy, [&] {
    try {
      compile(saxpy(), options_for("sm_90"));
    } catch (const CompileError& error) {
      const std::string text = error.what();
      const bool good = text.find("failed to open libnvrtc-builtins") != std::string::npos &&
                        text.find("must lie beside libnvrtc, in " + lonely.path) != std::string::npos;
      if (!good) std::fprintf(stderr, "%s\n", text.c_str());
      return good;
    }
    return dlopen("libnvrtc-builtins.so.13.0", RTLD_NOLOAD | RTLD_NOW) !=
           nullptr;  // the loader's path has it: nothing is hidden
  });
  EXPECT_EQ(result, 0);
}

}  // namespace
}  // namespace kiln::runtime
#endif
