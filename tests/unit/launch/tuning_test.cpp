// tests/unit/launch/tuning_test.cpp -- tuning online, on a fake GPU that says how long each launch takes.
//
// Each test runs this program again, with a cache directory of its own: sessions and records belong to a process.
#include <kiln/kernel_limit.h>
#include <kiln/tuning.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <string>

#include "runtime/background.h"
#include "runtime/runtime.h"
#include "runtime/tool_tune.h"
#include "tests/support/child_process.h"
#include "tests/unit/launch/fake_gpu.h"
#include "tests/unit/temporary.h"

namespace kiln {
namespace {

constexpr int right = 0, wrong = 1, no_compiler = 77;

/// Blocks of 512 threads take 0.8 of the time.
float fast_in_large_blocks(const std::string& launch) {
  return launch.find("block=512,") != std::string::npos ? 0.08f : 0.1f;
}
float all_alike(const std::string&) { return 0.1f; }

/// Each with plans of its own: it captures something.
auto twice_and_one() {
  return jit([id = 1](auto v) { return (void)id, v * 2 + 1; });
}

class Workload {
 public:
  Workload() {
    fake_driver().calls.clear();
    fake_driver().milliseconds_of = fast_in_large_blocks;
  }
  /// Result = 2 x + 1 over 2^22 numbers, `calls` times.
  void run(int calls) {
    for (int i = 0; i < calls; ++i) f_.into(y_)(x_);
  }
  int count(const char* prefix) { return fake_driver().count(prefix); }
  std::string last() {
    const auto& calls = fake_driver().calls;
    const auto found =
        std::find_if(calls.rbegin(), calls.rend(), [](const auto& call) { return call.starts_with("cuLaunchKernel"); });
    return found == calls.rend() ? "" : *found;
  }
  bool last_had_block(int threads) {
    return last().find("block=" + std::to_string(threads) + ",") != std::string::npos;
  }
  /// Until the compiler is done with the candidates, and results are written.
  void settle() {
    run(40);
    runtime::wait_for_background();
    run(600);
    runtime::wait_for_background();
  }
  const Array<float>& x() const { return x_; }

