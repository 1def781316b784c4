// tests/device/take_test.cpp -- elements by index: every mode, axis and layout, fused with producers, consumers and
// reductions, against plain loops.
#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "tests/support/check.h"

namespace {

class Take : public OnEachDevice {};
KILN_ON_EACH_DEVICE(Take);

using Index = std::int64_t;

/// NumPy's rule for one index; -1: there is no element.
Index position(Index index, Index n, kl::OutOfRange mode) {
  switch (mode) {
    case kl::OutOfRange::clip:
      return index < 0 ? 0 : index >= n ? n - 1 : index;
    case kl::OutOfRange::wrap:
      return ((index % n) + n) % n;
    default:
      break;
  }
  if (index < 0) index += n;
  return index < 0 || index >= n ? -1 : index;
}

template <class T>
bool is_missing(const T& value) {
  if constexpr (reference::is_complex<T>) {
    return std::isnan(value.real()) && std::isnan(value.imag());
  } else if constexpr (reference::is_float<T>) {
    return std::isnan(static_cast<double>(reference::widen(value)));
  } else {
    return value == T(0);
  }
}

template <class T>
T value_at(Index i) {
  if constexpr (std::is_same_v<T, bool>) {
    return i % 3 != 0;
  } else if constexpr (reference::is_complex<T>) {
    return T(static_cast<typename T::value_type>(i % 97 + 1), static_cast<typename T::value_type>(-i % 89));
  } else {
    return static_cast<T>(static_cast<float>(i % 97 + 1));
  }
}

template <class T>
std::vector<T> counted(Index n) {
  std::vector<T> values;
  for (Index i = 0; i < n; ++i) values.push_back(value_at<T>(i));
  return values;
}

template <class T>
void expect_flat(Index n, const std::vector<Index>& indices, kl::OutOfRange mode) {
  const std::vector<T> x = counted<T>(n);
  const auto got = kl::eval(kl::take(kl::from_host(x, {n}), kl::from_host(indices), mode)).to_host();
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const Index at = position(indices[i], n, mode);
    const T value = got[i];
    if (at < 0) {
      EXPECT_TRUE(is_missing(value)) << kl::name_of(kl::dtype_of<T>) << ", index " << indices[i];
    } else {
      EXPECT_TRUE(value == x[static_cast<std::size_t>(at)]) << kl::name_of(kl::dtype_of<T>) << ", index " << indices[i];
    }
  }
}

TEST_P(Take, EveryDtypeAndMode) {
  const std::vector<Index> indices = {0,
                                      1,
                                      99,
                                      -1,
                                      -100,
                                      100,
                                      -101,
                                      57,
                                      1'000'000'007,
                                      -1'000'000'007,
                                      std::numeric_limits<Index>::min(),
                                      std::numeric_limits<Index>::max(),
                                      33,
                                      34};
  for (const kl::OutOfRange mode : {kl::OutOfRange::missing, kl::OutOfRange::clip, kl::OutOfRange::wrap}) {
    expect_flat<bool>(100, indices, mode);
    expect_flat<std::int8_t>(100, indices, mode);
    expect_flat<std::uint16_t>(100, indices, mode);
    expect_flat<std::int32_t>(100, indices, mode);
    expect_flat<std::uint64_t>(100, indices, mode);
    expect_flat<kl::half>(100, indices, mode);
    expect_flat<kl::bfloat16>(100, indices, mode);
    expect_flat<float>(100, indices, mode);
    expect_flat<double>(100, indices, mode);
    expect_flat<std::complex<float>>(100, indices, mode);
    expect_flat<std::complex<double>>(100, indices, mode);
  }
}

/// Indices of a type reach as far as the type does, and unsigned ones never count from the end.
template <class I>
void expect_index_type() {
  const std::vector<float> x = counted<float>(300);
  std::vector<I> indices;
  for (const Index i : {Index{0}, Index{5}, Index{127}, Index{255}, Index{299}, Index{300}, Index{-1}, Index{-128}})
    indices.push_back(static_cast<I>(i));
  indices.push_back(std::numeric_limits<I>::max());
  indices.push_back(std::numeric_limits<I>::min());
  const auto got = kl::eval(kl::take(kl::from_host(x), kl::from_host(indices), 0)).to_host();
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const bool huge = indices[i] > 0 && static_cast<std::uint64_t>(indices[i]) > 1'000'000;
    const Index at = huge ? -1 : position(static_cast<Index>(indices[i]), 300, kl::OutOfRange::missing);
    if (at < 0) {
      EXPECT_TRUE(std::isnan(got[i])) << static_cast<long long>(indices[i]);
    } else {
      EXPECT_EQ(got[i], x[static_cast<std::size_t>(at)]) << static_cast<long long>(indices[i]);
    }
  }
}

