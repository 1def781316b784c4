// tests/unit/runtime/disk_cache_test.cpp -- damaged, foreign and unwritable caches, limits (cases C04, C05, C15).
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <random>

#include "runtime/cache_entry.h"
#include "tests/unit/runtime/cache_test_support.h"

namespace kiln::runtime {
namespace {

using namespace test_support;

class DiskCacheTest : public CacheTest {
 protected:
  /// The one entry file of `source`, made by a look-up.
  std::string entry_of(const KernelSource& source) {
    lookup(source, make_options());
    DiskCache cache(cache_settings());
    return cache.path_of(make_cache_key(source, make_options()));
  }
  /// A new process gets the right kernel although the entry is damaged, and leaves a good entry behind.
  void expect_replaced(const KernelSource& source, const std::string& what) {
    SCOPED_TRACE(what);
    fresh_process();
    lookup(source, make_options());
    EXPECT_EQ(compiles, 1);
    EXPECT_LE(warnings_.texts().size(), 1u);
    fresh_process();
    lookup(source, make_options());
    EXPECT_EQ(compiles, 0) << "the damaged entry was replaced";
  }
};

TEST_F(DiskCacheTest, TruncatedEntriesAreReplaced) {
  const KernelSource source = make_source("truncated");
  const std::string path = entry_of(source);
  const std::string good = test::read_text(path);
  for (const std::size_t length :
       {std::size_t{0}, std::size_t{1}, std::size_t{103}, std::size_t{104}, good.size() / 2, good.size() - 1}) {
    test::write_text(path, good.substr(0, length));
    expect_replaced(source, "length " + std::to_string(length));
  }
  test::write_text(path, good + "x");
  expect_replaced(source, "one byte more");
}

TEST_F(DiskCacheTest, EverySingleBitFlipIsDetected) {
  const CacheKey key = make_cache_key(make_source("flipped"), make_options());
  const Binary binary = fake_compile(make_source("flipped"), make_options());
  const std::string good = write_entry(key, binary);
  Binary read;
  ASSERT_EQ(read_entry(good, key, read), "");
  EXPECT_EQ(read.image, binary.image);
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
    ASSERT_NE(read_entry(bad, key, read), "") << "bit " << bit;
  }
}

TEST_F(DiskCacheTest, RandomBytesAreNeverAccepted) {
  const CacheKey key = make_cache_key(make_source("random"), make_options());
  const std::string good = write_entry(key, fake_compile(make_source("random"), make_options()));
  std::mt19937 random(1);
  Binary read;
  for (int round = 0; round < 2000; ++round) {
    std::string bytes(random() % 400, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    if (round % 2) bytes = good.substr(0, 16) + bytes;  // a right magic and version, then anything
    ASSERT_NE(read_entry(bytes, key, read), "");
  }
}

TEST_F(DiskCacheTest, OddFilesInTheEntrysPlaceAreReplaced) {
  const KernelSource source = make_source("odd"), other = make_source("another");
  const std::string path = entry_of(source), other_path = entry_of(other);
  std::string newer = test::read_text(path);
  newer[8] = static_cast<char>(cache_format_version + 1);
  test::write_text(path, newer);
  expect_replaced(source, "another version in the place of ours: damage, for its entries have other names");
  newer[8] = static_cast<char>(cache_format_version);
  newer[12] = static_cast<char>(newer[12] + 16);
  test::write_text(path, newer.insert(104, "unknown fields..."));
  expect_replaced(source, "a longer header");
  test::write_text(path, "not a kiln file, but long enough to hold a header: " + std::string(200, 'x'));
  expect_replaced(source, "foreign file");
  test::write_text(path, test::read_text(other_path));
  expect_replaced(source, "entry of another kernel");
  unlink(path.c_str());
  ASSERT_EQ(symlink("/nonexistent/entry", path.c_str()), 0);
  expect_replaced(source, "dangling link");
  unlink(path.c_str());
  ASSERT_EQ(symlink(other_path.c_str(), path.c_str()), 0);
  expect_replaced(source, "link to another entry");
  unlink(path.c_str());
  ASSERT_EQ(mkdir(path.c_str(), 0700), 0);
  expect_replaced(source, "directory");
  chmod(path.c_str(), 0666);
  expect_replaced(source, "writable by others");
}

/// What a kiln of the next format leaves beside ours: its keys hold its version, so no entry of the two has one name.
std::string entry_of_the_next_format(const CacheKey& key, const Binary& binary, CacheKey& next) {
  next = key;
  const std::string field = "format 1:" + std::to_string(cache_format_version);
  const std::size_t at = next.text.find(field);
  EXPECT_NE(at, next.text.npos) << "the format's version is part of the key";
  if (at != next.text.npos) next.text[at + field.size() - 1] = static_cast<char>('1' + cache_format_version);
  next.digest = blake3(next.text);
  std::string entry = write_entry(next, binary);
  entry[8] = static_cast<char>(cache_format_version + 1);
  entry[12] = static_cast<char>(entry[12] + 16);  // a longer header
  return entry.insert(104, "fields of tomorrow");
}

// Rule: another version's entry is a miss that nobody touches, whatever it holds.
TEST_F(DiskCacheTest, EntriesOfAFutureVersionAreNeitherReadNorRemoved) {
  const KernelSource source = make_source("ours");
  const CacheKey key = make_cache_key(source, make_options());
  CacheKey next;
  const std::string entry = entry_of_the_next_format(key, fake_compile(make_source("theirs"), make_options()), next);
  const std::string path = DiskCache(cache_settings()).path_of(next);
  ASSERT_NE(path, DiskCache(cache_settings()).path_of(key));
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  test::write_text(path, entry);
  for (int process = 0; process < 2; ++process) {
    fresh_process();
    lookup(source, make_options());
    EXPECT_EQ(compiles, process == 0 ? 1 : 0);
    EXPECT_EQ(cache_counters().disk_rejects, 0u);
    EXPECT_EQ(test::read_text(path), entry);
  }
  Binary read;
  EXPECT_NE(read_entry(entry, key, read), "");
  EXPECT_NE(read_entry(entry, next, read), "") << "nor by a key that would fit";
  EXPECT_TRUE(warnings_.texts().empty());
}

TEST_F(DiskCacheTest, DirectoryAndEntriesArePrivate) {
  const test::Variable own("KILN_CACHE_DIR", (directory_.path + "/a b/\xc3\xa9").c_str());
  fresh_process();
  lookup(make_source("x"), make_options());
  const auto files = entries();
  ASSERT_FALSE(files.empty());
  struct stat status{};
  for (std::string path = files[0]; path.size() > directory_.path.size(); path = path.substr(0, path.rfind('/'))) {
    ASSERT_EQ(stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0077u, 0u) << path;
  }
  EXPECT_TRUE(warnings_.texts().empty());
}

// C05: the program runs on, with one warning, whatever is wrong with the place.
TEST_F(DiskCacheTest, WithoutAUsableDirectoryMemoryAloneServes) {
  const auto expect_memory_only = [&](const std::string& what, const std::string& in_warning) {
    SCOPED_TRACE(what);
    test::Warnings warnings;
    fresh_process();
    lookup(make_source("first"), make_options());
    lookup(make_source("second"), make_options());
    lookup(make_source("first"), make_options());
    EXPECT_EQ(compiles, 2);
    ASSERT_EQ(warnings.texts().size(), 1u);
    EXPECT_NE(warnings.texts()[0].find(in_warning), std::string::npos) << warnings.texts()[0];
  };
  {
    const test::Variable a("KILN_CACHE_DIR", nullptr), b("XDG_CACHE_HOME", nullptr), c("HOME", nullptr);
    expect_memory_only("no HOME", "HOME");
  }
  {
    const test::Variable a("KILN_CACHE_DIR", nullptr), b("XDG_CACHE_HOME", "relative"), c("HOME", "/nonexistent");
    expect_memory_only("HOME does not exist", "/nonexistent");
    EXPECT_NE(access("/nonexistent", F_OK), 0) << "a missing HOME is not created";
  }
  {
    test::write_text(directory_.path + "/file", "");
    const test::Variable a("KILN_CACHE_DIR", (directory_.path + "/file").c_str());
    expect_memory_only("a file in the directory's place", "Not a directory");
  }
  for (const int mode : {0777, 0775, 0757}) {
    const std::string shared = directory_.path + "/shared";
    mkdir(shared.c_str(), 0700);
    chmod(shared.c_str(), static_cast<mode_t>(mode));
    const test::Variable a("KILN_CACHE_DIR", shared.c_str());
    expect_memory_only("writable by others", "others may write");
    EXPECT_TRUE(test::files_below(shared).empty());
  }
  {
    const test::Variable a("KILN_CACHE_DIR", (directory_.path + "/" + std::string(300, 'n')).c_str());
    expect_memory_only("name too long", "File name too long");
  }
  if (geteuid() == 0) {
    const std::string foreign = directory_.path + "/foreign";
    mkdir(foreign.c_str(), 0700);
    ASSERT_EQ(chown(foreign.c_str(), 12345, 12345), 0);
    const test::Variable a("KILN_CACHE_DIR", foreign.c_str());
    expect_memory_only("foreign owner", "12345");
  }
}

files::Step failing_step;
int failing_error;
int fail_step(files::Step step, const char*) { return step == failing_step ? failing_error : 0; }

TEST_F(DiskCacheTest, WriteErrorsAreOneWarningAndNoFailure) {
  const std::pair<files::Step, int> faults[] = {
      {files::Step::write, ENOSPC},     {files::Step::close, EIO},
      {files::Step::open_write, EROFS}, {files::Step::open_write, EACCES},
      {files::Step::rename, EEXIST},    {files::Step::rename, ENOENT},
      {files::Step::rename, EXDEV},     {files::Step::make_directory, EDQUOT},
  };
  for (const auto& [step, error] : faults) {
    SCOPED_TRACE(files::error_text(error));
    test::Warnings warnings;
    std::filesystem::remove_all(directory_.path);
    std::filesystem::create_directory(directory_.path);
    std::filesystem::permissions(directory_.path, std::filesystem::perms::owner_all);
    fresh_process();
    failing_step = step;
    failing_error = error;
    files::set_fault_hook(fail_step);
    lookup(make_source("one"), make_options());
    lookup(make_source("two"), make_options());
    files::set_fault_hook(nullptr);
    EXPECT_EQ(compiles, 2);
    EXPECT_EQ(warnings.texts().size(), 1u);
    EXPECT_EQ(cache_counters().disk_errors, 2u);
    EXPECT_TRUE(entries().empty());
  }
}

TEST_F(DiskCacheTest, ReadErrorsAreMisses) {
  lookup(make_source("one"), make_options());
  fresh_process();
  failing_step = files::Step::read;
  failing_error = EIO;
  files::set_fault_hook(fail_step);
  lookup(make_source("one"), make_options());
  EXPECT_EQ(compiles, 1);
  EXPECT_EQ(cache_counters().disk_errors, 1u);
  EXPECT_EQ(warnings_.texts().size(), 1u);
}

TEST_F(DiskCacheTest, ReadOnlyModeReadsAndNeverWrites) {
  lookup(make_source("stored"), make_options());
  const auto before = entries();
  const test::Variable read_only("KILN_CACHE", "ro");
  fresh_process();
  lookup(make_source("stored"), make_options());
  lookup(make_source("not stored"), make_options());
  EXPECT_EQ(compiles, 1);
  EXPECT_EQ(cache_counters().disk_hits, 1u);
  EXPECT_EQ(entries(), before);
  const test::Variable absent("KILN_CACHE_DIR", (directory_.path + "/absent").c_str());
  fresh_process();
  lookup(make_source("stored"), make_options());
  EXPECT_EQ(compiles, 1);
  EXPECT_NE(access((directory_.path + "/absent").c_str(), F_OK), 0);
}

TEST_F(DiskCacheTest, OffTouchesNothing) {
  const test::Variable off("KILN_CACHE", "off");
  fresh_process();
  lookup(make_source("x"), make_options());
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path));
  EXPECT_EQ(cache_counters().disk_misses, 0u);
}