 private:
  const DeviceGuard guard_{Device::cuda(0)};
  Array<float> x_{{1 << 22}}, y_{{1 << 22}};
  decltype(twice_and_one()) f_ = twice_and_one();
};

#define CHECK(condition)                                                   \
  do {                                                                     \
    if (!(condition)) {                                                    \
      std::fprintf(stderr, "line %d: not so: %s\n", __LINE__, #condition); \
      return wrong;                                                        \
    }                                                                      \
  } while (false)

int tunes() {
  Workload work;
  work.settle();
  CHECK(tuning::undecided_kernels() == 0);
  CHECK(work.count("cuLaunchKernel") == 640);  // each call ran once
  CHECK(work.count("cuEventSynchronize") == 0 && work.count("cuStreamSynchronize") == 0);
  CHECK(work.last_had_block(512));
  const auto records = tuning::records();
  CHECK(records.size() == 1);
  CHECK(std::string(records[0].choice).starts_with("block=512"));
  CHECK(std::string(records[0].device) == "Fake GPU" && records[0].multiprocessors == 132);
  CHECK(std::abs(records[0].choice_us - 80) < 0.01 && std::abs(records[0].heuristic_us - 100) < 0.01);
  // Decided: a call asks the driver for nothing but the launch.
  fake_driver().calls.clear();
  work.run(10);
  CHECK(fake_driver().calls.size() == 10);
  // Losers are not kept loaded: of all candidates the heuristic's and the winner are.
  const std::size_t loaded = fake_driver().libraries.size();
  set_kernel_limit(0);
  std::fprintf(stderr, "%zu kernels, %zu in use\n", loaded, fake_driver().libraries.size());
  CHECK(loaded >= 8 && fake_driver().libraries.size() == 2);
  work.run(1);
  CHECK(work.last_had_block(512));
  return right;
}

int begins_with_the_winner() {
  Workload work;
  work.run(1);
  CHECK(work.last_had_block(512));
  CHECK(runtime::cache_counters().compiles == 0);
  work.run(200);
  CHECK(work.count("cuEventRecord") == 0);
  const auto f = twice_and_one();
  const auto info = f.inspect(work.x());
  CHECK(std::string(info.kernels[0].schedule.c_str()).find("tuned on Fake GPU: 80.00 us, 100.00 us without") !=
        std::string::npos);
  CHECK(info.kernels[0].launch.block[0] == 512);
  // Where the caller says how to launch, or that nothing is to be tuned, that counts.
  Array<float> y({1 << 22});
  f[{.tune = false}].into(y)(work.x());
  CHECK(work.last_had_block(256));
  f[{.block = 128}].into(y)(work.x());
  CHECK(work.last_had_block(128));
  return right;
}

int keeps_the_heuristic() {
  Workload work;
  fake_driver().milliseconds_of = all_alike;
  work.settle();
  CHECK(tuning::undecided_kernels() == 0);
  CHECK(work.last_had_block(256));
  const auto records = tuning::records();
  CHECK(records.size() == 1 && std::string(records[0].choice) == records[0].heuristic);
  return right;
}

int never_times() {
  Workload work;
  work.settle();
  CHECK(work.count("cuEventRecord") == 0);
  CHECK(work.last_had_block(256));
  CHECK(tuning::records().empty());
  return right;
}

int never_times_captures() {
  Workload work;
  work.run(1);
  fake_driver().capturing = true;
  work.run(300);
  fake_driver().capturing = false;
  CHECK(work.count("cuEventRecord") == 0);
  CHECK(work.count("cuLaunchKernel") == 301);
  return right;
}

/// Everything that only tuning needs fails at some time; calls do not notice.
int survives_faults() {
  for (const char* function : {"cuEventCreate", "cuEventRecord", "cuEventQuery", "cuEventElapsedTime"}) {
    for (const int skip : {0, 1, 5, 50}) {
      const tuning::Afresh afresh;
      Workload work;
      fake_driver().faults[function] = {400, skip, 1};
      work.settle();
      CHECK(work.count("cuLaunchKernel") == 640);
      fake_driver().faults.clear();
    }
  }
  return right;
}

/// A candidate that cannot be loaded or launched is out; the call runs the heuristic's kernel instead.
int survives_candidates() {
  {
    const tuning::Afresh afresh;
    Workload work;
    work.run(20);
    runtime::wait_for_background();
    fake_driver().faults["cuLaunchKernel"] = {1, 1, 3};  // of the next runs, some are of candidates
    int thrown = 0;
    for (int i = 0; i < 600; ++i) {
      try {
        work.run(1);
      } catch (const Error&) {
        ++thrown;  // the heuristic's own
      }
    }
    CHECK(thrown <= 3);
    CHECK(tuning::undecided_kernels() == 0);
  }
  const tuning::Afresh afresh;
  Workload work;
  work.run(1);
  fake_driver().faults["cuLibraryLoadData"] = {1, 0, 100};
  work.settle();
  CHECK(work.count("cuLaunchKernel") == 641);
  CHECK(tuning::undecided_kernels() == 0);
  return right;
}

/// Results that come late are waited for by nobody.
int is_patient() {
  Workload work;
  fake_driver().unfinished_queries = 500;
  work.settle();
  CHECK(work.count("cuLaunchKernel") == 640);
  CHECK(work.count("cuEventCreate") <= 64);
  fake_driver().unfinished_queries = 0;
  work.run(600);
  CHECK(work.last_had_block(512));
  return right;
}

/// Uses the kernel once; KILN_RECORD is set.
int notes_a_job() {
  Workload work;
  work.run(1);
  CHECK(tuning::records().empty());
  return right;
}

int tunes_what_was_noted() {
  fake_driver().milliseconds_of = fast_in_large_blocks;
  int results = 0, tuned = 0;
  const auto take = [&](const tool::OfflineTuning& result, std::size_t, std::size_t) {
    ++results;
    tuned += result.problem.empty() && result.choice.starts_with("block=512") && result.choice_us < result.heuristic_us;
    std::fprintf(stderr, "%s: %s %s\n", result.name.c_str(), result.choice.c_str(), result.problem.c_str());
  };
  tool::tune_offline(getenv("TUNING_TRACE"), false, take);
  CHECK(results == 1 && tuned == 1);
  CHECK(fake_driver().used == 0);
  bool known = false;
  tool::tune_offline(getenv("TUNING_TRACE"), false,
                     [&](const tool::OfflineTuning& result, std::size_t, std::size_t) { known = result.was_known; });
  CHECK(known);
  return right;
}

/// Where no result can be kept nothing is measured; one that cannot be written is no success.
int keeps_nothing() {
  fake_driver().milliseconds_of = fast_in_large_blocks;
  const std::string trace = getenv("TUNING_TRACE");
  int results = 0, kept = 0;
  const auto take = [&](const tool::OfflineTuning& result, std::size_t, std::size_t) {
    ++results;
    kept += result.is_kept;
  };
  if (std::string_view(getenv("KILN_CACHE")) == "ro") {
    const std::string message = message_of<IoError>([&] { tool::tune_offline(trace, false, take); });
    CHECK(message.starts_with("results of tuning cannot be kept in ") && message.find("KILN_CACHE is ro") < 4096);
    CHECK(results == 0 && fake_driver().count("cuLaunchKernel") == 0);
    return right;
  }
  tool::tune_offline(trace, false, take);
  CHECK(results == 1 && kept == 1);
  const std::string path = test::files_below(getenv("KILN_CACHE_DIR") + std::string("/tuning")).at(0);
  std::filesystem::remove(path);
  std::filesystem::create_directories(path + "/in the way");
  tool::tune_offline(trace, true, take);
  CHECK(results == 2 && kept == 1);
  return right;
}

const std::map<std::string, int (*)()> scenarios = {{"tunes", tunes},
                                                    {"begins_with_the_winner", begins_with_the_winner},
                                                    {"keeps_the_heuristic", keeps_the_heuristic},
                                                    {"never_times", never_times},
                                                    {"never_times_captures", never_times_captures},
                                                    {"survives_faults", survives_faults},
                                                    {"survives_candidates", survives_candidates},
                                                    {"notes_a_job", notes_a_job},
                                                    {"tunes_what_was_noted", tunes_what_was_noted},
                                                    {"keeps_nothing", keeps_nothing},
                                                    {"is_patient", is_patient}};

// Run by the tests below, as a program of its own.
TEST(TuningChild, DISABLED_Scenario) {
  int code = no_compiler;
  try {
    code = scenarios.at(getenv("TUNING_SCENARIO"))();
  } catch (const CompileError& error) {
    std::fprintf(stderr, "%s\n", error.what());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    code = 3;
  }
  std::exit(code);  // with handlers: the background thread must not be in their way
}

class Tuning : public testing::Test {
 protected:
  static int run(const char* scenario) {
    return test::run_alone("TuningChild.DISABLED_Scenario", {{"TUNING_SCENARIO", scenario}});
  }
  void SetUp() override {
    if (run("never_times_captures") == no_compiler) GTEST_SKIP() << "no NVRTC here";
  }
  const test::TemporaryDirectory cache_;
  const test::Variable directory_{"KILN_CACHE_DIR", cache_.path.c_str()};
  const test::Variable mode_{"KILN_TUNE", "on"};
};

TEST_F(Tuning, FindsTheFasterScheduleByRealCallsAndTheNextProcessBeginsWithIt) {
  EXPECT_EQ(run("tunes"), right);
  EXPECT_EQ(test::files_below(cache_.path + "/tuning").size(), 1u);
  EXPECT_EQ(run("begins_with_the_winner"), right);
  const test::Variable off("KILN_TUNE", "off");
  EXPECT_EQ(run("begins_with_the_winner"), right) << "KILN_TUNE=off uses what is stored";
}

TEST_F(Tuning, EqualSchedulesLeaveTheHeuristic) { EXPECT_EQ(run("keeps_the_heuristic"), right); }

TEST_F(Tuning, OffMeansThatNothingIsTimed) {
  const test::Variable off("KILN_TUNE", "off");
  EXPECT_EQ(run("never_times"), right);
}

/// D05: tuning measures nothing in a capture.
TEST_F(Tuning, CapturesAreNeverTimed) { EXPECT_EQ(run("never_times_captures"), right); }

TEST_F(Tuning, ADamagedRecordIsIgnoredAndReplaced) {
  ASSERT_EQ(run("tunes"), right);
  const std::string path = test::files_below(cache_.path + "/tuning").at(0), good = test::read_text(path);
  test::write_text(path, good.substr(0, 100));
  EXPECT_EQ(run("tunes"), right);
  EXPECT_EQ(test::read_text(path).substr(0, 100), good.substr(0, 100)) << "the same kernel";
}

TEST_F(Tuning, FaultsOfEventsEndTheTuningAndNoCall) { EXPECT_EQ(run("survives_faults"), right); }
TEST_F(Tuning, CandidatesThatFailAreOut) { EXPECT_EQ(run("survives_candidates"), right); }
TEST_F(Tuning, WhatAProgramNotedIsTunedWithoutIt) {
  const test::TemporaryDirectory traces;
  const std::string trace = traces.path + "/trace.kiln";
  {
    const test::Variable record("KILN_RECORD", trace.c_str());
    EXPECT_EQ(run("notes_a_job"), right);
  }
  ASSERT_EQ(test::files_below(trace + ".tuning").size(), 1u);
  const test::Variable name("TUNING_TRACE", trace.c_str());
  EXPECT_EQ(run("tunes_what_was_noted"), right);
  EXPECT_EQ(run("begins_with_the_winner"), right);
}

TEST_F(Tuning, ResultsThatCannotBeKeptAreAProblem) {
  const test::TemporaryDirectory traces;
  const std::string trace = traces.path + "/trace.kiln";
  {
    const test::Variable record("KILN_RECORD", trace.c_str());
    ASSERT_EQ(run("notes_a_job"), right);
  }
  const test::Variable name("TUNING_TRACE", trace.c_str());
  {
    const test::Variable mode("KILN_CACHE", "ro");
    EXPECT_EQ(run("keeps_nothing"), right);
  }
  const test::Variable mode("KILN_CACHE", "on");
  EXPECT_EQ(run("keeps_nothing"), right);
}

TEST_F(Tuning, LateResultsAreNotWaitedFor) { EXPECT_EQ(run("is_patient"), right); }

}  // namespace
}  // namespace kiln