TEST_P(Take, EveryIndexType) {
  expect_index_type<std::int8_t>();
  expect_index_type<std::int16_t>();
  expect_index_type<std::int32_t>();
  expect_index_type<std::int64_t>();
  expect_index_type<std::uint8_t>();
  expect_index_type<std::uint16_t>();
  expect_index_type<std::uint32_t>();
  expect_index_type<std::uint64_t>();
}

TEST_P(Take, AnyAxisOfThree) {
  const Index shape[] = {5, 7, 9};
  const std::vector<float> x = counted<float>(5 * 7 * 9);
  const kl::Array<float> a = kl::from_host(x, {5, 7, 9});
  const std::vector<std::int32_t> ids = {3, -1, 0, 100, 2, -5};
  const kl::Array<std::int32_t> i = kl::from_host(ids, {2, 3});
  for (int axis = -3; axis < 3; ++axis) {
    const int k = axis < 0 ? axis + 3 : axis;
    const auto got = kl::eval(kl::take(a, i, axis));
    kl::Shape want;
    if (k == 0) want = {2, 3, 7, 9};
    if (k == 1) want = {5, 2, 3, 9};
    if (k == 2) want = {5, 7, 2, 3};
    ASSERT_EQ(got.shape(), want) << axis;
    const auto values = got.to_host();
    Index inner = 1, outer = 1;
    for (int j = 0; j < k; ++j) outer *= shape[j];
    for (int j = k + 1; j < 3; ++j) inner *= shape[j];
    for (Index o = 0; o < outer; ++o)
      for (Index m = 0; m < 6; ++m)
        for (Index n = 0; n < inner; ++n) {
          const float value = values[static_cast<std::size_t>((o * 6 + m) * inner + n)];
          const Index at = position(ids[static_cast<std::size_t>(m)], shape[k], kl::OutOfRange::missing);
          if (at < 0) {
            EXPECT_TRUE(std::isnan(value));
          } else {
            EXPECT_EQ(value, x[static_cast<std::size_t>((o * shape[k] + at) * inner + n)]) << axis;
          }
        }
  }
}

TEST_P(Take, SourcesOfAnyLayout) {
  const std::vector<float> x = counted<float>(12 * 20);
  const kl::Array<float> a = kl::from_host(x, {12, 20});
  const std::vector<Index> ids = {2, -1, 0, 1, 50, 1};
  const kl::Array<Index> i = kl::from_host(ids);
  const auto expect = [&](const char* what, auto view, int axis) {
    const std::vector<float> whole = kl::Array<float>(view).to_host();
    const auto got = kl::eval(kl::take(view, i, axis)).to_host();
    const Index rows = view.shape()[0], columns = view.shape()[1];
    const Index count = axis == 0 ? columns : rows;
    for (Index c = 0; c < count; ++c)
      for (Index m = 0; m < 6; ++m) {
        const Index at =
            position(ids[static_cast<std::size_t>(m)], axis == 0 ? rows : columns, kl::OutOfRange::missing);
        const float value = got[static_cast<std::size_t>(axis == 0 ? m * columns + c : c * 6 + m)];
        if (at < 0) {
          EXPECT_TRUE(std::isnan(value)) << what;
        } else {
          EXPECT_EQ(value, whole[static_cast<std::size_t>(axis == 0 ? at * columns + c : c * columns + at)]) << what;
        }
      }
  };
  for (const int axis : {0, 1}) {
    expect("whole", a(kl::all, kl::all), axis);
    expect("transposed", a.t(), axis);
    expect("reversed rows", a.flip(0), axis);
    expect("reversed columns", a.flip(1), axis);
    expect("every second", a(kl::range(1, 12, 2), kl::range(0, 20, 3)), axis);
    expect("broadcast", a(3, kl::all).broadcast_to({4, 20}), axis);
  }
}

