// tests/unit/support/files_test.cpp -- private reads, atomic publication, directory checks, injected faults.
#include "support/files.h"
#include "support/file_faults.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "tests/unit/temporary.h"

namespace kiln::files {
namespace {

using test::TemporaryDirectory;

/// The step that fails in the current test, and how.
Step failing_step = Step::write;
int failing_error = 0;
int fail_step(Step step, const char*) { return step == failing_step ? failing_error : 0; }
int kill_at_step(Step step, const char*) {
  if (step == failing_step) ::kill(::getpid(), SIGKILL);
  return 0;
}

class FilesTest : public ::testing::Test {
 protected:
  void TearDown() override { set_fault_hook(nullptr); }
  TemporaryDirectory directory_;
  std::string path_ = directory_.path + "/entry";
};

TEST_F(FilesTest, PublishedFileReadsBackAndLeavesNoTemporary) {
  const std::string contents("a\0b\n\xff", 5);
  ASSERT_EQ(publish(path_, contents), 0);
  ASSERT_EQ(publish(path_, contents), 0);  // over an existing file
  std::string read;
  ASSERT_EQ(read_private(path_, {}, read), 0);
  EXPECT_EQ(read, contents);
  EXPECT_EQ(test::files_below(directory_.path).size(), 1u);
  struct stat status{};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777u, 0600u);
}

TEST_F(FilesTest, EveryFailingStepKeepsTheOldFileAndLeavesNothingBehind) {
  ASSERT_EQ(publish(path_, "old"), 0);
  for (const Step step : {Step::open_write, Step::write, Step::close, Step::rename}) {
    failing_step = step;
    failing_error = ENOSPC;
    set_fault_hook(fail_step);
    EXPECT_EQ(publish(path_, "new"), ENOSPC);
    set_fault_hook(nullptr);
    EXPECT_EQ(test::read_text(path_), "old");
    EXPECT_EQ(test::files_below(directory_.path).size(), 1u) << "step " << static_cast<int>(step);
  }
}

TEST_F(FilesTest, KilledWriterLeavesTheOldFileWhole) {
  ASSERT_EQ(publish(path_, "old"), 0);
  for (const Step step : {Step::write, Step::close, Step::rename}) {
    failing_step = step;
    const pid_t child = ::fork();
    if (child == 0) {
      set_fault_hook(kill_at_step);
      publish(path_, "new");
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(test::read_text(path_), "old");
  }
  for (const std::string& file : test::files_below(directory_.path))
    EXPECT_TRUE(file == path_ || is_temporary_name(file.substr(file.rfind('/') + 1))) << file;
}

TEST_F(FilesTest, RefusesLinksDirectoriesPipesAndFilesOthersMayWrite) {
  std::string read;
  EXPECT_EQ(read_private(path_, {}, read), ENOENT);
  ASSERT_EQ(publish(directory_.path + "/target", "x"), 0);
  ASSERT_EQ(::symlink((directory_.path + "/target").c_str(), path_.c_str()), 0);
  EXPECT_EQ(read_private(path_, {}, read), ELOOP);
  ASSERT_EQ(publish(path_, "y"), 0);  // replaces the link, not its target
  EXPECT_EQ(test::read_text(directory_.path + "/target"), "x");
  ::chmod(path_.c_str(), 0622);
  EXPECT_EQ(read_private(path_, {}, read), EPERM);
  ::unlink(path_.c_str());
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_NE(read_private(path_, {}, read), 0) << "a pipe must neither block nor be read";
  ::unlink(path_.c_str());
  ASSERT_EQ(::mkdir(path_.c_str(), 0700), 0);
  EXPECT_NE(read_private(path_, {}, read), 0);
  EXPECT_EQ(publish(path_, "z"), 0) << "an empty directory in the place of an entry is replaced";
  EXPECT_EQ(test::read_text(path_), "z");
}

TEST_F(FilesTest, ForeignFileIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to give a file away";
  std::string read;
  ASSERT_EQ(publish(path_, "x"), 0);
  ASSERT_EQ(::chown(path_.c_str(), 12345, 12345), 0);
  EXPECT_EQ(read_private(path_, {}, read), EPERM);
  ASSERT_EQ(::chown(directory_.path.c_str(), 12345, 12345), 0);
  EXPECT_NE(distrust(directory_.path).find("12345"), std::string::npos);
}

TEST_F(FilesTest, DirectoriesAreMadePrivateAndCheckedForWriters) {
  const std::string deep = directory_.path + "/with space/\xc3\xa9t\xc3\xa9";
  ASSERT_EQ(make_directories(deep), 0);
  ASSERT_EQ(make_directories(deep), 0);
  struct stat status{};
  ASSERT_EQ(::stat(deep.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777u, 0700u);
  EXPECT_EQ(distrust(deep), "");
  ::chmod(deep.c_str(), 0777);
  EXPECT_NE(distrust(deep).find("0777"), std::string::npos);
  ::chmod(deep.c_str(), 0770);
  EXPECT_NE(distrust(deep), "");
  ::chmod(deep.c_str(), 0755);
  EXPECT_EQ(distrust(deep), "");
  test::write_text(directory_.path + "/file", "x");
  EXPECT_EQ(make_directories(directory_.path + "/file/below"), ENOTDIR);
  EXPECT_NE(make_directories(directory_.path + "/" + std::string(300, 'n')), 0) << "names above 255 bytes cannot exist";
}

TEST_F(FilesTest, IdentityFollowsContentsNotTheName) {
  const std::string self = identity("/proc/self/exe");
  EXPECT_FALSE(self.empty());
  test::write_text(path_, "one");
  const std::string before = identity(path_);
  test::write_text(path_, "four");
  EXPECT_NE(identity(path_), before);
  EXPECT_EQ(identity(directory_.path + "/none"), "");
  // A damaged ELF header must not crash the parser.
  test::write_text(path_, std::string("\177ELF\2") + std::string(200, '\xff'));
  EXPECT_FALSE(identity(path_).empty());
}

}  // namespace
}  // namespace kiln::files
