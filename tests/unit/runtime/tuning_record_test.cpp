// tests/unit/runtime/tuning_record_test.cpp -- lines of tuning records: what is read back, what is refused, merging.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "runtime/tuning_record.h"

namespace kiln::runtime {
namespace {

TuningRecord example(int number = 0) {
  TuningRecord record;
  record.key.kernel = std::string(63, 'a') + static_cast<char>('0' + number % 10);
  record.key.size = 27;
  record.key.device = "NVIDIA H200";
  record.key.multiprocessors = 132;
  record.choice = "block=512 vector=4 items=1 min_blocks=4";
  record.heuristic = "block=256 vector=4 items=1 min_blocks=4";
  record.choice_us = 101.125;
  record.heuristic_us = 110.5;
  record.runs = 130;
  record.date = 1'800'000'000 + number;
  record.name = "saxpy";
  return record;
}

TEST(TuningRecord, ALineGivesBackWhatWasWritten) {
  TuningRecord read;
  const std::string line = to_line(example());
  ASSERT_TRUE(parse_line(line, read)) << line;
  EXPECT_EQ(read, example());
  EXPECT_EQ(to_line(read), line);
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
}

/// A name from outside must not end the field or the line.
TEST(TuningRecord, TextFromOutsideStaysInItsField) {
  TuningRecord record = example(), read;
  record.key.device = "Card\twith\nodd name";
  record.name = std::string(1000, 'x');
  ASSERT_TRUE(parse_line(to_line(record), read));
  EXPECT_EQ(read.key.device, "Card with odd name");
  EXPECT_EQ(read.name.size(), 256u);
  EXPECT_EQ(read.choice, record.choice);
}

TEST(TuningRecord, EveryChangedOrMissingByteIsNoticed) {
  const std::string line = to_line(example());
  TuningRecord read;
  for (std::size_t at = 0; at + 1 < line.size(); ++at) {
    for (const int bit : {1, 4, 32}) {
      std::string damaged = line;
      damaged[at] = static_cast<char>(damaged[at] ^ bit);
      EXPECT_FALSE(parse_line(damaged, read)) << damaged;
    }
    EXPECT_FALSE(parse_line(line.substr(0, at), read)) << at;
  }
  EXPECT_FALSE(parse_line(line + "x", read));
  EXPECT_FALSE(parse_line("", read));
}

/// The checksum is no secret: fields are judged besides.
TEST(TuningRecord, ImplausibleValuesAreRefused) {
  const auto refuses = [](auto change) {
    TuningRecord record = example(), read;
    change(record);
    return !parse_line(to_line(record), read);
  };
  EXPECT_TRUE(refuses([](TuningRecord& r) { r.key.kernel = "not a digest"; }));
  EXPECT_TRUE(refuses([](TuningRecord& r) { r.key.size = 64; }));
  EXPECT_TRUE(refuses([](TuningRecord& r) { r.key.size = -1; }));
  EXPECT_TRUE(refuses([](TuningRecord& r) { r.key.multiprocessors = 0; }));
  EXPECT_TRUE(refuses([](TuningRecord& r) { r.choice = ""; }));
  EXPECT_TRUE(refuses([](TuningRecord& r) { r.choice_us = 0; }));
  EXPECT_TRUE(refuses([](TuningRecord& r) { r.heuristic_us = -1; }));
  EXPECT_TRUE(refuses([](TuningRecord& r) { r.heuristic_us = std::numeric_limits<double>::quiet_NaN(); }));
  EXPECT_TRUE(refuses([](TuningRecord& r) { r.choice_us = std::numeric_limits<double>::infinity(); }));
  EXPECT_FALSE(refuses([](TuningRecord&) {}));
}

TEST(TuningRecord, LinesOfOthersAreCountedAndSkipped) {
  std::size_t rejected = 0;
  const std::string text = "# a comment\n" + to_line(example(1)) + "\nkiln-tuning\t2\tfrom the future\n" +
                           to_line(example(2)) + "no end of line";
  const auto records = parse_records(text, rejected);
  EXPECT_EQ(records.size(), 2u);
  EXPECT_EQ(rejected, 3u);
}

/// Rule: however files are cut, doubled and ordered, merging them gives the same records; the newest of a key stays.
TEST(TuningRecord, MergingDoesNotDependOnTheOrder) {
  std::vector<TuningRecord> all;
  for (int number = 0; number < 30; ++number) all.push_back(example(number));  // ten keys, three dates each
  std::vector<TuningRecord> expected = all;
  merge_records(expected);
  ASSERT_EQ(expected.size(), 10u);
  for (const TuningRecord& record : expected) EXPECT_GE(record.date, 1'800'000'020);
  std::mt19937 random(5);
  for (int round = 0; round < 20; ++round) {
    std::shuffle(all.begin(), all.end(), random);
    std::vector<TuningRecord> left(all.begin(), all.begin() + 12), right(all.begin() + 8, all.end());
    merge_records(left);
    merge_records(right);
    left.insert(left.end(), right.begin(), right.end());
    merge_records(left);
    EXPECT_EQ(left, expected);
  }
}

TEST(TuningRecord, EachPartOfTheKeyNamesAnotherFile) {
  const TuningKey key = example().key;
  const auto changed = [&](auto change) {
    TuningKey other = key;
    change(other);
    return other.digest() != key.digest();
  };
  EXPECT_TRUE(changed([](TuningKey& k) { k.kernel.back() = 'b'; }));
  EXPECT_TRUE(changed([](TuningKey& k) { k.size = 28; }));
  EXPECT_TRUE(changed([](TuningKey& k) { k.device = "NVIDIA H100"; }));
  EXPECT_TRUE(changed([](TuningKey& k) { k.multiprocessors = 114; }));
  EXPECT_TRUE(changed([](TuningKey& k) { k.any_order = true; }));
  EXPECT_EQ(key.digest().size(), 32u);
}

}  // namespace
}  // namespace kiln::runtime
