// tests/unit/runtime/cache_obstacles_test.cpp -- what stands in the place of single entries costs those entries only;
// caches on file systems that were read-only from the start (case C04).
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <functional>
#include <set>

#include "runtime/cache_directory.h"
#include "tests/unit/runtime/cache_children.h"

namespace kiln::runtime {
namespace {

using namespace test_support;

constexpr uid_t nobody = 20001;
constexpr int kernels = 12;

KernelSource kernel(int number) { return make_source("kernel " + std::to_string(number)); }

class CacheObstaclesTest : public CacheTest {
 protected:
  std::string path_of(int number) const {
    return DiskCache(cache_settings()).path_of(make_cache_key(kernel(number), make_options()));
  }
  /// As a new process: all kernels are right, so many of them are compiled, and the user reads so many warnings.
  void expect_process(int compiled, std::size_t warnings, const std::string& in_warning = "") {
    fresh_process();
    warnings_.clear();
    for (int k = 0; k < kernels; ++k) lookup(kernel(k), make_options());
    EXPECT_EQ(compiles, compiled);
    auto texts = warnings_.texts();  // other tests of this program leave warnings about bundles
    std::erase_if(texts, [](const std::string& text) { return text.find("kernel cache") == std::string::npos; });
    ASSERT_EQ(texts.size(), warnings) << (texts.empty() ? "" : texts[0]);
    for (const std::string& text : texts) EXPECT_NE(text.find(in_warning), std::string::npos) << text;
  }
  /// The kernel whose shard none of the others is in.
  int alone() const {
    std::multiset<std::string> shards;
    for (int k = 0; k < kernels; ++k) shards.insert(shard_of(path_of(k)));
    for (int k = 0; k < kernels; ++k)
      if (shards.count(shard_of(path_of(k))) == 1) return k;
    ADD_FAILURE() << "all kernels share their shards";
    return 0;
  }
  /// Runs `body` as a user without privileges, for whom this process's cache directory is made anew. True if it passed.
  bool as_ordinary_user(const std::function<void()>& body) {
    return run_children(1, [&](int) {
             std::filesystem::remove_all(directory_.path);
             if (mkdir(directory_.path.c_str(), 0700) != 0) return false;
             if (geteuid() == 0) {
               if (chown(directory_.path.c_str(), nobody, nobody) != 0) return false;
               if (setgid(nobody) != 0 || setuid(nobody) != 0) return false;
             }
             body();
             return !HasFailure();
           }) == 1;
  }
};

// Rule: anything doubtful is a miss and is replaced. Every entry has mode 000, which its owner cannot open.
TEST_F(CacheObstaclesTest, EntriesThatTheirOwnerMayNotReadAreReplaced) {
  EXPECT_TRUE(as_ordinary_user([&] {
    expect_process(kernels, 0);
    for (const std::string& path : entries()) ASSERT_EQ(chmod(path.c_str(), 0), 0);
    const int file = open(path_of(0).c_str(), O_RDONLY);
    ASSERT_LT(file, 0) << "this user may read everything: the test tests nothing";
    expect_process(kernels, 0);
    EXPECT_EQ(cache_counters().disk_rejects, static_cast<std::uint64_t>(kernels));
    expect_process(0, 0);
  }));
}

TEST_F(CacheObstaclesTest, AnEmptyDirectoryIsReplaced) {
  ASSERT_EQ(mkdir(shard_of(path_of(3)).c_str(), 0700), 0);
  ASSERT_EQ(mkdir(path_of(3).c_str(), 0700), 0);
  expect_process(kernels, 0);
  expect_process(0, 0);
}

// Rule: a directory with somebody's files in it is not removed; it costs its entry, one warning, and no other entry.
TEST_F(CacheObstaclesTest, ADirectoryWithFilesCostsOneEntry) {
  std::filesystem::create_directories(path_of(3));
  test::write_text(path_of(3) + "/thesis.txt", "the only copy");
  std::filesystem::permissions(directory_.path, std::filesystem::perms::owner_all);
  expect_process(kernels, 1, path_of(3));
  EXPECT_EQ(entries().size(), kernels - 1u + 1u) << "the others, and the file that is not kiln's";
  expect_process(1, 1, "a directory is in its place");
  EXPECT_EQ(test::read_text(path_of(3) + "/thesis.txt"), "the only copy");
  EXPECT_TRUE(list_cache(directory_.path).unfinished.empty());
  std::filesystem::remove_all(path_of(3));
  expect_process(1, 0);
  expect_process(0, 0);
}

TEST_F(CacheObstaclesTest, SeveralDirectoriesAreStillOneWarning) {
  for (const int k : {1, 4, 7}) std::filesystem::create_directories(path_of(k) + "/below");
  expect_process(kernels, 1, "a directory is in its place");
  expect_process(3, 1, "a directory is in its place");
}

// Rule: the same for what stands in the place of a shard, the directory of some entries.
TEST_F(CacheObstaclesTest, AnythingInThePlaceOfAShardCostsItsEntries) {
  const int k = alone();
  const std::string shard = shard_of(path_of(k));
  test::write_text(shard, "a file");
  expect_process(kernels, 1, "is not a directory");
  expect_process(1, 1, "is not a directory");
  EXPECT_EQ(test::read_text(shard), "a file");
  ASSERT_EQ(unlink(shard.c_str()), 0);
  ASSERT_EQ(symlink("/nonexistent/shard", shard.c_str()), 0);
  expect_process(1, 1, "link to nothing");
  ASSERT_EQ(unlink(shard.c_str()), 0);
  expect_process(1, 0);
}

TEST_F(CacheObstaclesTest, AShardThatItsOwnerMayNotWriteCostsItsEntries) {
  EXPECT_TRUE(as_ordinary_user([&] {
    const int k = alone();
    const std::string shard = shard_of(path_of(k));
    for (const mode_t mode : {0500, 0000}) {
      ASSERT_EQ(mkdir(shard.c_str(), 0700), 0);
      ASSERT_EQ(chmod(shard.c_str(), mode), 0);
      expect_process(mode ? kernels : 1, 1, "has mode");
      expect_process(1, 1, "has mode");
      ASSERT_EQ(chmod(shard.c_str(), 0700), 0);
      ASSERT_EQ(rmdir(shard.c_str()), 0);
    }
    expect_process(1, 0);
    expect_process(0, 0);
  }));
}

/// In a child process: a file system of its own at `path`. A container may forbid it.
bool mount_private(const std::string& path) {
  return unshare(CLONE_NEWNS) == 0 && mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("tmpfs", path.c_str(), "tmpfs", 0, "size=1m,mode=0700") == 0;
}

constexpr int forbidden = 77;

// Rule: a read-only place serves what it has, for one warning.
TEST_F(CacheObstaclesTest, ARootThatIsReadOnlyServesWhatItHas) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to mount a file system";
  const std::string below = directory_.path + "/cache";
  int outcome = -1;
  const pid_t child = fork();
  if (child == 0) {
    if (!mount_private(directory_.path)) _exit(forbidden);
    for (int k = 0; k < 4; ++k) lookup(kernel(k), make_options());
    if (mount("", directory_.path.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, "size=1m,mode=0700") != 0) _exit(forbidden);
    expect_process(kernels - 4, 1, "Read-only file system");
    EXPECT_EQ(cache_counters().disk_hits, 4u);
    const test::Variable absent("KILN_CACHE_DIR", below.c_str());
    expect_process(kernels, 1, "Read-only file system");
    const test::Variable root("KILN_CACHE_DIR", "/sys/kiln-cache");  // where no file system takes files
    expect_process(kernels, 1, "/sys/kiln-cache");
    _exit(HasFailure() ? 1 : 0);
  }
  ASSERT_EQ(waitpid(child, &outcome, 0), child);
  if (WIFEXITED(outcome) && WEXITSTATUS(outcome) == forbidden) GTEST_SKIP() << "this container forbids mounting";
  EXPECT_EQ(outcome, 0);
}

}  // namespace
}  // namespace kiln::runtime
