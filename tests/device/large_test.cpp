// tests/device/large_test.cpp -- element counts and offsets beyond 2^31 (case B06), on memory that is really there.
//
// GPU only: gigabytes in device memory, read back in windows around the points where 32-bit arithmetic would wrap.
#include "tests/support/check.h"

namespace {

class Large : public OnEachDevice {
 protected:
  void SetUp() override {
    OnEachDevice::SetUp();
    if (!IsSkipped() && !on_gpu())
      GTEST_SKIP() << "needs gigabytes; the cheap forms in arrays_test run on every device";
  }
  /// Checks `y` in windows of 4096 around every multiple of 2^31 and at both ends.
  static void expect_constant(kl::Array<std::int8_t>& y, std::int64_t n, std::int8_t want) {
    const std::int64_t window = 4096;
    for (const std::int64_t centre : {std::int64_t(0), std::int64_t(1) << 31, std::int64_t(1) << 32, n - 1}) {
      const std::int64_t first = std::max<std::int64_t>(0, centre - window), last = std::min(n, centre + window);
      if (first >= last) continue;
      const auto got = y(kl::range(first, last)).to_host();
      ASSERT_EQ(got, std::vector<std::int8_t>(got.size(), want)) << "around " << centre << " of " << n;
    }
  }
};

TEST_P(Large, more_than_2_31_elements) {
  for (const std::int64_t n :
       {(std::int64_t(1) << 31) + 3, (std::int64_t(1) << 32) - 127, (std::int64_t(1) << 32) + 1}) {
    kl::Array<std::int8_t> x({n});
    x = std::int8_t(41);
    kl::Array<std::int8_t> y = x + std::int8_t(1);
    expect_constant(y, n, 42);
  }
}

TEST_P(Large, strided_offsets_beyond_2_31) {
  const std::int64_t rows = 70000, columns = 65536;  // 4.6e9 bytes
  kl::Array<std::int8_t> x({rows, columns});
  x = std::int8_t(1);
  x(kl::range(kl::none, kl::none, 7), kl::range(3, kl::none, 5)) += std::int8_t(1);
  for (const std::int64_t row : {std::int64_t(0), std::int64_t(32767), std::int64_t(32774), rows - 7, rows - 1}) {
    const auto got = x(row, kl::all).to_host();
    for (std::int64_t c = 0; c < columns; ++c) {
      ASSERT_EQ(got[static_cast<std::size_t>(c)], row % 7 == 0 && c >= 3 && (c - 3) % 5 == 0 ? 2 : 1)
          << row << ' ' << c;
    }
  }
}

TEST_P(Large, index_beyond_2_31) {
  const std::int64_t n = (std::int64_t(1) << 32) + 5;
  kl::Array<std::int8_t> x({n});
  x = kl::cast<std::int8_t>(kl::index(x, 0) % std::int64_t(101));
  for (const std::int64_t start : {std::int64_t(0), (std::int64_t(1) << 31) - 50, (std::int64_t(1) << 32) - 50}) {
    const std::int64_t stop = std::min(n, start + 1000);
    const auto got = x(kl::range(start, stop)).to_host();
    for (std::int64_t i = start; i < stop; ++i) ASSERT_EQ(got[static_cast<std::size_t>(i - start)], i % 101) << i;
  }
}

// Rule: every row has a block, also where a grid has fewer along x: 2^31 - 1.
TEST_P(Large, more_rows_than_blocks_along_x) {
  const std::int64_t n = (std::int64_t(1) << 31) + 5, length = 1056;
  kl::Array<std::int8_t> x({n, 1});
  x = kl::cast<std::int8_t>(kl::index(x, 0) % std::int64_t(101));
  const kl::Array<std::int8_t> row = kl::cast<std::int8_t>(kl::index(kl::zeros<std::int8_t>({1, length}), 1) == 1050);
  const kl::Array<std::int8_t> y = kl::max(x + row, 1);
  for (const std::int64_t start : {std::int64_t(0), (std::int64_t(1) << 30) - 50, (std::int64_t(1) << 31) - 50}) {
    const std::int64_t stop = std::min(n, start + 1000);
    const auto got = y(kl::range(start, stop)).to_host();
    for (std::int64_t i = start; i < stop; ++i) ASSERT_EQ(got[static_cast<std::size_t>(i - start)], i % 101 + 1) << i;
  }
}

// Rule: a scan has any number of columns.
TEST_P(Large, scans_of_more_than_2_30_columns) {
  const std::int64_t n = (std::int64_t(1) << 30) + 1;
  const kl::Array<std::int8_t> x = kl::from_host(std::vector<std::int8_t>{3, 5}, {2, 1});
  const kl::Array<std::int8_t> y = kl::cummax(x.broadcast_to({2, n}), 0);
  for (const std::int64_t row : {0, 1}) {
    for (const std::int64_t start : {std::int64_t(0), n - 1000}) {
      const auto got = y(row, kl::range(start, start + 1000)).to_host();
      ASSERT_EQ(got, std::vector<std::int8_t>(got.size(), row == 0 ? 3 : 5)) << row << ' ' << start;
    }
  }
}

KILN_ON_EACH_DEVICE(Large);

}  // namespace
