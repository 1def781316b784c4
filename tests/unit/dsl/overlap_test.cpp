// tests/unit/dsl/overlap_test.cpp -- overlap of strided byte sets against enumeration of every byte.
#include "dsl/overlap.h"

#include <set>

#include <gtest/gtest.h>

#include "tests/unit/dsl/brute_force.h"

namespace kiln::dsl {
namespace {

using test::strided;

std::set<std::int64_t> bytes_of(const ByteSet& set) {
  std::set<std::int64_t> bytes;
  Strided view = set.view;
  view.offset = 0;
  for (const std::int64_t element : test::addresses(view))
    for (std::int64_t b = 0; b < set.bytes; ++b)
      bytes.insert(static_cast<std::int64_t>(set.address) + element * set.bytes + b);
  return bytes;
}

bool share_a_byte(const ByteSet& a, const ByteSet& b) {
  const std::set<std::int64_t> bytes = bytes_of(a);
  for (const std::int64_t byte : bytes_of(b))
    if (bytes.contains(byte)) return true;
  return false;
}

bool reaches_twice(const ByteSet& a) {
  std::int64_t elements = 1;
  for (const std::int64_t extent : a.view.shape.span()) elements *= extent;
  return static_cast<std::int64_t>(bytes_of(a).size()) != elements * a.bytes;
}

ByteSet random_set(std::mt19937& random) {
  ByteSet set;
  set.bytes = std::int64_t{1} << random() % 3;
  set.address = 1000 + random() % 60;
  set.view.shape.rank = static_cast<int>(random() % 4);
  for (int axis = 0; axis < set.view.shape.rank; ++axis) {
    set.view.shape.extents[axis] = random() % 8 == 0 ? 0 : 1 + random() % 4;
    set.view.strides[axis] = static_cast<std::int64_t>(random() % 19) - 9;
  }
  return set;
}

TEST(Overlap, AgreesWithEnumeration) {
  std::mt19937 random(3);
  int overlapping = 0, apart = 0;
  for (int round = 0; round < 4000; ++round) {
    const ByteSet a = random_set(random), b = random_set(random);
    const bool expected = share_a_byte(a, b);
    ASSERT_EQ(may_overlap(a, b), expected) << "round " << round;
    ++(expected ? overlapping : apart);
  }
  EXPECT_GT(overlapping, 200);
  EXPECT_GT(apart, 200);
}

TEST(Overlap, WithinOneDestinationAgreesWithEnumeration) {
  std::mt19937 random(4);
  for (int round = 0; round < 4000; ++round) {
    const ByteSet a = random_set(random);
    ASSERT_EQ(overlaps_itself(a), reaches_twice(a)) << "round " << round;
  }
}

TEST(Overlap, LargeViewsOfOneArrayAreToldApart) {
  // Even and odd elements, and the two halves of the columns of a matrix of 2^20 rows.
  const ByteSet even{4096, 4, strided({1 << 28}, {2})}, odd{4100, 4, strided({1 << 28}, {2})};
  EXPECT_FALSE(may_overlap(even, odd));
  const ByteSet left{4096, 4, strided({1 << 20, 512}, {1024, 1})};
  const ByteSet right{4096 + 2048, 4, strided({1 << 20, 512}, {1024, 1})};
  EXPECT_FALSE(may_overlap(left, right));
  const ByteSet shifted{4096 + 2044, 4, strided({1 << 20, 512}, {1024, 1})};
  EXPECT_TRUE(may_overlap(left, shifted));
}

TEST(Overlap, SameElementsNeedsEqualWalks) {
  const ByteSet a{4096, 4, strided({4, 4}, {4, 1})};
  EXPECT_TRUE(same_elements(a, a));
  EXPECT_FALSE(same_elements(a, {4096, 4, strided({4, 4}, {1, 4})})) << "a transposed walk reads elsewhere";
  EXPECT_TRUE(same_elements({4096, 4, strided({1, 4}, {9, 1})}, {4096, 4, strided({1, 4}, {4, 1})}));
}

}  // namespace
}  // namespace kiln::dsl
