// tests/unit/runtime/cache_machine_test.cpp -- full and read-only disks, other users, wrong clocks, a hundred thousand
// entries (cases C05, C15).
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <chrono>

#include "runtime/cache_directory.h"
#include "runtime/cpu/cpu.h"
#include "tests/unit/runtime/cache_children.h"

namespace kiln::runtime {
namespace {

using namespace test_support;

constexpr uid_t alice = 20001, bob = 20002;

bool is_root() { return geteuid() == 0; }
#define NEEDS_ROOT() \
  if (!is_root()) GTEST_SKIP() << "needs root, to become other users or to mount a small disk"

/// In a child process: a file system of its own at `path`, `options` as for mount -o. Unmounted when the child ends.
bool mount_private(const std::string& path, const char* options, unsigned long flags = 0) {
  return unshare(CLONE_NEWNS) == 0 && mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("tmpfs", path.c_str(), "tmpfs", flags, options) == 0;
}

class CacheMachineTest : public CacheTest {
 protected:
  CacheMachineTest() { chmod(directory_.path.c_str(), 0755); }  // other users may look

  void set_time(const std::string& path, std::int64_t seconds) {
    const timespec time = {seconds, 0}, times[2] = {time, time};
    EXPECT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0) << path;
  }
  std::string path_of(const KernelSource& source) {
    return DiskCache(cache_settings()).path_of(make_cache_key(source, make_options()));
  }
  /// Runs `body` as another user with an own view of the settings; true if it returned true after `warnings` warnings.
  template <class Body>
  bool as_user(uid_t user, const std::string& cache, std::size_t warnings, Body body) {
    return run_children(1, [&](int) {
             if (setgid(user) != 0 || setuid(user) != 0) return false;
             const test::Variable directory("KILN_CACHE_DIR", cache.c_str());
             reset_binary_cache();
             compiles = 0;
             warnings_.clear();
             return body() && warnings_.texts().size() == warnings;
           }) == 1;
  }
};

TEST_F(CacheMachineTest, FullDiskKeepsWhatFitsAndWarnsOnce) {
  NEEDS_ROOT();
  const int succeeded = run_children(1, [&](int) {
    if (!mount_private(directory_.path, "size=256k,mode=0700")) return true;  // a container may forbid it
    const bool right = right_kernels(100);
    const std::size_t stored = entries().size();
    const bool one_warning = warnings_.texts().size() == 1;
    fresh_process();
    const bool right_again = right_kernels(static_cast<int>(100));
    return right && one_warning && stored > 5 && stored < 60 && right_again && cache_counters().disk_hits == stored &&
           cache_counters().disk_rejects == 0 && list_cache(directory_.path).unfinished.empty();
  });
  EXPECT_EQ(succeeded, 1);
}

TEST_F(CacheMachineTest, DiskThatBecomesReadOnlyStillServes) {
  NEEDS_ROOT();
  const int succeeded = run_children(1, [&](int) {
    if (!mount_private(directory_.path, "size=1m,mode=0700")) return true;
    if (!right_kernels(2)) return false;
    fresh_process();
    if (mount("", directory_.path.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, "size=1m,mode=0700") != 0) return true;
    return right_kernels(4) && compiles == 2 && cache_counters().disk_hits == 2 && warnings_.texts().size() == 1;
  });
  EXPECT_EQ(succeeded, 1);
}

TEST_F(CacheMachineTest, DirectoryThatItsOwnerMayNotWriteStillServes) {
  NEEDS_ROOT();
  const std::string cache = directory_.path + "/cache";
  ASSERT_EQ(mkdir(cache.c_str(), 0700), 0);
  ASSERT_EQ(chown(cache.c_str(), alice, alice), 0);
  EXPECT_TRUE(as_user(alice, cache, 0, [] { return right_kernels(2) && compiles == 2; }));
  chmod(cache.c_str(), 0555);
  EXPECT_TRUE(as_user(alice, cache, 1, [] { return right_kernels(40) && compiles == 38; })) << "one warning";
  chmod(cache.c_str(), 0000);
  EXPECT_TRUE(as_user(alice, cache, 1, [] { return right_kernels(3) && compiles == 3; })) << "nor read it";
}

TEST_F(CacheMachineTest, UsersNeverRunEachOthersKernels) {
  NEEDS_ROOT();
  const std::string cache = directory_.path + "/cache";
  ASSERT_EQ(mkdir(cache.c_str(), 0755), 0);
  ASSERT_EQ(chown(cache.c_str(), alice, alice), 0);
  EXPECT_TRUE(as_user(alice, cache, 0, [] { return right_kernels(3) && compiles == 3; }));
  const std::size_t before = test::files_below(cache).size();
  EXPECT_TRUE(as_user(bob, cache, 1, [] { return right_kernels(3) && compiles == 3; })) << "Bob does not trust Alice";
  {
    const test::Variable directory("KILN_CACHE_DIR", cache.c_str());
    fresh_process();
    EXPECT_TRUE(right_kernels(3));
    EXPECT_EQ(compiles, 3) << "root does not run what a user has put there";
  }
  EXPECT_EQ(test::files_below(cache).size(), before);
  EXPECT_TRUE(as_user(alice, cache, 0, [] { return right_kernels(3) && compiles == 0; }));
}

TEST_F(CacheMachineTest, EntryThatBelongsToSomebodyElseIsReplaced) {
  NEEDS_ROOT();
  const std::string cache = directory_.path + "/cache";
  ASSERT_EQ(mkdir(cache.c_str(), 0700), 0);
  ASSERT_EQ(chown(cache.c_str(), alice, alice), 0);
  EXPECT_TRUE(as_user(alice, cache, 0, [] { return right_kernels(1) && compiles == 1; }));
  for (const std::string& file : test::files_below(cache)) ASSERT_EQ(chown(file.c_str(), bob, bob), 0);
  EXPECT_TRUE(
      as_user(alice, cache, 0, [] { return right_kernels(1) && compiles == 1 && cache_counters().disk_rejects == 1; }));
  EXPECT_TRUE(as_user(alice, cache, 0, [] { return right_kernels(1) && compiles == 0; }));
}

TEST_F(CacheMachineTest, AKernelForAnotherCpuIsAnotherKernel) {
  KernelSource source = make_source("ir");
  source.language = Language::llvm_ir;
  const std::string here = make_cache_key(source, make_options("")).text;
  EXPECT_EQ(here, make_cache_key(source, make_options(cpu_arch())).text) << "no architecture means this host's";
  EXPECT_NE(here, make_cache_key(source, make_options("x86-64 sse3")).text);
  EXPECT_NE(here.find(cpu_arch()), std::string::npos);
}

// Times of the future, left by a clock that ran ahead, must not protect entries for ever.
TEST_F(CacheMachineTest, EntriesOfTheFutureAreTheFirstToGo) {
  const auto source = [](int i) { return make_source(std::string(16000, 'k') + std::to_string(i)); };
  const std::int64_t now = time(nullptr);
  const std::int64_t ages[] = {now + 400'000'000, now - 50, now - 2000, now + 90'000, now - 1000, now + 30};
  for (int i = 0; i < 6; ++i) {
    lookup(source(i), make_options());
    set_time(path_of(source(i)), ages[i]);
  }
  const auto left_after = [&](std::uint64_t count) {
    CacheListing listing = list_cache(directory_.path);
    const std::uint64_t one = listing.bytes / listing.entries.size();
    remove_oldest(listing, count * one);
    std::string left;
    for (int i = 0; i < 6; ++i)
      left += access(path_of(source(i)).c_str(), F_OK) == 0 ? static_cast<char>('0' + i) : '-';
    return left;
  };
  EXPECT_EQ(left_after(5), "012-45") << "the future first, and of that the earliest";
  EXPECT_EQ(left_after(4), "-12-45");
  EXPECT_EQ(left_after(2), "-1---5") << "then the oldest; half a minute ahead is another machine's clock";
}

TEST_F(CacheMachineTest, UseCorrectsATimeFromTheFuture) {
  lookup(make_source("x"), make_options());
  const std::string path = path_of(make_source("x"));
  for (const std::int64_t wrong : {std::int64_t{4'000'000'000}, std::int64_t{0}}) {
    set_time(path, wrong);
    fresh_process();
    lookup(make_source("x"), make_options());
    struct stat status{};
    ASSERT_EQ(stat(path.c_str(), &status), 0);
    EXPECT_LE(std::abs(status.st_mtim.tv_sec - time(nullptr)), 5);
  }
}

TEST_F(CacheMachineTest, UnfinishedFilesAreRemovedOnceNobodyCanBeWritingThem) {
  lookup(make_source("x"), make_options());
  const std::string shard = shard_of(path_of(make_source("x")));
  const std::int64_t now = time(nullptr);
  const std::string names[] = {"/.tmp-1-0000000000000001", "/.tmp-12-00000000000000ab", "/.tmp-1-00000000000000ff"};
  const std::int64_t ages[] = {now - 7200, now - 60, now + 7200};
  for (const std::string& directory : {shard, directory_.path}) {
    for (int i = 0; i < 3; ++i) {
      test::write_text(directory + names[i], "half");
      set_time(directory + names[i], ages[i]);
    }
  }
  const std::string mine = shard + "/.tmp-notes", other = directory_.path + "/notes.txt";
  for (const std::string& file : {mine, other}) {
    test::write_text(file, "not kiln's");
    set_time(file, now - 7200);
  }
  DiskCache(cache_settings()).prune(0);
  for (const std::string& directory : {shard, directory_.path}) {
    EXPECT_NE(access((directory + names[0]).c_str(), F_OK), 0) << "two hours old";
    EXPECT_EQ(access((directory + names[1]).c_str(), F_OK), 0) << "its writer may still be at work";
    EXPECT_NE(access((directory + names[2]).c_str(), F_OK), 0) << "from the future";
  }
  EXPECT_EQ(access(mine.c_str(), F_OK), 0) << "not named like kiln's";
  EXPECT_EQ(access(other.c_str(), F_OK), 0);
}

// A directory full of somebody's files is neither counted nor emptied.
TEST_F(CacheMachineTest, FilesThatAreNotKilnsSurviveAnyPruning) {
  for (const char* const name : {"/ab/data.txt", "/ab/0123.kernel", "/photos/ab.kernel"}) {
    const std::string path = directory_.path + name;
    std::filesystem::create_directories(shard_of(path));
    test::write_text(path, std::string(10000, 'x'));
  }
  EXPECT_EQ(DiskCache(cache_settings()).prune(0), 0u);
  EXPECT_EQ(test::files_below(directory_.path).size(), 3u);
}

// Two processes that prune at once must not remove twice as much: what the other removed counts.
TEST_F(CacheMachineTest, PruningBesideAnotherProcessRemovesNoMoreThanNeeded) {
  EXPECT_TRUE(right_kernels(64));
  CacheListing first = list_cache(directory_.path), second = first;
  const std::uint64_t goal = first.bytes / 2;
  remove_oldest(first, goal);
  remove_oldest(second, goal);
  EXPECT_EQ(list_cache(directory_.path).entries.size(), 32u);
}

double milliseconds(const std::function<void()>& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

// C15: a look-up and a publication cost the same as in an empty cache; counting and evicting stay in the seconds.
TEST_F(CacheMachineTest, AHundredThousandEntries) {
  constexpr int count = 100'000;
  for (int i = 0; i < count; ++i) {
    const std::string path = entry_path(directory_.path, blake3(std::to_string(i)));
    int file = open(path.c_str(), O_CREAT | O_WRONLY, 0600);
    if (file < 0) {
      mkdir(shard_of(path).c_str(), 0700);
      file = open(path.c_str(), O_CREAT | O_WRONLY, 0600);
    }
    ASSERT_EQ(write(file, "0123456789", 10), 10);
    close(file);
  }
  const double publish = milliseconds([&] { lookup(make_source("published"), make_options()); });
  fresh_process();
  const double find = milliseconds([&] { lookup(make_source("published"), make_options()); });
  EXPECT_EQ(compiles, 0);
  CacheListing listing;
  const double list = milliseconds([&] { listing = list_cache(directory_.path); });
  EXPECT_EQ(listing.entries.size(), count + 1u);
  const double evict = milliseconds([&] { remove_oldest(listing, listing.bytes * 7 / 8); });
  EXPECT_NEAR(static_cast<double>(listing.entries.size()), count * 7 / 8, 20);
  EXPECT_EQ(list_cache(directory_.path).entries.size(), listing.entries.size());
  std::printf("100,000 entries: publish %.2f ms, find %.2f ms, list %.0f ms, evict an eighth %.0f ms\n", publish, find,
              list, evict);
  EXPECT_LT(publish, 200.0);  // a scan of everything takes longer on a disk, and ten times on a network
  EXPECT_LT(find, 50.0);
  EXPECT_LT(list, 20'000.0);
  EXPECT_LT(evict, 20'000.0);
}

}  // namespace
}  // namespace kiln::runtime
