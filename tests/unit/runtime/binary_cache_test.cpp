// tests/unit/runtime/binary_cache_test.cpp -- memory cache: single flight, failures, keys (cases C07, C08, D03).
#include <sys/wait.h>
#include <unistd.h>

#include <barrier>
#include <thread>

#include "tests/unit/runtime/cache_test_support.h"

namespace kiln::runtime {
namespace {

using namespace test_support;

class BinaryCacheTest : public CacheTest {};

TEST_F(BinaryCacheTest, SecondUseComesFromMemoryAndNextProcessFromDisk) {
  const KernelSource source = make_source("a * x + y");
  const auto first = lookup(source, make_options());
  EXPECT_EQ(first, lookup(source, make_options()));
  EXPECT_EQ(compiles, 1);
  EXPECT_EQ(cache_counters().memory_hits, 1u);
  EXPECT_EQ(cache_counters().disk_misses, 1u);
  fresh_process();
  const auto again = lookup(source, make_options());
  EXPECT_EQ(compiles, 0);
  EXPECT_EQ(cache_counters().disk_hits, 1u);
  EXPECT_EQ(again->entry, "saxpy");
  EXPECT_EQ(again->registers, 32);
  EXPECT_EQ(again->spill_bytes, 8);
  EXPECT_EQ(again->shared_bytes, 1024);
  EXPECT_EQ(again->local_bytes, 16);
  EXPECT_EQ(again->options, make_options());
}

// D03: one compile for many threads that want the same kernel at the same time.
std::atomic<int> concurrent{0}, most_concurrent{0};
Binary slow_compile(const KernelSource& source, const CompileOptions& options) {
  const int now = ++concurrent;
  int seen = most_concurrent;
  while (seen < now && !most_concurrent.compare_exchange_weak(seen, now)) {
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  --concurrent;
  return fake_compile(source, options);
}

TEST_F(BinaryCacheTest, SixteenThreadsCompileEachKeyOnce) {
  constexpr int threads = 16, keys = 4;
  use_compiler_for_tests(slow_compile);
  most_concurrent = 0;
  std::barrier start(threads);
  std::vector<std::jthread> pool;
  for (int t = 0; t < threads; ++t) {
    pool.emplace_back([&, t] {
      start.arrive_and_wait();
      for (int k = 0; k < keys; ++k) lookup(make_source("kernel " + std::to_string((k + t) % keys)), make_options());
    });
  }
  pool.clear();
  EXPECT_EQ(compiles, keys);
  EXPECT_EQ(cache_counters().memory_hits, static_cast<std::uint64_t>(threads * keys - keys));
  EXPECT_GT(most_concurrent, 1) << "compiles of different kernels must not wait for each other";
}

TEST_F(BinaryCacheTest, FailureReachesEveryWaiterAndIsNotCached) {
  constexpr int threads = 8;
  use_compiler_for_tests(slow_compile);
  std::barrier start(threads);
  std::atomic<int> failures{0};
  std::vector<std::jthread> pool;
  for (int t = 0; t < threads; ++t) {
    pool.emplace_back([&] {
      start.arrive_and_wait();
      try {
        cached_binary(make_source("broken"), make_options());
      } catch (const CompileError& error) {
        failures += std::string(error.what()) == "saxpy does not compile";
      }
    });
  }
  pool.clear();
  EXPECT_EQ(failures, threads);
  const int before = compiles;
  EXPECT_THROW(cached_binary(make_source("broken"), make_options()), CompileError);
  EXPECT_EQ(compiles, before + 1) << "a failure is tried again";
  EXPECT_TRUE(entries().empty());
}

TEST_F(BinaryCacheTest, ChildForkedDuringACompileCompilesForItself) {
  use_compiler_for_tests(slow_compile);
  std::jthread compiling([] { cached_binary(make_source("in flight"), make_options()); });
  while (concurrent == 0) std::this_thread::yield();
  const pid_t child = fork();
  if (child == 0) {
    use_compiler_for_tests(fake_compile);
    alarm(20);  // a child that waits for its parent's thread waits for ever
    _exit(image_of(*cached_binary(make_source("in flight"), make_options())).empty() ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

// C07: whatever changes the binary changes the key.
TEST_F(BinaryCacheTest, EveryIngredientMakesAnotherKey) {
  const KernelSource source = make_source("x");
  std::vector<CacheKey> keys = {make_cache_key(source, make_options())};
  const auto add = [&](auto change) {
    KernelSource s = source;
    CompileOptions o = make_options();
    change(s, o);
    keys.push_back(make_cache_key(s, o));
  };
  add([](auto& s, auto&) { s.text = "x "; });
  add([](auto& s, auto&) { s.entry = "other"; });
  add([](auto& s, auto&) { s.argument_bytes = 32; });
  add([](auto& s, auto&) { s.max_threads = 128; });
  try {
    add([](auto& s, auto&) { s.language = Language::llvm_ir; });
  } catch (const DeviceError&) {  // a build without the CPU compiler has no such keys
  }
  add([](auto&, auto& o) { o.arch = "sm_80"; });
  add([](auto&, auto& o) { o.contract = false; });
  add([](auto&, auto& o) { o.fast_math = true; });
  add([](auto&, auto& o) { o.lineinfo = true; });
  add([](auto&, auto& o) { o.extra = {"-DA", "-DB"}; });
  add([](auto&, auto& o) { o.extra = {"-DB", "-DA"}; });
  add([](auto&, auto& o) { o.extra = {"-DA-DB"}; });
  for (std::size_t i = 0; i < keys.size(); ++i)
    for (std::size_t j = i + 1; j < keys.size(); ++j) {
      EXPECT_NE(keys[i].text, keys[j].text) << i << " and " << j;
      EXPECT_NE(keys[i].digest, keys[j].digest) << i << " and " << j;
    }
}

TEST_F(BinaryCacheTest, EqualDigestsOfDifferentKernelsNeverMix) {
  truncate_digests(0);  // every kernel now lives in the same file
  for (int round = 0; round < 3; ++round) {
    for (const char* text : {"f32 sum", "f64 sum", "f32 sum over axis 1"}) lookup(make_source(text), make_options());
    lookup(make_source("f32 sum"), make_options("sm_80"));
    EXPECT_EQ(compiles, 4);
    fresh_process();
  }
  EXPECT_EQ(entries().size(), 1u);
  lookup(make_source("f32 sum"), make_options());
  EXPECT_EQ(cache_counters().disk_rejects, 1u);
}

// C08: a header of the user is part of the key, however deep; a macro as its name keeps the kernel off the disk.
TEST_F(BinaryCacheTest, EditedHeaderMakesANewKernel) {
  const test::TemporaryDirectory headers;
  test::write_text(headers.path + "/outer.h", "#pragma once\n  #  include <inner.h>\n");
  test::write_text(headers.path + "/inner.h", "#define FACTOR 2\n");
  CompileOptions options = make_options();
  options.extra = {"-I" + headers.path};
  const KernelSource source = make_source("#include \"outer.h\"\nFACTOR");
  const CacheKey before = make_cache_key(source, options);
  EXPECT_TRUE(before.persistent);
  test::write_text(headers.path + "/inner.h", "#define FACTOR 3\n");
  EXPECT_NE(make_cache_key(source, options).text, before.text);
  test::write_text(headers.path + "/inner.h", "#define FACTOR 2\n");
  EXPECT_EQ(make_cache_key(source, options).text, before.text);
  for (const std::vector<std::string>& spelling :
       {std::vector<std::string>{"-I", headers.path}, std::vector<std::string>{"--include-path=" + headers.path}}) {
    options.extra = spelling;
    EXPECT_NE(make_cache_key(source, options).text.find("inner.h"), std::string::npos) << spelling[0];
  }
  const KernelSource macro = make_source("#include HEADER\n");
  EXPECT_FALSE(make_cache_key(macro, options).persistent);
  lookup(macro, options);
  EXPECT_TRUE(entries().empty());
}

// An editor saves a header while the kernel is compiled: nobody knows which text the compiler read.
std::string edited_header;
Binary compile_beside_an_editor(const KernelSource& source, const CompileOptions& options) {
  test::write_text(edited_header, "#define FACTOR 3\n");
  return fake_compile(source, options);
}

TEST_F(BinaryCacheTest, HeaderEditedDuringTheCompileKeepsTheKernelOffTheDisk) {
  const test::TemporaryDirectory headers;
  edited_header = headers.path + "/factor.h";
  CompileOptions options = make_options();
  options.extra = {"-I" + headers.path};
  const KernelSource source = make_source("#include <factor.h>\nFACTOR");
  test::write_text(edited_header, "#define FACTOR 2\n");
  use_compiler_for_tests(compile_beside_an_editor);
  lookup(source, options);
  EXPECT_TRUE(entries().empty());
  fresh_process();
  lookup(source, options);
  EXPECT_EQ(compiles, 1);
  EXPECT_EQ(entries().size(), 1u) << "the next process stores it";
}

// C08: results follow the header, and going back to the old text finds the old kernel.
TEST_F(BinaryCacheTest, KernelsFollowTheirHeaders) {
  const test::TemporaryDirectory headers;
  CompileOptions options = make_options();
  options.extra = {"--include-path=" + headers.path};
  const KernelSource source = make_source("#include \"factor.h\"\nFACTOR");
  int expected = 0;
  for (const char* const text : {"2", "3", "2", "3"}) {
    test::write_text(headers.path + "/factor.h", text);
    fresh_process();
    lookup(source, options);
    EXPECT_EQ(compiles, expected < 2 ? 1 : 0) << expected;
    ++expected;
  }
}

TEST_F(BinaryCacheTest, KeyNamesTheBuildOfKilnAndOfTheCompiler) {
  const CacheKey key = make_cache_key(make_source("x"), make_options());
  EXPECT_FALSE(kiln_build().empty());
  EXPECT_NE(key.text.find(kiln_build()), std::string::npos);
  EXPECT_EQ(key.text.find("compiler 0:"), std::string::npos) << "the compiler's identity is never empty";
}

TEST_F(BinaryCacheTest, MemoryIsBounded) {
  const std::string filler(1 << 20, 'x');
  const auto held = lookup(make_source(filler + "first"), make_options());
  const test::Variable off("KILN_CACHE", "off");
  reset_binary_cache();
  for (int i = 0; i < 16; ++i) lookup(make_source(filler + std::to_string(i)), make_options());
  EXPECT_EQ(compiles, 17);
  lookup(make_source(filler + "15"), make_options());
  EXPECT_EQ(compiles, 17) << "the latest are kept";
  lookup(make_source(filler + "0"), make_options());
  EXPECT_EQ(compiles, 18) << "the oldest are dropped above 16 MiB";
  EXPECT_FALSE(image_of(*held).empty()) << "a binary in use stays valid";
}

}  // namespace
}  // namespace kiln::runtime
