// tests/unit/runtime/tuning_job_test.cpp -- tuning jobs as text: what is read back, what is refused.
#include <gtest/gtest.h>

#include "runtime/tuning_job.h"
#include "support/files.h"
#include "support/hash.h"
#include "tests/unit/temporary.h"

namespace kiln::runtime {
namespace {

TuningJob example() {
  TuningJob job;
  job.key.kernel = std::string(64, 'a');
  job.key.size = 24;
  job.name = "saxpy";
  job.options.arch = "sm_90";
  job.options.contract = false;
  job.bytes = 1 << 24;
  job.image = {0, 10, 13, 255, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0};
  job.buffers = {{0, 4096, 16}};
  job.workspace_at = 8;
  for (const char* name : {"block=256", "block=512"}) {
    TuningJob::Candidate candidate;
    candidate.name = name;
    candidate.source.text = "line one\nline two\n";
    candidate.source.entry = "saxpy";
    candidate.source.argument_bytes = 16;
    candidate.source.max_threads = 256;
    candidate.shape.grid = {7, 2, 1};
    candidate.shape.block = {32, 4, 1};
    candidate.shape.workspace_bytes = 128;
    job.candidates.push_back(std::move(candidate));
  }
  return job;
}

bool reads(const std::string& text, TuningJob& job) {
  std::string problem;
  const bool read = parse_job(text, job, problem);
  EXPECT_EQ(read, problem.empty()) << problem;
  return read;
}

TEST(TuningJob, TextGivesBackWhatWasWritten) {
  TuningJob job;
  ASSERT_TRUE(reads(to_text(example()), job));
  EXPECT_EQ(to_text(job), to_text(example()));
  EXPECT_EQ(job.key, example().key);
  EXPECT_EQ(job.options, example().options);
  EXPECT_EQ(job.image, example().image);
  ASSERT_EQ(job.candidates.size(), 2u);
  EXPECT_EQ(job.candidates[1].name, "block=512");
  EXPECT_EQ(job.candidates[1].source.text, "line one\nline two\n");
  EXPECT_EQ(job.candidates[1].shape.block[1], 4u);
  EXPECT_EQ(job.candidates[1].shape.workspace_bytes, 128u);
  EXPECT_EQ(job.buffers[0].offset, 16u);
}

TEST(TuningJob, EveryChangedOrMissingByteIsNoticed) {
  const std::string text = to_text(example());
  TuningJob job;
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string damaged = text;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    EXPECT_FALSE(reads(damaged, job)) << at;
    EXPECT_FALSE(reads(text.substr(0, at), job)) << at;
  }
  EXPECT_FALSE(reads(text + "\n", job));
}

/// Rule: a launch can write nowhere but to what was allocated for it, as far as the numbers tell.
TEST(TuningJob, NumbersThatPointOutsideAreRefused) {
  const auto refuses = [](auto change) {
    TuningJob job = example(), read;
    change(job);
    return !reads(to_text(job), read);
  };
  EXPECT_FALSE(refuses([](TuningJob&) {}));
  EXPECT_TRUE(refuses([](TuningJob& j) { j.buffers[0].at = 9; }));
  EXPECT_TRUE(refuses([](TuningJob& j) { j.buffers[0].offset = 4096; }));
  EXPECT_TRUE(refuses([](TuningJob& j) { j.buffers[0].bytes = std::uint64_t{1} << 60; }));
  EXPECT_TRUE(refuses([](TuningJob& j) { j.workspace_at = 12; }));
  EXPECT_TRUE(refuses([](TuningJob& j) { j.workspace_at = -1; }));
  EXPECT_TRUE(refuses([](TuningJob& j) { j.candidates[1].shape.counters = 1; }));
  EXPECT_TRUE(refuses([](TuningJob& j) { j.candidates[1].source.argument_bytes = 24; }));
  EXPECT_TRUE(refuses([](TuningJob& j) { j.candidates.pop_back(); }));
  EXPECT_TRUE(refuses([](TuningJob& j) { j.bytes = 0; }));
}

TEST(TuningJob, JobsAreKeptOncePerKernelAndSize) {
  const test::TemporaryDirectory directory;
  const std::string place = directory.path + "/trace.kiln.tuning";
  EXPECT_EQ(keep_job(place, example()), 0);
  EXPECT_EQ(keep_job(place, example()), 0);
  TuningJob larger = example();
  ++larger.key.size;
  EXPECT_EQ(keep_job(place, larger), 0);
  EXPECT_EQ(test::files_below(place).size(), 2u);
  EXPECT_NE(keep_job("/proc/nowhere", example()), 0);
}

}  // namespace
}  // namespace kiln::runtime
