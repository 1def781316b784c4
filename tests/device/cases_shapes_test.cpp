// tests/device/cases_shapes_test.cpp -- reported faults of reductions over unusual shapes and layouts: empty,
// unaligned, huge, of high rank.
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "tests/support/rows.h"
#include "tests/support/values.h"

namespace {

class ShapeCases : public OnEachDevice {};
KILN_ON_EACH_DEVICE(ShapeCases);

TEST_P(ShapeCases, only_reduced_axes_of_extent_0_matter) {  // B01
  const kl::Array<float> no_rows({0, 2}), no_columns({2, 0}),
      x = kl::from_host(std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_THROW(kl::eval(kl::min(no_rows, 0)), kl::ShapeError);
  EXPECT_EQ(kl::eval(kl::min(no_rows, 1)).shape(), (kl::Shape{0}));
  EXPECT_EQ(kl::eval(kl::argmax(no_rows, 1)).shape(), (kl::Shape{0}));
  EXPECT_EQ(kl::eval(kl::sum(no_rows, 0)).to_host(), (std::vector<float>{0, 0}));
  EXPECT_EQ(kl::eval(kl::prod(no_rows, 0)).to_host(), (std::vector<float>{1, 1}));
  EXPECT_EQ(kl::eval(kl::any(no_rows, 0)).to_host(), (std::vector<bool>{false, false}));
  EXPECT_EQ(kl::eval(kl::all(no_rows, 0)).to_host(), (std::vector<bool>{true, true}));
  for (const float v : kl::eval(kl::mean(no_rows, 0)).to_host()) EXPECT_TRUE(std::isnan(v));
  EXPECT_EQ(kl::eval(kl::sum(no_columns, 1)).to_host(), (std::vector<float>{0, 0}));
  EXPECT_THROW(kl::eval(kl::max(no_columns, 1)), kl::ShapeError);
  EXPECT_EQ(kl::eval(kl::sum(no_columns, 1, kl::keepdims)).shape(), (kl::Shape{2, 1}));
  EXPECT_EQ(kl::eval(kl::sum(x, {})).to_host(), x.to_host()) << "no axes: nothing is reduced";
  EXPECT_EQ(kl::eval(kl::sum(kl::Array<float>({3, 0, 4}), {0, 2})).shape(), (kl::Shape{0}));
  const kl::Array<float> scalar = kl::full(kl::Shape{}, 3.0f);
  EXPECT_EQ(kl::sum(scalar).item(), 3.0f);
  EXPECT_EQ(kl::max(scalar, kl::keepdims).item(), 3.0f);
  const auto softmax = kl::jit([](auto v) {
    auto e = kl::exp(v - kl::max(v, -1, kl::keepdims));
    return e / kl::sum(e, -1, kl::keepdims);
  });
  EXPECT_EQ(softmax(no_rows).shape(), (kl::Shape{0, 2}));
}

/// Small integers: exact in every element type and in every sum of 1025 of them.
int element(std::int64_t i) { return static_cast<int>((i * 7919) % 61) - 30; }

template <class T>
void check_offsets() {
  constexpr std::int64_t rows = 5, pitch = 1185, n = 1025;
  std::vector<T> values;
  for (std::int64_t i = 0; i < rows * pitch; ++i) values.push_back(static_cast<T>(static_cast<float>(element(i))));
  const kl::Array<T> base = kl::from_host(values, {rows, pitch});
  kl::Array<T> out = kl::zeros<T>({rows, pitch});
  for (std::int64_t k = 0; k <= 7; ++k) {  // first aligned, then the same code over unaligned views
    const auto view = base(kl::all, kl::range(k, k + n));
    std::vector<float> sums(rows), columns(n);
    std::vector<std::int64_t> places(rows);
    for (std::int64_t r = 0; r < rows; ++r) {
      std::int64_t best = 0;
      for (std::int64_t c = 0; c < n; ++c) {
        const int v = element(r * pitch + k + c);
        sums[static_cast<std::size_t>(r)] += static_cast<float>(v);
        columns[static_cast<std::size_t>(c)] += static_cast<float>(v);
        if (v > element(r * pitch + k + best)) best = c;
      }
      places[static_cast<std::size_t>(r)] = best;
    }
    EXPECT_EQ(kl::eval(kl::sum(kl::cast<float>(view), 1)).to_host(), sums) << k;
    EXPECT_EQ(kl::eval(kl::sum(kl::cast<float>(view), 0)).to_host(), columns) << k;
    EXPECT_EQ(kl::eval(kl::argmax(view, 1)).to_host(), places) << k;
    EXPECT_EQ(kl::sum(kl::cast<float>(view)).item(), std::accumulate(sums.begin(), sums.end(), 0.0f)) << k;
    // The output alone is unaligned; elements beside it stay as they are.
    out = T(static_cast<float>(1));
    out(kl::all, kl::range(k, k + n)) =
        kl::cast<T>(base(kl::all, kl::range(0, n)) >= kl::max(base(kl::all, kl::range(0, n)), 1, kl::keepdims));
    const auto written = kl::eval(kl::cast<float>(out)).to_host();
    for (std::int64_t r = 0; r < rows; ++r) {
      int largest = -100;
      for (std::int64_t c = 0; c < n; ++c) largest = std::max(largest, element(r * pitch + c));
      for (std::int64_t c = 0; c < pitch; ++c) {
        const float want = c < k || c >= k + n || element(r * pitch + c - k) == largest ? 1.0f : 0.0f;
        ASSERT_EQ(written[static_cast<std::size_t>(r * pitch + c)], want) << "output at " << k << ", row " << r;
      }
    }
  }
}

TEST_P(ShapeCases, rows_at_every_offset_and_odd_pitch) {  // B05
  check_offsets<float>();
  check_offsets<kl::half>();
  check_offsets<std::int8_t>();
}

TEST_P(ShapeCases, offsets_beyond_32_bits) {  // B06: few pages of the memory are touched
  const std::int64_t half = std::int64_t{1} << 31;
  kl::Array<std::int8_t> a({2 * half + 16});
  const auto sparse = a(kl::range(0, kl::none, half));  // elements 0, 2^31 and 2^32
  sparse.unsqueeze(0) = kl::from_host(std::vector<std::int8_t>{5, 100, 101});
  EXPECT_EQ(kl::sum(sparse).item(), 206);
  EXPECT_EQ(kl::argmax(sparse).item(), 2);
  EXPECT_EQ(kl::argmax(sparse.flip(0)).item(), 0);
  EXPECT_EQ(kl::eval(kl::sum(sparse.unsqueeze(0).broadcast_to({4, 3}), 1)).to_host(),
            (std::vector<std::int64_t>(4, 206)));
  EXPECT_EQ(kl::eval(kl::sum(sparse.unsqueeze(0).broadcast_to({4, 3}), 0)).to_host(),
            (std::vector<std::int64_t>{20, 400, 404}));
}

TEST_P(ShapeCases, results_beyond_2_31_elements_are_sampled) {  // B06
  const kl::Array<float> one = kl::ones<float>({1});
  const auto sums = kl::sum(one.broadcast_to({8, 32, 4096, 131072}), 1);  // 2^32 results
  EXPECT_EQ(kl::eval(sums(-1, -1, kl::range(131000, kl::none))).to_host(), (std::vector<float>(72, 32.0f)));
  EXPECT_EQ(kl::eval(sums(kl::range(kl::none, kl::none, 7), kl::range(0, kl::none, 4095), 131071)).to_host(),
            (std::vector<float>(4, 32.0f)));
}

TEST_P(ShapeCases, more_than_2_32_elements) {  // B06
  if (!on_gpu()) GTEST_SKIP() << "seconds of work; reductions_test has a form of it for fast processors";
  const std::int64_t far = (std::int64_t{1} << 32) + 5;
  EXPECT_EQ(kl::sum(kl::ones<std::int64_t>({1}).broadcast_to({far})).item(), far);
  const auto pair = kl::arange<std::int64_t>(2).unsqueeze(1).broadcast_to({2, std::int64_t{1} << 32});
  EXPECT_EQ(kl::eval(kl::sum(pair, 1)).to_host(), (std::vector<std::int64_t>{0, std::int64_t{1} << 32}));
  for (const std::int64_t n :
       {(std::int64_t{1} << 31) + 3, (std::int64_t{1} << 32) - 127, (std::int64_t{1} << 32) + 1}) {
    kl::Array<std::int8_t> x = kl::ones<std::int8_t>({n});
    EXPECT_EQ(kl::argmax(x).item(), 0) << n;
    x(kl::range(n - 1, n)) = std::int8_t(2);
    EXPECT_EQ(kl::sum(x).item(), n + 1);
    EXPECT_EQ(kl::max(x).item(), 2) << n;
    EXPECT_EQ(kl::argmax(x).item(), n - 1);
  }
}

TEST_P(ShapeCases, odd_axes_of_rank_8) {  // B09
  std::vector<int> numbers(256), expected(16);
  std::iota(numbers.begin(), numbers.end(), 0);
  const kl::Array<int> x = kl::from_host(numbers, {2, 2, 2, 2, 2, 2, 2, 2});
  for (int i = 0; i < 256; ++i) {  // axis a is bit 7 - a: the odd axes are the even bits
    int reversed = 0, kept = 0;
    for (int bit = 0; bit < 8; ++bit) reversed |= (i >> bit & 1) << (7 - bit);
    for (int bit = 1; bit < 8; bit += 2) kept |= (i >> bit & 1) << (bit / 2);
    expected[static_cast<std::size_t>(kept)] += i + 1000 * reversed;
  }
  const auto both = x + 1000 * x.transpose({7, 6, 5, 4, 3, 2, 1, 0});
  const kl::Array<int> sums = kl::sum(both, {1, 3, 5, 7});
  EXPECT_EQ(sums.shape(), (kl::Shape{2, 2, 2, 2}));
  EXPECT_EQ(sums.to_host(), expected);
  EXPECT_EQ(kl::sum(both).item(), 1001 * 255 * 128);
  EXPECT_THROW(kl::eval(kl::sum(x, 8)), kl::ShapeError);
  EXPECT_THROW(kl::eval(kl::sum(x, {1, -7})), kl::ShapeError) << "the same axis twice";
}

/// Short rows may be joined across rows, by vectors of them: all lengths on both sides of that choice.
template <class T>
void check_short_rows() {
  for (const std::int64_t n : {1, 2, 7, 15, 16, 17, 23, 24, 25, 31, 32, 33, 47, 48, 49, 64}) {
    const rows::Tensor<T> t{{101, n}, values::random<T>(static_cast<std::size_t>(101 * n), 23, 3)};
    const kl::Array<T> x = kl::from_host(t.values, kl::Shape(t.shape));
    const std::string rule = std::string(kl::name_of(kl::dtype_of<T>)) + " length " + std::to_string(n);
    const auto [sum, var, place] = kl::eval(kl::sum(x, 1), kl::var(x, 1), kl::argmax(x, 1));
    rows::expect_rows(rule, sum, t, {1}, false, [](const auto& r) { return rows::sum(r); });
    rows::expect_rows(rule, var, t, {1}, false, [](const auto& r) { return rows::var(r, 0); });
    rows::expect_rows(rule, place, t, {1}, false, [](const auto& r) { return rows::position_of_extreme(r, true); });
  }
}

TEST_P(ShapeCases, many_rows_of_every_short_length) {  // B12
  check_short_rows<float>();
  check_short_rows<double>();
  check_short_rows<kl::half>();
}

/// Speed is measured elsewhere; here: the forms that were slow are the same kernel as the plain one.
TEST_P(ShapeCases, keepdims_and_transposed_sums_are_the_plain_kernel) {  // B12
  for (const int k : {5, 13, 22}) {
    const std::int64_t rows = std::int64_t{1} << k, columns = std::int64_t{1} << (27 - k);
    const kl::Array<float> x({rows, columns});
    const kl::Inspection plain = kl::inspect(kl::sum(x)), keep = kl::inspect(kl::sum(x, kl::keepdims)),
                         transposed = kl::inspect(kl::sum(x.t()));
    ASSERT_TRUE(plain.kernels.size() == 1 && keep.kernels.size() == 1 && transposed.kernels.size() == 1);
    EXPECT_EQ(keep.kernels[0].source, plain.kernels[0].source) << keep.explain();
    EXPECT_EQ(transposed.kernels[0].source, plain.kernels[0].source) << transposed.explain();
    EXPECT_EQ(transposed.kernels[0].launch.grid[0], plain.kernels[0].launch.grid[0]);
    for (const int axis : {0, 1}) {
      const kl::Inspection along = kl::inspect(kl::sum(x, axis));
      EXPECT_EQ(along.kernels.size(), 1u);
      EXPECT_EQ(along.kernels[0].bytes_moved, 4 * (rows * columns + (axis ? rows : columns))) << along.explain();
    }
  }
}

/// -1, 0 or 1: sums of up to 2^24 of them are exact in any order.
int trit(std::int64_t i) { return static_cast<int>((static_cast<std::uint64_t>(i) * 2654435761u >> 13) % 3) - 1; }

/// Sums of the rows and columns of 2^bits elements in C order, laid out as 2^k rows for every k: from the finest, by
/// adding neighbours (rows) and halves of rows (columns).
struct SweepSums {
  std::vector<std::vector<float>> rows, columns;  ///< by k
  explicit SweepSums(int bits, const std::vector<float>& elements) : rows(bits + 1), columns(bits + 1) {
    rows[bits] = columns[0] = elements;
    for (int k = bits; k-- > 0;) {
      for (std::size_t i = 0; i < rows[k + 1].size(); i += 2) rows[k].push_back(rows[k + 1][i] + rows[k + 1][i + 1]);
    }
    for (int k = 1; k <= bits; ++k) {
      const std::size_t half = columns[k - 1].size() / 2;
      for (std::size_t i = 0; i < half; ++i) columns[k].push_back(columns[k - 1][i] + columns[k - 1][i + half]);
    }
  }
};

/// Few long rows to many short ones: every layout gives every sum, against exact references.
TEST_P(ShapeCases, sums_of_every_layout_of_the_same_elements) {  // B12
  const int bits = on_gpu() ? 24 : 20;
  std::vector<float> elements;
  for (std::int64_t i = 0; i < std::int64_t{1} << bits; ++i) elements.push_back(static_cast<float>(trit(i)));
  const SweepSums want(bits, elements);
  const kl::Array<float> flat = kl::from_host(elements);
  for (int k = 0; k <= bits; ++k) {
    const std::int64_t rows = std::int64_t{1} << k, columns = std::int64_t{1} << (bits - k);
    const auto x = flat.reshape({rows, columns});
    EXPECT_EQ(kl::eval(kl::sum(x, 0)).to_host(), want.columns[k]) << "axis 0 of 2^" << k << " rows";
    EXPECT_EQ(kl::eval(kl::sum(x, 1)).to_host(), want.rows[k]) << "axis 1 of 2^" << k << " rows";
    const kl::Array<float> kept = kl::sum(x, 0, kl::keepdims), kept_rows = kl::sum(x, 1, kl::keepdims);
    EXPECT_EQ(kept.shape(), (kl::Shape{1, columns}));
    EXPECT_EQ(kept.to_host(), want.columns[k]) << "axis 0 of 2^" << k << " rows, keepdims";
    EXPECT_EQ(kept_rows.to_host(), want.rows[k]) << "axis 1 of 2^" << k << " rows, keepdims";
    EXPECT_EQ(kl::eval(kl::sum(x.t(), 0)).to_host(), want.rows[k]) << "transposed, 2^" << k << " rows";
    EXPECT_EQ(kl::eval(kl::sum(x.t(), 1)).to_host(), want.columns[k]) << "transposed, 2^" << k << " rows";
    for (const float sum : {kl::sum(x).item(), kl::sum(x, kl::keepdims).item(), kl::sum(x.t()).item()})
      EXPECT_EQ(sum, want.rows[0][0]) << "full sum of 2^" << k << " rows";
    if (HasFailure()) return;
  }
}

}  // namespace
