// tests/device/cases_scatter_test.cpp -- reported faults restated for reading and writing by index: sums in 16 bits
// that stick (A01), nothing to read or to write (B01), places beyond 2^31 and 2^32 (B06).
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/devices.h"

namespace {

class ScatterCases : public OnEachDevice {};
KILN_ON_EACH_DEVICE(ScatterCases);

using Index = std::int64_t;

// ------------------------------------------------------------------ A01
/// `count` updates of 1 into the last of `bins` places that hold `start`, in every form there is.
template <class T>
void expect_ones(Index count, Index bins, float start, float want) {
  const kl::Array<Index> at = kl::full({count}, bins - 1);
  const kl::Array<T> ones = kl::ones<T>({count});
  const auto expect = [&](const char* what, auto add) {
    kl::Array<T> target = kl::full({bins}, T(start));
    add(target);
    const std::vector<T> got = target.to_host();
    EXPECT_EQ(static_cast<float>(got.back()), want) << what << ' ' << kl::name_of(kl::dtype_of<T>) << ' ' << count;
    for (std::size_t b = 0; b + 1 < got.size(); ++b) ASSERT_EQ(static_cast<float>(got[b]), start) << what;
  };
  expect("array", [&](auto& target) { kl::scatter_add(target, at, ones); });
  expect("array, unordered", [&](auto& target) { kl::scatter_add(target, at, ones, kl::unordered); });
  expect("expression", [&](auto& target) { kl::scatter_add(target, at, ones * 0.5f + 0.5f); });
  expect("expression, unordered",
         [&](auto& target) { kl::scatter_add(target, at, ones * 0.5f + 0.5f, kl::unordered); });
  expect("number", [&](auto& target) { kl::scatter_add(target, at, 1); });
  expect("number, unordered", [&](auto& target) { kl::scatter_add(target, at, 1.0f, kl::unordered); });
  expect("rows", [&](auto& target) {  // as the gradient of an embedding
    kl::scatter_add(target.reshape({bins, 1}), at, ones.reshape({count, 1}), 0);
  });
  expect("rows, unordered", [&](auto& target) {
    kl::scatter_add(target.reshape({bins, 1}), at, ones.reshape({count, 1}), 0, kl::unordered);
  });
}

// Rule: sums of f16 and bf16 are computed in f32 and rounded once (semantics): adding 1 to an f16 of 2048 changes
// nothing, to a bf16 of 256 neither.
TEST_P(ScatterCases, sixteen_bit_sums_by_index_do_not_stick) {
  for (const Index bins : {1, 3, 5000}) {
    expect_ones<kl::half>(20000, bins, 0, 20000);
    expect_ones<kl::bfloat16>(20000, bins, 0, 19968);  // 156.25 steps of 128
    expect_ones<kl::bfloat16>(70000, bins, 0, 70144);  // 136.7 steps of 512
    expect_ones<kl::half>(20000, bins, 12000, 32000);
    expect_ones<kl::half>(70000, bins, 0, std::numeric_limits<float>::infinity());
    expect_ones<float>(70000, bins, 0.5f, 70000.5f);
  }
}

// The same for a GPU that need not be there.
TEST_P(ScatterCases, sixteen_bit_sums_are_sorted_on_every_gpu) {
  const kl::Array<Index> at = kl::from_host(std::vector<Index>{0, 0, 1});
  kl::Array<kl::half> x = kl::zeros<kl::half>({2});
  kl::Array<kl::bfloat16> y = kl::zeros<kl::bfloat16>({2});
  try {
    const auto plan = kl::scatter_add.inspect_for("sm_90", x, at, kl::ones<kl::half>({3}), 0, kl::unordered);
    EXPECT_NE(std::string(plan.explain()).find("sorted by their index"), std::string::npos) << plan.explain();
    const auto same = kl::scatter_add.inspect_for("sm_90", y, at, kl::ones<kl::bfloat16>({3}), 0, kl::unordered);
    EXPECT_NE(std::string(same.explain()).find("sorted by their index"), std::string::npos) << same.explain();
    const auto number = kl::scatter_add.inspect_for("sm_90", x, at, 1, 0, kl::unordered);
    EXPECT_NE(std::string(number.explain()).find("are counted"), std::string::npos) << number.explain();
  } catch (const kl::DeviceError& error) {
    GTEST_SKIP() << "no NVRTC here: " << error.what();
  }
}

// ------------------------------------------------------------------ B01
TEST_P(ScatterCases, scatters_of_nothing_change_nothing) {
  const kl::Array<Index> none({0}), some = kl::from_host(std::vector<Index>{0, 1});
  const kl::Array<float> no_updates({0}), updates = kl::ones<float>({2});
  kl::Array<float> x = kl::from_host(std::vector<float>{3, -4}), empty({0});
  kl::scatter_add(x, none, no_updates);
  kl::scatter_add(x, none, no_updates, kl::unordered);
  kl::scatter_add(x, none, 5.0f);
  kl::scatter_max(x, none, no_updates);
  kl::scatter_min(x, none, -100.0f);
  EXPECT_EQ(x.to_host(), (std::vector<float>{3, -4}));
  kl::scatter_add(empty, some, updates);  // no place has these numbers
  kl::scatter_add(empty, some, 1.0f);
  kl::scatter_max(empty, some, updates);
  kl::scatter_max(empty, none, no_updates);
  EXPECT_EQ(empty.shape(), (kl::Shape{0}));
  kl::Array<std::int32_t> counts = kl::full({3}, 7), no_counts({0});
  kl::scatter_add(counts, none, kl::Array<std::int32_t>({0}));
  kl::scatter_max(counts, none, 9);
  kl::scatter_add(no_counts, some, 1);
  EXPECT_EQ(counts.to_host(), (std::vector<std::int32_t>{7, 7, 7}));
  // An empty axis beside the scattered one, and rows of no elements.
  kl::Array<float> flat({4, 0}), no_rows({0, 3}), plane = kl::ones<float>({2, 3});
  kl::scatter_add(flat, some, kl::Array<float>({2, 0}), 0);
  kl::scatter_add(no_rows, some, kl::ones<float>({2, 3}), 0);
  kl::scatter_max(plane, none, kl::Array<float>({0, 3}), 0);
  kl::scatter_add(plane, kl::Array<Index>({2, 0}), kl::Array<float>({2, 0, 3}), 0);
  EXPECT_EQ(plane.to_host(), std::vector<float>(6, 1.0f));
  EXPECT_THROW(kl::scatter_add(x, none, updates), kl::ShapeError) << "two updates for no index";
}

TEST_P(ScatterCases, counts_of_nothing_are_zero) {
  const kl::Array<std::int32_t> none({0}), some = kl::from_host(std::vector<std::int32_t>{0, 1});
  EXPECT_EQ(kl::bincount(none, 3).to_host(), (std::vector<std::int64_t>{0, 0, 0}));
  EXPECT_EQ(kl::bincount(some, 0).shape(), (kl::Shape{0}));
  EXPECT_EQ(kl::bincount(none, 0).shape(), (kl::Shape{0}));
  EXPECT_EQ(kl::bincount(kl::Array<std::uint8_t>({0, 4}), 2).to_host(), (std::vector<std::int64_t>{0, 0}));
  EXPECT_EQ(kl::histogram(kl::Array<float>({0}), 2, 0, 1).to_host(), (std::vector<std::int64_t>{0, 0}));
  EXPECT_EQ(kl::histogram(kl::Array<double>({3, 0}), 1, 0, 1).to_host(), (std::vector<std::int64_t>{0}));
}

TEST_P(ScatterCases, takes_of_nothing_have_their_shape) {
  const kl::Array<Index> none({0}), some = kl::from_host(std::vector<Index>{0, 1}), grid({2, 0});
  const kl::Array<float> x = kl::ones<float>({4, 3}), no_rows({0, 3}), no_columns({4, 0}), empty({0});
  EXPECT_EQ(kl::eval(kl::take(x, none, 0)).shape(), (kl::Shape{0, 3}));
  EXPECT_EQ(kl::eval(kl::take(x, grid, 1)).shape(), (kl::Shape{4, 2, 0}));
  EXPECT_EQ(kl::eval(kl::take(x, none)).shape(), (kl::Shape{0}));
  EXPECT_EQ(kl::eval(kl::take(no_rows, none, 0)).shape(), (kl::Shape{0, 3}));
  EXPECT_EQ(kl::eval(kl::take(no_columns, some, 0)).shape(), (kl::Shape{2, 0}));
  EXPECT_EQ(kl::eval(kl::take(empty, none)).shape(), (kl::Shape{0}));
  EXPECT_EQ(kl::eval(kl::take_along_axis(x, kl::Array<Index>({0, 3}), 0)).shape(), (kl::Shape{0, 3}));
  EXPECT_EQ(kl::eval(kl::one_hot<float>(none, 5)).shape(), (kl::Shape{0, 5}));
  EXPECT_EQ(kl::eval(kl::sum(kl::take(x, none, 0), 0)).to_host(), (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(kl::sum(kl::take(x, none)).item(), 0.0f);
  // Elements of an axis that has none: no mode can answer.
  EXPECT_THROW(kl::eval(kl::take(no_rows, some, 0)), kl::ShapeError);
  EXPECT_THROW(kl::eval(kl::take(no_rows, some, 0, kl::OutOfRange::clip)), kl::ShapeError);
  EXPECT_THROW(kl::eval(kl::take(empty, some)), kl::ShapeError);
  EXPECT_THROW(kl::eval(kl::take(empty, 0, kl::OutOfRange::wrap)), kl::ShapeError);
}

// ------------------------------------------------------------------ B06
constexpr Index two31 = Index{1} << 31, two32 = Index{1} << 32;

/// Memory of which only a few pages are touched on the CPU. None where there is too little.
template <class T>
std::optional<kl::Array<T>> sparse(Index n) {
  try {
    return kl::Array<T>({n});
  } catch (const kl::OutOfMemory&) {
    return std::nullopt;
  }
}
#define SKIP_WITHOUT(array) \
  if (!(array)) GTEST_SKIP() << "too little memory here for an array of more than 2^31 elements"

const std::vector<Index> far{two32 + 1, 3, two31, two31 - 1, two32, two32 - 1};

TEST_P(ScatterCases, elements_beyond_2_32_are_taken) {
  auto x = sparse<std::int8_t>(two32 + 16);
  SKIP_WITHOUT(x);
  for (std::size_t k = 0; k < far.size(); ++k) (*x)(kl::range(far[k], far[k] + 1)) = static_cast<std::int8_t>(k + 1);
  const kl::Array<Index> at = kl::from_host(far), from_end = at - (two32 + 16);
  const std::vector<std::int8_t> want{1, 2, 3, 4, 5, 6};
  EXPECT_EQ(kl::eval(kl::take(*x, at)).to_host(), want);
  EXPECT_EQ(kl::eval(kl::take(*x, at, 0)).to_host(), want);
  EXPECT_EQ(kl::eval(kl::take(*x, from_end, 0)).to_host(), want) << "negative indices";
  EXPECT_EQ(kl::eval(kl::take(*x, kl::cast<std::uint64_t>(at))).to_host(), want);
  EXPECT_EQ(kl::take(*x, two32 + 1).item(), 1);
  EXPECT_EQ(kl::take(*x, two32 + 16).item(), 0) << "outside: missing";
  EXPECT_EQ(kl::eval(kl::take_along_axis(*x, at, 0)).to_host(), want);
  const auto rows = x->reshape({(two32 + 16) / 16, 16});  // row 2^28, columns 0 and 1, are elements 2^32 and 2^32 + 1
  const auto last = kl::eval(kl::take(rows, kl::full({1}, two32 / 16), 0)).to_host();
  EXPECT_EQ(last[0], 5);
  EXPECT_EQ(last[1], 1);
  const kl::Array<int> seven = kl::full({1}, 7);
  EXPECT_EQ(kl::take(seven.broadcast_to({two32 * 2}), two32 + 1).item(), 7);
}

template <class T>
void expect_far_updates(const char* what) {
  auto x = sparse<T>(two32 + 16);
  SKIP_WITHOUT(x);
  const kl::Array<Index> at = kl::from_host(far);
  for (const Index place : far) (*x)(kl::range(place, place + 1)) = T(5);
  (*x)(kl::range(1, 2)) = T(5);  // where 2^32 + 1 would lie modulo 2^32
  (*x)(kl::range(0, 1)) = T(5);
  const kl::Array<T> updates = kl::from_host(std::vector<T>{9, 8, 7, 6, 4, 3});
  kl::scatter_max(*x, at, updates);
  EXPECT_EQ(kl::eval(kl::take(*x, at)).to_host(), (std::vector<T>{9, 8, 7, 6, 5, 5})) << what;
  kl::scatter_min(*x, at, T(6));
  EXPECT_EQ(kl::eval(kl::take(*x, at)).to_host(), (std::vector<T>{6, 6, 6, 6, 5, 5})) << what;
  kl::scatter_add(*x, at, updates);
  kl::scatter_add(*x, at - (two32 + 16), 1);
  EXPECT_EQ(kl::eval(kl::take(*x, at)).to_host(), (std::vector<T>{16, 15, 14, 13, 10, 9})) << what;
  EXPECT_EQ(kl::eval((*x)(kl::range(0, 2))).to_host(), (std::vector<T>{5, 5})) << what << ": nothing else has changed";
}

TEST_P(ScatterCases, elements_beyond_2_32_are_updated) { expect_far_updates<std::int8_t>("i8"); }

/// The floating ones, which are sorted by their index.
TEST_P(ScatterCases, sums_of_floats_beyond_2_31_places) {
  auto x = sparse<kl::half>(two31 + 8);
  SKIP_WITHOUT(x);
  const kl::Array<Index> at = kl::from_host(std::vector<Index>{two31 + 1, 3, two31 + 1, two31 - 1});
  const auto value = [&](Index place) { return static_cast<float>((*x)(kl::range(place, place + 1)).to_host()[0]); };
  for (const Index place : {two31 + 1, two31 - 1, Index{1}, Index{3}})
    (*x)(kl::range(place, place + 1)) = kl::half(1.0f);
  const kl::Array<kl::half> updates = kl::full({4}, kl::half(0.5f));
  try {
    if (on_gpu())
      kl::scatter_add(*x, at, updates);
    else
      kl::scatter_add.inspect_for("sm_90", *x, at, updates);
    FAIL() << "documented as refused on GPUs";
  } catch (const kl::ShapeError& error) {
    const std::string text = error.what();
    for (const char* const part :
         {"scatter_add of 4 updates into 2147483656 places of f16", "cases_scatter_test.cpp:", "2^31", "kl::unordered"})
      EXPECT_NE(text.find(part), std::string::npos) << part << " in: " << text;
  }
  EXPECT_EQ(value(two31 + 1), 1.0f) << "refused before anything has changed";
  if (on_gpu())
    kl::scatter_add(*x, at, 0.5f);  // one number for all: counted, and added once
  else
    kl::scatter_add(*x, at, updates);
  EXPECT_EQ(value(two31 + 1), 2.0f);
  EXPECT_EQ(value(3), 1.5f);
  EXPECT_EQ(value(two31 - 1), 1.5f);
  EXPECT_EQ(value(1), 1.0f);
}

TEST_P(ScatterCases, unordered_sums_of_floats_beyond_2_31_places) {
  auto x = sparse<float>(two31 + 8);
  SKIP_WITHOUT(x);
  const std::vector<Index> places{two31 + 1, 3, two31 + 1, two31 - 1};
  const kl::Array<Index> at = kl::from_host(places);
  for (const Index place : places) (*x)(kl::range(place, place + 1)) = 1.0f;
  kl::scatter_add(*x, at, kl::full({4}, 0.5f), kl::unordered);
  EXPECT_EQ(kl::eval(kl::take(*x, at)).to_host(), (std::vector<float>{2, 1.5f, 2, 1.5f}));
  kl::scatter_max(*x, at, kl::full({4}, 1.75f));
  EXPECT_EQ(kl::eval(kl::take(*x, at)).to_host(), (std::vector<float>{2, 1.75f, 2, 1.75f}));
}

TEST_P(ScatterCases, running_sums_beyond_2_32) {
  auto x = sparse<std::int8_t>(two32 + 16);
  SKIP_WITHOUT(x);
  const auto far_apart = (*x)(kl::range(5, kl::none, two31));  // elements 5, 2^31 + 5 and 2^32 + 5
  far_apart.unsqueeze(0) = kl::from_host(std::vector<std::int8_t>{100, 27, -1});
  EXPECT_EQ(kl::eval(kl::cumsum(far_apart)).to_host(), (std::vector<std::int64_t>{100, 127, 126}));
  EXPECT_EQ(kl::eval(kl::cumsum(far_apart.flip(0))).to_host(), (std::vector<std::int64_t>{-1, 26, 126}));
  far_apart.unsqueeze(0) = kl::cumsum(far_apart);
  EXPECT_EQ(far_apart.to_host(), (std::vector<std::int8_t>{100, 127, 126})) << "in place";
  EXPECT_EQ(kl::eval(kl::cummax(far_apart)).to_host(), (std::vector<std::int8_t>{100, 127, 127}));
}

TEST_P(ScatterCases, running_sums_of_more_than_2_32_elements) {
  if (!on_gpu())
    GTEST_SKIP() << "writes 4 GB several times: seconds on a CPU; running_sums_beyond_2_32 is the cheap form";
  const Index n = two32 + 6;
  const kl::Array<std::int8_t> one = kl::ones<std::int8_t>({1});
  auto sums = sparse<std::int8_t>(n);
  SKIP_WITHOUT(sums);
  const auto expect_windows = [&](auto value) {
    for (const Index centre : {Index{0}, two31, two32, n - 1}) {
      const Index first = std::max<Index>(0, centre - 1000), last = std::min(n, centre + 1000);
      const std::vector<std::int8_t> got = (*sums)(kl::range(first, last)).to_host();
      for (Index i = first; i < last; ++i) ASSERT_EQ(got[static_cast<std::size_t>(i - first)], value(i)) << i;
    }
  };
  *sums = kl::cumsum(one.broadcast_to({n}));  // i64 sums, stored modulo 2^8
  expect_windows([](Index i) { return static_cast<std::int8_t>(i + 1); });
  *sums = std::int8_t(1);
  *sums = kl::cumsum(*sums);
  expect_windows([](Index i) { return static_cast<std::int8_t>(i + 1); });
  *sums = std::int8_t(0);
  (*sums)(kl::range(two32 + 1, two32 + 2)) = std::int8_t(3);
  *sums = kl::cummax(*sums);
  expect_windows([](Index i) { return static_cast<std::int8_t>(i > two32 ? 3 : 0); });
}

}  // namespace