TEST_P(Take, WithoutAxisNumbersElementsInCOrder) {
  const std::vector<float> x = counted<float>(6 * 5);
  const kl::Array<float> a = kl::from_host(x, {6, 5});
  const kl::Array<Index> i = kl::from_host<Index>({7, -1, 0, 29, 13, 30}, {3, 2});
  const auto got = kl::eval(kl::take(a, i));
  EXPECT_EQ(got.shape(), kl::Shape({3, 2}));
  const auto turned = kl::eval(kl::take(a.t(), i)).to_host();  // numbered as the view is: computed first
  const auto values = got.to_host();
  const Index ids[] = {7, 29, 0, 29, 13};
  for (std::size_t k = 0; k < 5; ++k) {
    EXPECT_EQ(values[k], x[static_cast<std::size_t>(ids[k])]);
    EXPECT_EQ(turned[k], x[static_cast<std::size_t>(ids[k] % 6 * 5 + ids[k] / 6)]);
  }
  EXPECT_TRUE(std::isnan(values[5]) && std::isnan(turned[5]));
}

TEST_P(Take, FusesIndicesConsumersAndOtherTakes) {
  const std::vector<float> x = counted<float>(1000);
  const kl::Array<float> a = kl::from_host(x);
  const kl::Array<std::int32_t> i = kl::arange<std::int32_t>(0, 500, 1);
  const kl::Array<std::int32_t> j = kl::from_host<std::int32_t>({499, 3, 77, 0});
  const auto e = 2.0f * kl::take(a, i * 2 + 1, 0) + kl::take(a, i, 0);
  EXPECT_EQ(kl::inspect(e).kernels.size(), 1u);
  const auto got = kl::eval(e).to_host();
  for (std::size_t k = 0; k < 500; ++k) EXPECT_EQ(got[k], 2 * x[2 * k + 1] + x[k]);
  const auto chain = kl::take(a, kl::take(i, j, 0) + 1, 0);
  EXPECT_EQ(kl::inspect(chain).kernels.size(), 1u);
  const auto two = kl::eval(chain).to_host();
  const std::size_t at[] = {500, 4, 78, 1};
  for (std::size_t k = 0; k < 4; ++k) EXPECT_EQ(two[k], x[at[k]]);
}

TEST_P(Take, SourcesThatAreExpressionsAreComputedFirst) {
  const std::vector<float> x = counted<float>(1000);
  const kl::Array<float> a = kl::from_host(x);
  const kl::Array<Index> i = kl::from_host<Index>({5, -2, 0});
  const auto e = kl::take(a * 2.0f, i, 0) + kl::take(kl::take(a, kl::arange<Index>(0, 1000), 0) + 1.0f, i, 0);
  const auto got = kl::eval(e).to_host();
  const std::size_t at[] = {5, 998, 0};
  for (std::size_t k = 0; k < 3; ++k) EXPECT_EQ(got[k], 2 * x[at[k]] + (x[at[k]] + 1));
  const kl::Array<float> m = a.reshape({10, 100});
  const auto sums = kl::eval(kl::take(kl::sum(m, 1), i, 0)).to_host();
  for (std::size_t k = 0; k < 3; ++k) {
    double want = 0;
    const std::size_t row = k == 0 ? 5 : k == 1 ? 8 : 0;
    for (std::size_t c = 0; c < 100; ++c) want += static_cast<double>(x[row * 100 + c]);
    EXPECT_EQ(static_cast<double>(sums[k]), want);  // small integers: exact
  }
  const std::string text = kl::inspect(kl::take(a * 2.0f, i, 0)).explain().c_str();
  EXPECT_NE(text.find("its elements are taken by index"), std::string::npos) << text;
}

