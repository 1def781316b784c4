// tests/unit/runtime/tool_cache_test.cpp -- what `kiln cache` and `kiln info` are told.
#include "runtime/tool_cache.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <thread>

#include "runtime/cache_directory.h"
#include "runtime/cache_entry.h"
#include "runtime/tool_report.h"
#include "tests/unit/runtime/cache_test_support.h"

namespace kiln::runtime {
namespace {

using namespace test_support;

Binary compile_with_a_name(const KernelSource& source, const CompileOptions& options) {
  Binary binary = fake_compile(source, options);
  binary.compiler = "NVRTC 13.0";
  return binary;
}

class ToolCacheTest : public CacheTest {
 protected:
  ToolCacheTest() { use_compiler_for_tests(compile_with_a_name); }
  std::string path_of(const KernelSource& source, const std::string& arch = "sm_90") {
    return DiskCache(cache_settings()).path_of(make_cache_key(source, make_options(arch)));
  }
  void set_age(const std::string& path, std::int64_t seconds) {
    const timespec then = {time(nullptr) - seconds, 0}, times[2] = {then, then};
    ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  }
};

TEST_F(ToolCacheTest, EntriesSayWhatTheyAreLatestUseFirst) {
  lookup(make_source("old", "norm"), make_options("sm_80"));
  lookup(make_source(std::string(100000, 'k'), "softmax"), make_options("sm_90"));
  set_age(path_of(make_source("old", "norm"), "sm_80"), 7200);
  const std::vector<tool::CacheEntry> entries = tool::cache_entries(false);
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].kernel, "softmax");
  EXPECT_EQ(entries[0].arch, "sm_90");
  EXPECT_EQ(entries[0].compiler, "NVRTC 13.0");
  EXPECT_EQ(entries[0].language, "cuda");
  EXPECT_EQ(entries[0].damage, "");
  EXPECT_FALSE(entries[0].other_version);
  EXPECT_GE(entries[0].bytes, 100000u);
  EXPECT_LE(std::abs(entries[0].created_s - time(nullptr)), 5);
  EXPECT_EQ(entries[1].kernel, "norm");
  EXPECT_EQ(entries[1].arch, "sm_80");
  EXPECT_LE(std::abs(time(nullptr) - 7200 - entries[1].used_s), 5);
  EXPECT_LE(std::abs(entries[1].created_s - time(nullptr)), 5) << "use and age are two things";
}

TEST_F(ToolCacheTest, VerifyFindsEveryDamageAndNothingElse) {
  for (const char* const text : {"flipped", "cut", "swapped", "good", "newer"})
    lookup(make_source(text), make_options());
  std::string flipped = test::read_text(path_of(make_source("flipped")));
  flipped.back() = static_cast<char>(flipped.back() ^ 1);
  test::write_text(path_of(make_source("flipped")), flipped);
  const std::string cut = test::read_text(path_of(make_source("cut")));
  test::write_text(path_of(make_source("cut")), cut.substr(0, cut.size() - 1));
  test::write_text(path_of(make_source("swapped")), test::read_text(path_of(make_source("good"))));
  std::string newer = test::read_text(path_of(make_source("newer")));
  newer[8] = static_cast<char>(cache_format_version + 1);
  test::write_text(path_of(make_source("newer")), newer);
  std::map<std::string, std::string> damage;
  for (const tool::CacheEntry& entry : tool::cache_entries(true)) {
    damage[entry.path] = entry.damage;
    EXPECT_EQ(entry.other_version, entry.path == path_of(make_source("newer"))) << entry.path;
  }
  ASSERT_EQ(damage.size(), 5u);
  EXPECT_EQ(damage[path_of(make_source("flipped"))], "its checksum is wrong");
  EXPECT_EQ(damage[path_of(make_source("cut"))], "its length is not what its header says");
  EXPECT_EQ(damage[path_of(make_source("swapped"))], "it lies where another kernel belongs");
  EXPECT_EQ(damage[path_of(make_source("good"))], "");
  EXPECT_EQ(damage[path_of(make_source("newer"))], "") << "another kiln's, which may read it";
}

TEST_F(ToolCacheTest, AnyBytesMayBeDescribed) {
  const std::string good =
      write_entry(make_cache_key(make_source("x"), make_options()), fake_compile(make_source("x"), make_options()));
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const char value : {'\0', '\x7f', '\xff'}) {
      std::string bad = good;
      bad[at] = value;
      EntrySummary summary;
      describe_entry(bad, summary);
      describe_entry(bad.substr(0, at), summary);
      EXPECT_LE(summary.kernel.size(), good.size());
    }
  }
}

