// tests/unit/runtime/cache_faults_test.cpp -- every system call of the cache fails, stops half-way or is the last one
// of a killed process (cases C03, C04, C05).
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cerrno>
#include <set>

#include "runtime/cache_directory.h"
#include "runtime/cache_entry.h"
#include "tests/unit/runtime/cache_test_support.h"
#include "tests/unit/runtime/fault_plan.h"

namespace kiln::runtime {
namespace {

using namespace test_support;

class CacheFaultsTest : public CacheTest {
 protected:
  CacheFaultsTest() { prepare(); }

  /// One entry is there, as an earlier process left it.
  void prepare() {
    fresh_cache();
    lookup(make_source("old"), make_options());
    fresh_process();
    warnings_.clear();
  }
  /// Reads an entry, publishes two (into new shards), and as the next process reads again.
  void scenario() {
    for (const char* const text : {"old", "one", "two"}) lookup(make_source(text), make_options());
    reset_binary_cache();
    for (const char* const text : {"old", "one"}) lookup(make_source(text), make_options());
  }
  static constexpr std::size_t processes = 2;  // that the scenario plays, and each may warn once
  /// Whatever happened, a reader sees whole entries only, and right ones.
  void expect_sound_cache() {
    EXPECT_LE(warnings_.texts().size(), processes);
    fresh_process();
    scenario();
    EXPECT_EQ(cache_counters().disk_rejects, 0u) << "no damaged entry was ever visible";
    EXPECT_EQ(entries().size() - unfinished(), 3u);
  }
  std::size_t unfinished() { return list_cache(directory_.path).unfinished.size(); }
  int calls_of_scenario() {
    const Faults counting;
    scenario();
    return counting.seen();
  }
};

constexpr int errors[] = {EACCES, EIO, ENOSPC, ESTALE, ENOENT, EMFILE};

TEST_F(CacheFaultsTest, AnySystemCallMayFailOnce) {
  const int calls = calls_of_scenario();
  ASSERT_GT(calls, 30) << "reads, publications and directories are all behind the layer";
  for (int number = 0; number < calls; ++number) {
    for (const int error : errors) {
      SCOPED_TRACE(fmt::format("call {} fails: {}", number, files::error_text(error)));
      prepare();
      {
        const Faults once(number, number, error);
        scenario();
      }
      expect_sound_cache();
      ASSERT_FALSE(HasFailure());
    }
  }
}

TEST_F(CacheFaultsTest, AllSystemCallsMayFailFromAnyOn) {
  const int calls = calls_of_scenario();
  for (int number = 0; number < calls; ++number) {
    for (const int error : {EIO, ENOSPC, ESTALE, EACCES}) {
      SCOPED_TRACE(fmt::format("calls from {} on fail: {}", number, files::error_text(error)));
      prepare();
      {
        const Faults all(number, FaultPlan::never, error);
        scenario();
      }
      expect_sound_cache();
      ASSERT_FALSE(HasFailure());
    }
  }
}

// A signal that arrives during a call changes nothing: no warning, and everything is stored.
TEST_F(CacheFaultsTest, InterruptedCallsAreMadeAgain) {
  const int calls = calls_of_scenario();
  for (int number = 0; number < calls; ++number) {
    prepare();
    const Faults once(number, number, EINTR);
    scenario();
    ASSERT_TRUE(warnings_.texts().empty()) << "call " << number;
    ASSERT_EQ(entries().size(), 3u) << "call " << number;
    ASSERT_EQ(cache_counters().disk_hits, 2u) << "call " << number;
  }
}

TEST_F(CacheFaultsTest, ShortReadsAndWritesAreContinued) {
  prepare();
  const Faults always(0, FaultPlan::never, files::short_transfer);
  scenario();
  EXPECT_TRUE(warnings_.texts().empty());
  EXPECT_EQ(cache_counters().disk_hits, 2u);
  EXPECT_EQ(entries().size(), 3u);
}

files::Step stale_step;
int stale_error;
int fail_on_entries(files::Step step, const char* path) {
  return step == stale_step && std::string_view(path).ends_with(".kernel") ? stale_error : 0;
}

// As NFS does when another machine replaces or removes what was just looked up: never a warning, the next try serves.
TEST_F(CacheFaultsTest, StaleLookUpsAreMissesWithoutAWarning) {
  for (const files::Step step : {files::Step::open_read, files::Step::status, files::Step::read}) {
    for (const int error : {ESTALE, ENOENT}) {
      SCOPED_TRACE(fmt::format("step {}: {}", static_cast<int>(step), files::error_text(error)));
      fresh_process();
      stale_step = step;
      stale_error = error;
      files::set_fault_hook(fail_on_entries);
      lookup(make_source("old"), make_options());
      files::set_fault_hook(nullptr);
      EXPECT_TRUE(warnings_.texts().empty());
      EXPECT_LE(compiles, 1);
      fresh_process();
      lookup(make_source("old"), make_options());
      EXPECT_EQ(compiles, 0);
    }
  }
}

TEST_F(CacheFaultsTest, ProcessKilledAtAnySystemCallLeavesASoundCache) {
  const int calls = calls_of_scenario();
  std::set<std::size_t> leftovers;
  for (int number = 0; number < calls; ++number) {
    SCOPED_TRACE(fmt::format("killed before call {}", number));
    prepare();
    const pid_t child = fork();
    if (child == 0) {
      const Faults deadly(number, number, 0, true);
      scenario();
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    leftovers.insert(unfinished());
    expect_sound_cache();
    ASSERT_FALSE(HasFailure());
    for (const StoredFile& file : list_cache(directory_.path).unfinished) {  // an hour and a minute later
      const timespec then = {time(nullptr) - 3660, 0}, times[2] = {then, then};
      ASSERT_EQ(utimensat(AT_FDCWD, file.path.c_str(), times, 0), 0);
    }
    DiskCache(cache_settings()).prune(1 << 30);
    ASSERT_EQ(unfinished(), 0u);
    ASSERT_EQ(entries().size(), 3u);
  }
  EXPECT_TRUE(leftovers.contains(1)) << "some kills leave an unfinished file, or the test tests nothing";
}

TEST_F(CacheFaultsTest, NoPrefixOfAnEntryIsAccepted) {
  const CacheKey key = make_cache_key(make_source("prefix"), make_options());
  const std::string good = write_entry(key, fake_compile(make_source("prefix"), make_options()));
  Binary read;
  for (std::size_t length = 0; length < good.size(); ++length)
    ASSERT_NE(read_entry(std::string_view(good).substr(0, length), key, read), "") << length << " bytes";
  ASSERT_EQ(read_entry(good, key, read), "");
}

// Every byte of the file itself wrong: the wrong kernel is never run, and the entry is replaced.
TEST_F(CacheFaultsTest, EveryByteOfAFileMayBeWrong) {
  const std::string path = DiskCache(cache_settings()).path_of(make_cache_key(make_source("old"), make_options()));
  const std::string good = test::read_text(path);
  const std::string digest = to_hex(make_cache_key(make_source("old"), make_options()).digest);
  ASSERT_EQ(verify_entry(good, digest), "");
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] + 1);
    test::write_text(path, bad);
    fresh_process();
    lookup(make_source("old"), make_options());
    ASSERT_EQ(cache_counters().disk_rejects, 1u) << "byte " << at;
    ASSERT_EQ(verify_entry(test::read_text(path), digest), "") << "byte " << at;
  }
  EXPECT_TRUE(warnings_.texts().empty());
}

// A huge sparse file in the place of an entry must not make a program read gigabytes.
TEST_F(CacheFaultsTest, HugeFilesAreNotRead) {
  const std::string path = DiskCache(cache_settings()).path_of(make_cache_key(make_source("old"), make_options()));
  ASSERT_EQ(truncate(path.c_str(), off_t{1} << 40), 0);
  lookup(make_source("old"), make_options());
  EXPECT_EQ(compiles, 1);
  fresh_process();
  lookup(make_source("old"), make_options());
  EXPECT_EQ(compiles, 0);
}

}  // namespace
}  // namespace kiln::runtime