TEST_P(Take, ReductionsOverTakenElementsAreOneKernel) {
  for (const Index width : {1, 3, 8, 64, 100}) {
    const Index table = 50, bags = 37, per_bag = 11;
    const std::vector<float> w = counted<float>(table * width);
    std::vector<std::int32_t> ids;
    for (Index k = 0; k < bags * per_bag; ++k)
      ids.push_back(static_cast<std::int32_t>((k * 7919) % table - (k % 2 ? table : 0)));
    const kl::Array<float> weights = kl::from_host(w, {table, width});
    const kl::Array<std::int32_t> bag = kl::from_host(ids, {bags, per_bag});
    const auto e = kl::sum(kl::take(weights, bag, 0), 1);
    EXPECT_EQ(kl::inspect(e).kernels.size(), 1u);
    const auto got = kl::eval(e);
    ASSERT_EQ(got.shape(), kl::Shape({bags, width}));
    const auto values = got.to_host();
    for (Index b = 0; b < bags; ++b)
      for (Index c = 0; c < width; ++c) {
        double want = 0;
        for (Index k = 0; k < per_bag; ++k) {
          const Index at = position(ids[static_cast<std::size_t>(b * per_bag + k)], table, kl::OutOfRange::missing);
          want += static_cast<double>(w[static_cast<std::size_t>(at * width + c)]);
        }
        EXPECT_EQ(static_cast<double>(values[static_cast<std::size_t>(b * width + c)]), want) << width;
      }
    const auto rows = kl::eval(kl::sum(kl::take(weights, bag, 0), -1)).to_host();  // along the elements of a row
    for (Index k = 0; k < bags * per_bag; ++k) {
      const Index at = position(ids[static_cast<std::size_t>(k)], table, kl::OutOfRange::missing);
      double want = 0;
      for (Index c = 0; c < width; ++c) want += static_cast<double>(w[static_cast<std::size_t>(at * width + c)]);
      EXPECT_EQ(static_cast<double>(rows[static_cast<std::size_t>(k)]), want) << width;
    }
  }
}

TEST_P(Take, RowsOfEveryWidthAndType) {
  const auto expect = [](auto zero, Index width) {
    using T = decltype(zero);
    const std::vector<T> w = counted<T>(40 * width);
    std::vector<Index> ids;
    for (Index k = 0; k < 200; ++k) ids.push_back((k * 31) % 45 - 3);
    const auto got = kl::eval(kl::take(kl::from_host(w, {40, width}), kl::from_host(ids), 0)).to_host();
    check::Reporter report("take of rows");
    for (std::size_t k = 0; k < ids.size(); ++k) {
      const Index at = position(ids[k], 40, kl::OutOfRange::missing);
      for (Index c = 0; c < width; ++c) {
        const T value = got[k * static_cast<std::size_t>(width) + static_cast<std::size_t>(c)];
        const bool fits = at < 0 ? is_missing(value) : value == w[static_cast<std::size_t>(at * width + c)];
        if (!fits) report.fail(check::text(ids[k]) + " column " + check::text(c) + ", width " + check::text(width));
      }
    }
  };
  for (const Index width : {1, 2, 5, 8, 24, 33, 64, 127, 128, 1000, 1024}) {
    expect(kl::bfloat16{}, width);
    expect(float{}, width);
    expect(std::complex<double>{}, width);
    expect(std::int8_t{}, width);
  }
}

TEST_P(Take, DestinationsMayOverlapTheSource) {
  std::vector<float> x = counted<float>(2000);
  kl::Array<float> a = kl::from_host(x);
  const kl::Array<Index> back = kl::arange<Index>(1999, -1, -1);
  a = kl::take(a, back, 0);
  const auto got = a.to_host();
  for (std::size_t k = 0; k < 2000; ++k) EXPECT_EQ(got[k], x[1999 - k]);
  kl::Array<Index> i = kl::from_host<Index>({1, 2, 3, 0});
  i = kl::take(i, i, 0);
  EXPECT_EQ(i.to_host(), (std::vector<Index>{2, 3, 0, 1}));
}

TEST_P(Take, AlongAnAxisWithTheIndicesOfTheSameRows) {
  const std::vector<float> x = counted<float>(6 * 50);
  const kl::Array<float> a = kl::from_host(x, {6, 50});
  const auto best = kl::eval(kl::take_along_axis(a, kl::argmax(a, 1, kl::keepdims), 1));
  ASSERT_EQ(best.shape(), kl::Shape({6, 1}));
  const auto most = kl::eval(kl::max(a, 1)).to_host();
  EXPECT_EQ(best.to_host(), most);
  const std::vector<Index> ids = {3, -1, 49, 50};
  const auto shared = kl::eval(kl::take_along_axis(a, kl::from_host(ids, {1, 4}), 1)).to_host();
  for (std::size_t r = 0; r < 6; ++r) {
    EXPECT_EQ(shared[r * 4], x[r * 50 + 3]);
    EXPECT_EQ(shared[r * 4 + 1], x[r * 50 + 49]);
    EXPECT_EQ(shared[r * 4 + 2], x[r * 50 + 49]);
    EXPECT_TRUE(std::isnan(shared[r * 4 + 3]));
  }
  const std::vector<Index> columns = {5, 0, 1};
  const auto down =
      kl::eval(kl::take_along_axis(a(kl::all, kl::range(0, 3)), kl::from_host(columns, {1, 3}), 0)).to_host();
  for (std::size_t c = 0; c < 3; ++c) EXPECT_EQ(down[c], x[static_cast<std::size_t>(columns[c]) * 50 + c]);
}

