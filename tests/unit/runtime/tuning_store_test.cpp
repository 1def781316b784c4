// tests/unit/runtime/tuning_store_test.cpp -- records beside the cache: found again, merged by processes, never fatal.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/tuning_store.h"
#include "support/file_faults.h"
#include "tests/unit/runtime/fault_plan.h"
#include "tests/unit/temporary.h"

namespace kiln::runtime {
namespace {

TuningRecord record_of(int kernel, std::int64_t date = 1000, const char* choice = "block=512") {
  TuningRecord record;
  record.key.kernel = fmt::format("{:064x}", kernel);
  record.key.size = 24;
  record.key.device = "Fake GPU";
  record.key.multiprocessors = 132;
  record.choice = choice;
  record.heuristic = "block=256";
  record.choice_us = 90, record.heuristic_us = 100;
  record.runs = 100;
  record.date = date;
  record.name = "k";
  return record;
}

class TuningStoreTest : public testing::Test {
 protected:
  CacheSettings settings(CacheMode mode = CacheMode::on) const {
    CacheSettings result;
    result.mode = mode;
    result.directory = directory.path + "/cache";
    return result;
  }
  const test::TemporaryDirectory directory;
};

TEST_F(TuningStoreTest, AnotherProcessFindsWhatOneFound) {
  TuningStore first(settings()), second(settings());
  EXPECT_FALSE(first.find(record_of(1).key));
  EXPECT_TRUE(first.publish(record_of(1)));
  EXPECT_EQ(first.find(record_of(1).key), record_of(1));
  EXPECT_EQ(second.find(record_of(1).key), record_of(1));
  EXPECT_FALSE(second.find(record_of(2).key));
}

TEST_F(TuningStoreTest, WithoutADiskResultsLiveInMemory) {
  for (const CacheMode mode : {CacheMode::off, CacheMode::read_only}) {
    TuningStore store(settings(mode));
    EXPECT_FALSE(store.publish(record_of(1)));
    EXPECT_EQ(store.find(record_of(1).key), record_of(1));
    EXPECT_FALSE(TuningStore(settings()).find(record_of(1).key));
  }
  TuningStore nowhere{CacheSettings{}};
  EXPECT_FALSE(nowhere.publish(record_of(1)));
  EXPECT_EQ(nowhere.find(record_of(1).key), record_of(1));
  EXPECT_EQ(nowhere.records().size(), 1u);
}

TEST_F(TuningStoreTest, DamagedFilesAreAsGoodAsNoneAndAreReplaced) {
  TuningStore writer(settings());
  writer.publish(record_of(1));
  const std::string path = writer.path_of(record_of(1).key), good = test::read_text(path);
  for (const std::string& bad : {std::string(), good.substr(0, good.size() / 2), std::string(5000, 'x'),
                                 to_line(record_of(2)), "kiln-tuning\t9" + good.substr(13)}) {
    test::write_text(path, bad);
    TuningStore reader(settings());
    EXPECT_FALSE(reader.find(record_of(1).key)) << bad;
    EXPECT_TRUE(reader.records().empty());
    EXPECT_TRUE(reader.publish(record_of(1)));
    EXPECT_EQ(test::read_text(path), good);
  }
}

/// What others can write must not decide what runs here.
TEST_F(TuningStoreTest, ADirectoryThatOthersCanWriteIsNotRead) {
  TuningStore(settings()).publish(record_of(1));
  const std::string place = TuningStore(settings()).directory();
  ASSERT_EQ(::chmod(place.c_str(), 0777), 0);
  test::Warnings warnings;
  TuningStore reader(settings());
  EXPECT_FALSE(reader.find(record_of(1).key));
  EXPECT_FALSE(reader.publish(record_of(2)));
  EXPECT_EQ(reader.find(record_of(2).key), record_of(2)) << "in memory";
  ASSERT_EQ(warnings.texts().size(), 1u) << "once, for reading and writing";
  EXPECT_NE(warnings.texts()[0].find(place), std::string::npos) << warnings.texts()[0];
  EXPECT_NE(warnings.texts()[0].find("its mode is 0777"), std::string::npos) << warnings.texts()[0];
}

/// Rule: processes that publish at the same time lose nothing, and what they leave are whole records.
TEST_F(TuningStoreTest, ProcessesMergeByPublishing) {
  constexpr int processes = 8, kernels = 40;
  for (int process = 0; process < processes; ++process) {
    if (fork() != 0) continue;
    TuningStore store(settings());
    bool written = true;
    for (int kernel = 0; kernel < kernels; ++kernel) {
      written &= store.publish(record_of(kernel, 1000 + process));         // of one key by all
      written &= store.publish(record_of(1000 * (process + 1) + kernel));  // and of their own
    }
    _exit(written ? 0 : 1);
  }
  for (int process = 0; process < processes; ++process) {
    int status = -1;
    wait(&status);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  TuningStore store(settings());
  EXPECT_EQ(store.records().size(), static_cast<std::size_t>(kernels + processes * kernels));
  EXPECT_EQ(test::files_below(store.directory()).size(), static_cast<std::size_t>(kernels + processes * kernels))
      << "no unfinished files";
  for (int kernel = 0; kernel < kernels; ++kernel) EXPECT_TRUE(store.find(record_of(kernel).key));
}

TEST_F(TuningStoreTest, ExportAndImportCarryRecordsToAnotherMachine) {
  TuningStore here(settings());
  for (int kernel = 0; kernel < 5; ++kernel) here.publish(record_of(kernel));
  const std::string text = here.export_records();
  const test::TemporaryDirectory other;
  CacheSettings there = settings();
  there.directory = other.path + "/cache";
  {
    TuningStore store(there);
    store.publish(record_of(3, 2000, "block=128"));  // newer
    const auto result = store.import_records(text + "something else\n" + text, true);
    EXPECT_EQ(result.taken, 4u);
    EXPECT_EQ(result.known, 6u) << "the newer one, and the five that stand there twice";
    EXPECT_EQ(result.rejected, 1u);
    EXPECT_EQ(result.unwritten, 0u);
  }
  TuningStore store(there);
  EXPECT_EQ(store.find(record_of(3).key)->choice, "block=128");
  EXPECT_EQ(store.find(record_of(4).key), record_of(4));
  EXPECT_EQ(store.import_records(text, true).taken, 0u) << "importing twice changes nothing";
}

/// Records of a bundle: where nothing was measured here they serve, and nothing is written.
TEST_F(TuningStoreTest, RecordsOfABundleServeUntilThisMachineKnowsBetter) {
  TuningStore store(settings());
  store.publish(record_of(1, 1000, "block=64"));
  const auto result = store.import_records(to_line(record_of(1, 5000)) + to_line(record_of(2)), false);
  EXPECT_EQ(result.taken, 2u);
  EXPECT_EQ(store.find(record_of(1).key)->choice, "block=64") << "measured here";
  EXPECT_EQ(store.find(record_of(2).key), record_of(2));
  store.publish(record_of(2, 1, "block=32"));
  EXPECT_EQ(store.find(record_of(2).key)->choice, "block=32");
  EXPECT_EQ(TuningStore(settings()).records().size(), 2u);
}

/// Rule: whatever system call fails, nothing is thrown, this process knows its result, and others find a whole record
/// or none.
TEST_F(TuningStoreTest, FaultsOfTheFileSystemAreNeverFatal) {
  const test::Warnings warnings;
  for (const int error : {EIO, ENOSPC, EACCES, static_cast<int>(files::short_transfer)}) {
    for (int call = 0; call < 12; ++call) {
      {
        const test_support::Faults faults(call, test_support::FaultPlan::never - 1, error);
        TuningStore store(settings());
        store.find(record_of(1).key);
        store.publish(record_of(1, 1000 + call));
        EXPECT_EQ(store.find(record_of(1).key), record_of(1, 1000 + call));
      }
      const auto found = TuningStore(settings()).find(record_of(1).key);
      EXPECT_TRUE(!found || found->choice == "block=512");
    }
  }
}

TEST_F(TuningStoreTest, AKilledProcessLeavesTheOldRecordOrTheNewOne) {
  TuningStore(settings()).publish(record_of(1, 1000));
  int killed = 0;
  for (int call = 0; call < 12; ++call) {
    const pid_t child = fork();
    if (child == 0) {
      const test_support::Faults faults(call, call, 0, true);
      TuningStore(settings()).publish(record_of(1, 2000));
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    killed += WIFSIGNALED(status);
    const auto found = TuningStore(settings()).find(record_of(1).key);
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->date == 1000 || found->date == 2000);
  }
  EXPECT_GE(killed, 4) << "making directories, opening, writing, renaming";
}

TEST_F(TuningStoreTest, RecordsAreForgottenByDevice) {
  TuningStore store(settings());
  TuningRecord other = record_of(7);
  other.key.device = "Other GPU";
  store.publish(record_of(1));
  store.publish(other);
  EXPECT_EQ(store.forget("Fake GPU"), 1u);
  EXPECT_FALSE(store.find(record_of(1).key));
  EXPECT_TRUE(store.find(other.key));
  EXPECT_EQ(store.forget(""), 1u);
  EXPECT_TRUE(test::files_below(store.directory()).empty());
}

}  // namespace
}  // namespace kiln::runtime