TEST_F(ToolCacheTest, StateCountsAndNamesTheProblem) {
  lookup(make_source("x"), make_options());
  const tool::CacheState good = tool::cache_state();
  EXPECT_EQ(good.directory, directory_.path);
  EXPECT_EQ(good.mode, "on");
  EXPECT_EQ(good.entries, 1u);
  EXPECT_GT(good.bytes, 0u);
  EXPECT_EQ(good.limit, 1ull << 30);
  EXPECT_TRUE(good.exists && good.usable && good.writable);
  EXPECT_EQ(good.problem, "");
  EXPECT_FALSE(good.owner.empty());
  EXPECT_EQ(entries().size(), 1u) << "nothing is left of the trial to write";
  chmod(directory_.path.c_str(), 0777);
  EXPECT_NE(tool::cache_state().problem.find("others may write"), std::string::npos);
  EXPECT_FALSE(tool::cache_state().usable);
  chmod(directory_.path.c_str(), 0700);
  {
    const test::Variable read_only("KILN_CACHE", "ro");
    EXPECT_EQ(tool::cache_state().mode, "ro");
    EXPECT_FALSE(tool::cache_state().writable);
    EXPECT_EQ(tool::cache_state().problem, "");
  }
  const test::Variable absent("KILN_CACHE_DIR", (directory_.path + "/not/yet").c_str());
  EXPECT_FALSE(tool::cache_state().exists);
  EXPECT_EQ(tool::cache_state().problem, "") << "the first kernel makes it";
  const test::Variable below("KILN_CACHE_DIR", (path_of(make_source("x")) + "/below").c_str());
  test::write_text(directory_.path + "/file", "");
  const test::Variable blocked("KILN_CACHE_DIR", (directory_.path + "/file/below").c_str());
  EXPECT_NE(tool::cache_state().problem.find("is not a directory"), std::string::npos);
}

TEST_F(ToolCacheTest, PruneKeepsTheLatestAndClearLeavesOthersFiles) {
  for (int i = 0; i < 8; ++i) {
    lookup(make_source(std::string(16000, 'k') + std::to_string(i)), make_options());
    set_age(path_of(make_source(std::string(16000, 'k') + std::to_string(i))), 1000 - i);
  }
  const std::uint64_t all = tool::cache_state().bytes;
  const tool::CacheRemoval some = tool::prune_cache(all / 2);
  EXPECT_EQ(some.entries, 4u);
  EXPECT_EQ(some.left, all / 2);
  EXPECT_EQ(some.bytes, all - all / 2);
  EXPECT_EQ(some.problem, "");
  EXPECT_EQ(access(path_of(make_source(std::string(16000, 'k') + "7")).c_str(), F_OK), 0);
  EXPECT_NE(access(path_of(make_source(std::string(16000, 'k') + "0")).c_str(), F_OK), 0);
  test::write_text(directory_.path + "/mine.txt", "mine");
  EXPECT_EQ(tool::clear_cache().entries, 4u);
  EXPECT_EQ(test::files_below(directory_.path), std::vector<std::string>{directory_.path + "/mine.txt"});
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_.path), {}), 1) << "and no empty directories";
}

TEST_F(ToolCacheTest, AForeignCacheIsLeftAlone) {
  lookup(make_source("x"), make_options());
  chmod(directory_.path.c_str(), 0777);
  EXPECT_NE(tool::clear_cache().problem, "");
  EXPECT_NE(tool::prune_cache(0).problem, "");
  chmod(directory_.path.c_str(), 0700);
  EXPECT_EQ(entries().size(), 1u);
}

// "Never breaks a running process": look-ups go on while another process prunes, clears and verifies.
TEST_F(ToolCacheTest, ProgramsRunOnWhileTheCacheIsCleaned) {
  std::atomic<bool> done{false};
  std::jthread cleaner([&] {
    while (!done) {
      tool::prune_cache(4096);
      for (const tool::CacheEntry& entry : tool::cache_entries(true)) EXPECT_EQ(entry.damage, "");
      tool::clear_cache();
    }
  });
  for (int round = 0; round < 300; ++round) {
    reset_binary_cache();
    lookup(make_source(std::to_string(round % 7)), make_options());
  }
  done = true;
  cleaner.join();
  EXPECT_TRUE(warnings_.texts().empty()) << warnings_.texts().front();
}

TEST_F(ToolCacheTest, ReportNamesWhatIsWrongInTheEnvironment) {
  const auto serious_problem_with = [](const char* text) {
    const tool::SystemReport report = tool::system_report();
    return std::any_of(report.problems.begin(), report.problems.end(), [&](const tool::Problem& problem) {
      return problem.serious && problem.what.find(text) != std::string::npos;
    });
  };
  EXPECT_FALSE(serious_problem_with("KILN_"));
  for (const auto& [name, value] : {std::pair{"KILN_CASH", "on"},
                                    {"KILN_DEVICE", "gpu"},
                                    {"KILN_CACHE_LIMIT", "much"},
                                    {"KILN_CACHE", "maybe"},
                                    {"KILN_DEBUG", "loud"}}) {
    const test::Variable variable(name, value);
    EXPECT_TRUE(serious_problem_with(name)) << name;
  }
  chmod(directory_.path.c_str(), 0777);
  EXPECT_TRUE(serious_problem_with("others may write"));
  chmod(directory_.path.c_str(), 0700);
  const test::Variable threads("KILN_THREADS", "1");
  const tool::SystemReport report = tool::system_report();
  for (const tool::SettingReport& setting : report.settings)
    EXPECT_EQ(setting.origin,
              setting.name == "KILN_THREADS" || setting.name == "KILN_CACHE_DIR" ? "environment" : "default")
        << setting.name;
  EXPECT_EQ(report.version, "0.1.0");
  EXPECT_FALSE(report.cpu.name.empty());
  EXPECT_FALSE(report.cpu.arch.empty());
}

}  // namespace
}  // namespace kiln::runtime