TEST_P(Take, InTracedFunctions) {
  const auto lookup = kl::jit([](auto table, auto ids, auto scale) { return scale * kl::take(table, ids, 0); });
  const auto first = kl::jit([](auto table, auto ids) { return kl::take(table, ids); });
  const std::vector<float> w = counted<float>(30 * 16);
  const kl::Array<float> table = kl::from_host(w, {30, 16});
  const kl::Array<std::int32_t> ids = kl::from_host<std::int32_t>({29, 0, -1, 13});
  const kl::Array<float> rows = lookup(table, ids, 2.0f);
  const auto got = rows.to_host();
  const std::size_t at[] = {29, 0, 29, 13};
  for (std::size_t k = 0; k < 4; ++k)
    for (std::size_t c = 0; c < 16; ++c) EXPECT_EQ(got[k * 16 + c], 2 * w[at[k] * 16 + c]);
  const kl::Array<float> flat = first(table, ids);
  EXPECT_EQ(flat.to_host(), (std::vector<float>{w[29], w[0], w[479], w[13]}));
}

TEST_P(Take, ViewsOfTakesAndNumbersAsIndices) {
  const std::vector<float> x = counted<float>(8 * 6);
  const kl::Array<float> a = kl::from_host(x, {8, 6});
  const kl::Array<Index> i = kl::from_host<Index>({7, 1, 2});
  const auto turned = kl::eval(kl::take(a, i, 0).t() + 0.0f).to_host();
  const auto flat = kl::eval(kl::take(a, i, 0).reshape({18}) * 1.0f).to_host();
  const auto back = kl::eval(kl::take(a, i, 0).flip(1)(1, kl::all)).to_host();
  const std::size_t rows[] = {7, 1, 2};
  for (std::size_t r = 0; r < 3; ++r)
    for (std::size_t c = 0; c < 6; ++c) {
      EXPECT_EQ(turned[c * 3 + r], x[rows[r] * 6 + c]);
      EXPECT_EQ(flat[r * 6 + c], x[rows[r] * 6 + c]);
      if (r == 1) {
        EXPECT_EQ(back[c], x[rows[r] * 6 + 5 - c]);
      }
    }
  const auto row = kl::eval(kl::take(a, -2, 0));
  ASSERT_EQ(row.shape(), kl::Shape({6}));
  for (std::size_t c = 0; c < 6; ++c) EXPECT_EQ(row.to_host()[c], x[6 * 6 + c]);
}

TEST_P(Take, RefusesWhatHasNoMeaning) {
  const kl::Array<float> a = kl::zeros<float>({3, 4});
  const kl::Array<Index> i = kl::zeros<Index>({2});
  EXPECT_THROW(kl::eval(kl::take(a, i, 2)), kl::ShapeError);
  EXPECT_THROW(kl::eval(kl::take(a, i, -3)), kl::ShapeError);
  EXPECT_THROW(kl::eval(kl::take(kl::zeros<float>({0, 4}), i, 0)), kl::ShapeError);
  EXPECT_THROW(kl::eval(kl::take_along_axis(a, i, 0)), kl::ShapeError);
  EXPECT_THROW(kl::eval(kl::take_along_axis(a, kl::zeros<Index>({2, 2}), 0)), kl::ShapeError);
  EXPECT_THROW(kl::eval(kl::take(kl::zeros<float>({1, 1, 1, 1, 1}), kl::zeros<Index>({1, 1, 1, 1, 1}), 0)),
               kl::ShapeError);
  EXPECT_EQ(kl::eval(kl::take(kl::zeros<float>({0, 4}), kl::zeros<Index>({0}), 0)).shape(), kl::Shape({0, 4}));
}

}  // namespace
