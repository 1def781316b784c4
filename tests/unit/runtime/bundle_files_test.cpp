// tests/unit/runtime/bundle_files_test.cpp -- bundles on disks that are full, read-only, slow or strange.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "support/files.h"
#include "tests/unit/runtime/bundle_test_support.h"
#include "tests/unit/runtime/fault_plan.h"
#include "tests/unit/temporary.h"

namespace kiln::runtime {
namespace {

using namespace test_support;

class BundleFilesTest : public ::testing::Test {
 protected:
  test::TemporaryDirectory directory_{test::fast_place()};
  std::string path_ = directory_.path + "/app.klb";
  std::size_t files() const { return test::files_below(directory_.path).size(); }

  static std::string problem_of_writing(const std::string& path) {
    try {
      writer_of(small_samples()).write(path);
      return "";
    } catch (const IoError& error) {
      return error.what();
    }
  }
  static std::string problem_of_opening(const std::string& path) {
    try {
      BundleReader::open(path);
      return "";
    } catch (const IoError& error) {
      return error.what();
    }
  }
  static std::string expected() { return writer_of(small_samples()).contents(); }
};

TEST_F(BundleFilesTest, WrittenFileIsMappedAndReadableByOthers) {
  const mode_t old_mask = umask(022);
  EXPECT_EQ(problem_of_writing(path_), "");
  umask(old_mask);
  EXPECT_EQ(test::read_text(path_), expected());
  EXPECT_EQ(files(), 1u);
  struct stat status{};
  ASSERT_EQ(stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0644u);
  const auto reader = BundleReader::open(path_);
  EXPECT_EQ(reader->name(), path_);
  for (const Sample& sample : small_samples()) {
    const auto found = reader->kernels(sample.kernel.identity);
    ASSERT_FALSE(found.empty());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(reader->image(found[0]).data()) % 64, 0u);
  }
}

// A process that has a bundle mapped keeps it while a new one takes its name.
TEST_F(BundleFilesTest, ReplacedBundleStaysMapped) {
  ASSERT_EQ(problem_of_writing(path_), "");
  const auto old_reader = BundleReader::open(path_);
  BundleWriter empty;
  empty.write(path_);
  EXPECT_TRUE(BundleReader::open(path_)->kernels().empty());
  for (const BundleKernel& kernel : old_reader->kernels()) EXPECT_NO_THROW(old_reader->image(kernel));
  std::filesystem::remove(path_);
  EXPECT_TRUE(old_reader->verify().empty());
}

TEST_F(BundleFilesTest, EveryCallOfWritingMayFail) {
  ASSERT_EQ(problem_of_writing(path_), "");
  const Faults counting;
  ASSERT_EQ(problem_of_writing(path_), "");
  const int calls = counting.seen();
  ASSERT_GT(calls, 10) << "opening, writing each part, closing and renaming";
  for (int number = 0; number < calls; ++number) {
    for (const int error : {ENOSPC, EROFS, EIO, EDQUOT, EACCES}) {
      SCOPED_TRACE(fmt::format("call {} fails: {}", number, files::error_text(error)));
      std::string problem;
      {
        const Faults once(number, number, error);
        problem = problem_of_writing(path_);
      }
      EXPECT_NE(problem.find(path_), std::string::npos) << problem;
      EXPECT_NE(problem.find(files::error_text(error)), std::string::npos) << problem;
      EXPECT_EQ(test::read_text(path_), expected()) << "the old bundle is whole";
      EXPECT_EQ(files(), 1u) << "and nothing else is left";
    }
  }
}

TEST_F(BundleFilesTest, ShortAndInterruptedCallsAreContinued) {
  for (const int error : {files::short_transfer, EINTR}) {
    const Faults always(error == EINTR ? 2 : 0, error == EINTR ? 3 : FaultPlan::never, error);
    EXPECT_EQ(problem_of_writing(path_), "");
    EXPECT_EQ(test::read_text(path_), expected());
  }
}

TEST_F(BundleFilesTest, KilledWriterLeavesTheOldBundle) {
  BundleWriter().write(path_);
  int calls = 0;
  {
    const Faults counting;
    problem_of_writing(path_ + ".other");
    calls = counting.seen();
  }
  for (int number = 0; number < calls; ++number) {
    const pid_t child = fork();
    if (child == 0) {
      const Faults deadly(number, number, 0, true);
      problem_of_writing(path_);
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    ASSERT_TRUE(BundleReader::open(path_)->kernels().empty());
  }
}

TEST_F(BundleFilesTest, EveryCallOfOpeningMayFail) {
  ASSERT_EQ(problem_of_writing(path_), "");
  const Faults counting;
  ASSERT_EQ(problem_of_opening(path_), "");
  const int calls = counting.seen();
  ASSERT_EQ(calls, 3) << "open, status, map";
  for (int number = 0; number < calls; ++number) {
    for (const int error : {ENOENT, EACCES, EIO, ENOMEM, ESTALE}) {
      const Faults once(number, number, error);
      const std::string problem = problem_of_opening(path_);
      EXPECT_NE(problem.find(path_ + ": " + files::error_text(error)), std::string::npos) << problem;
    }
  }
}

TEST_F(BundleFilesTest, MessagesSayWhatToDo) {
  const std::string here = directory_.path;
  EXPECT_EQ(problem_of_opening(here + "/none.klb"),
            "cannot read the bundle " + here + "/none.klb: No such file or directory; check the path");
  EXPECT_EQ(problem_of_opening(here),
            "cannot read the bundle " + here + ": Is a directory; give the path of a regular file");
  EXPECT_NE(problem_of_opening("/dev/null").find("give the path of a regular file"), std::string::npos);
  ASSERT_EQ(mkfifo((here + "/pipe").c_str(), 0600), 0);
  EXPECT_NE(problem_of_opening(here + "/pipe").find("give the path of a regular file"), std::string::npos)
      << "and does not wait for a writer";
  test::write_text(path_, "");
  EXPECT_NE(problem_of_opening(path_).find("it is empty"), std::string::npos);
  EXPECT_EQ(problem_of_writing(here + "/none/app.klb"), "cannot write the bundle " + here +
                                                            "/none/app.klb: No such file or directory; make the "
                                                            "directory first");
  EXPECT_NE(problem_of_writing("/dev/null").find("no regular file"), std::string::npos);
  EXPECT_NE(problem_of_writing(here).find("no regular file"), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST_F(BundleFilesTest, LinksAreFollowedAndStayLinks) {
  const std::string link = directory_.path + "/link.klb";
  ASSERT_EQ(symlink("app.klb", link.c_str()), 0);
  BundleWriter().write(path_);
  ASSERT_EQ(problem_of_writing(link), "");
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(test::read_text(path_), expected());
  EXPECT_EQ(problem_of_opening(link), "");
}

}  // namespace
}  // namespace kiln::runtime