TEST_F(DiskCacheTest, SettingsAreParsedOrWarnedAbout) {
  for (const auto& [text, bytes] :
       {std::pair{"0", 0ull}, {"1000", 1000ull}, {"5K", 5ull << 10}, {"7m", 7ull << 20}, {"2GiB", 2ull << 30}}) {
    const test::Variable limit("KILN_CACHE_LIMIT", text);
    EXPECT_EQ(cache_settings().limit, bytes) << text;
  }
  for (const char* const text : {"much", "-1", "5X", "99999999999999999999", "99999999999G"}) {
    test::Warnings warnings;
    const test::Variable limit("KILN_CACHE_LIMIT", text);
    EXPECT_EQ(cache_settings().limit, 1ull << 30) << text;
    EXPECT_EQ(warnings.texts().size(), 1u) << text;
  }
  const test::Variable a("KILN_CACHE_DIR", nullptr), home("HOME", directory_.path.c_str()),
      xdg("XDG_CACHE_HOME", nullptr);
  EXPECT_EQ(cache_settings().directory, directory_.path + "/.cache/kiln");
  const test::Variable set("XDG_CACHE_HOME", "/xdg");
  EXPECT_EQ(cache_settings().directory, "/xdg/kiln");
}

// C15: the directory stays under its limit, the least recently used go first, other files stay.
TEST_F(DiskCacheTest, LimitRemovesTheLeastRecentlyUsed) {
  const auto source = [](int i) { return make_source(std::string(16000, 'k') + std::to_string(i)); };
  std::vector<std::string> paths;
  for (int i = 0; i < 8; ++i) paths.push_back(entry_of(source(i)));
  for (int i = 0; i < 8; ++i) {  // one minute apart, oldest first
    const timespec time = {time_t{1'000'000'000 + 60 * i}, 0};
    const timespec times[2] = {time, time};
    ASSERT_EQ(utimensat(AT_FDCWD, paths[static_cast<std::size_t>(i)].c_str(), times, 0), 0);
  }
  fresh_process();
  lookup(source(0), make_options());  // now the most recently used
  EXPECT_EQ(compiles, 0);
  DiskCache cache(cache_settings());
  std::uint64_t one = std::filesystem::file_size(paths[0]) + 4096;
  EXPECT_LE(cache.prune(5 * one), 5 * one);
  EXPECT_EQ(access(paths[0].c_str(), F_OK), 0) << "used a moment ago";
  EXPECT_EQ(access(paths[7].c_str(), F_OK), 0);
  EXPECT_NE(access(paths[1].c_str(), F_OK), 0) << "the oldest";
  EXPECT_EQ(cache.prune(0), 0u);
}

TEST_F(DiskCacheTest, ManyKernelsStayUnderASmallLimitInManyDirectories) {
  const test::Variable limit("KILN_CACHE_LIMIT", "1M");
  fresh_process();
  for (int i = 0; i < 300; ++i) lookup(make_source(std::string(8000, 'k') + std::to_string(i)), make_options());
  std::uint64_t total = 0;
  for (const std::string& path : entries()) total += std::filesystem::file_size(path);
  EXPECT_LE(total, 1u << 20);
  EXPECT_GT(total, 1u << 18) << "pruning leaves most of the allowance";
  std::size_t shards = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory_.path)) shards += entry.is_directory();
  EXPECT_GT(shards, 50u);
  for (const char* const tiny : {"0", "1"}) {
    const test::Variable none("KILN_CACHE_LIMIT", tiny);
    fresh_process();
    const auto before = entries().size();
    lookup(make_source("too large for the limit"), make_options());
    EXPECT_LE(entries().size(), before);
  }
}

TEST_F(DiskCacheTest, AbandonedTemporariesAreRemovedOnceOld) {
  const std::string shard = entry_of(make_source("x")).substr(0, directory_.path.size() + 3);
  const std::string old_file = shard + "/.tmp-1-0000000000000001", new_file = shard + "/.tmp-1-0000000000000002";
  test::write_text(old_file, "half");
  test::write_text(new_file, "half");
  const timespec times[2] = {{1'000'000'000, 0}, {1'000'000'000, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, old_file.c_str(), times, 0), 0);
  DiskCache(cache_settings()).prune(1 << 30);
  EXPECT_NE(access(old_file.c_str(), F_OK), 0);
  EXPECT_EQ(access(new_file.c_str(), F_OK), 0) << "its writer may still be at work";
}

}  // namespace
}  // namespace kiln::runtime
