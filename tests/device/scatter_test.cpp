// tests/device/scatter_test.cpp -- updates by index: every dtype, layout and operation, dropped indices, repeated bits,
// and what is built on them, against plain loops in wider arithmetic.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/check.h"

namespace {

class Scatter : public OnEachDevice {};
KILN_ON_EACH_DEVICE(Scatter);

using Index = std::int64_t;

/// NumPy's number of an index on an axis of n places; -1: there is none.
Index position(Index index, Index n) {
  if (index < 0) index += n;
  return index < 0 || index >= n ? -1 : index;
}

std::vector<Index> spread_indices(Index count, Index bins) {
  std::vector<Index> indices;
  for (Index i = 0; i < count; ++i) indices.push_back((i * i * 31 + i * 7) % (bins + 3) - (i % 5 == 0 ? bins : 0));
  return indices;
}

template <class T>
T small_value(Index i) {
  if constexpr (reference::is_complex<T>) {
    return T(static_cast<typename T::value_type>(i % 7), static_cast<typename T::value_type>(i % 5 - 2));
  } else {
    return static_cast<T>(static_cast<float>(i % 7));
  }
}

/// Small integers: every order gives the same sums, which all types but the narrow ones hold exactly.
template <class T>
void expect_exact_sums(Index bins, Index count) {
  const std::vector<Index> indices = spread_indices(count, bins);
  std::vector<T> updates, start;
  for (Index i = 0; i < count; ++i) updates.push_back(small_value<T>(i));
  for (Index b = 0; b < bins; ++b) start.push_back(small_value<T>(b + 1));
  kl::Array<T> target = kl::from_host(start);
  kl::scatter_add(target, kl::from_host(indices), kl::from_host(updates));
  std::vector<std::complex<double>> want(static_cast<std::size_t>(bins));
  const auto wide = [](const T& v) {
    if constexpr (reference::is_complex<T>) {
      return std::complex<double>(static_cast<double>(v.real()), static_cast<double>(v.imag()));
    } else {
      return std::complex<double>(static_cast<double>(reference::widen(v)));
    }
  };
  for (std::size_t b = 0; b < want.size(); ++b) want[b] = wide(start[b]);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const Index at = position(indices[i], bins);
    if (at >= 0) want[static_cast<std::size_t>(at)] += wide(updates[i]);
  }
  const auto got = target.to_host();
  for (std::size_t b = 0; b < want.size(); ++b) {
    std::complex<double> expected = want[b];
    if constexpr (std::is_integral_v<T>) {  // wraps
      expected = static_cast<double>(static_cast<T>(static_cast<std::int64_t>(expected.real())));
    } else if constexpr (!reference::is_complex<T>) {
      expected = wide(static_cast<T>(static_cast<float>(expected.real())));
    }
    EXPECT_EQ(wide(got[b]), expected) << kl::name_of(kl::dtype_of<T>) << " bin " << b << " of " << bins;
  }
}

TEST_P(Scatter, EveryDtypeAddsAndDropsWhatIsOutOfRange) {
  for (const Index bins : {1, 5, 300, 20000}) {
    expect_exact_sums<std::int8_t>(bins, 1000);
    expect_exact_sums<std::uint8_t>(bins, 1000);
    expect_exact_sums<std::int16_t>(bins, 1000);
    expect_exact_sums<std::uint16_t>(bins, 1000);
    expect_exact_sums<std::int32_t>(bins, 40000);
    expect_exact_sums<std::uint32_t>(bins, 40000);
    expect_exact_sums<std::int64_t>(bins, 40000);
    expect_exact_sums<std::uint64_t>(bins, 40000);
    expect_exact_sums<float>(bins, 40000);
    expect_exact_sums<double>(bins, 40000);
    expect_exact_sums<std::complex<float>>(bins, 3000);
    expect_exact_sums<std::complex<double>>(bins, 3000);
  }
  expect_exact_sums<kl::half>(300, 3000);
  expect_exact_sums<kl::bfloat16>(300, 3000);
}

/// The gradient of an embedding against float64, and the same bits each time.
TEST_P(Scatter, GradientOfAnEmbedding) {
  for (const Index width : {1, 3, 64, 129}) {
    const Index rows = 700, count = 5000;
    std::vector<float> grad = values::random<float>(static_cast<std::size_t>(count * width), 17, 4);
    std::vector<std::int32_t> ids;
    for (Index i = 0; i < count; ++i) ids.push_back(static_cast<std::int32_t>(i % 3 == 0 ? 42 : (i * 7919) % rows));
    const kl::Array<float> updates = kl::from_host(grad, {count, width});
    const kl::Array<std::int32_t> at = kl::from_host(ids);
    kl::Array<float> table = kl::zeros<float>({rows, width});
    kl::scatter_add(table, at, updates, 0);
    const auto got = table.to_host();
    std::vector<double> want(got.size(), 0), magnitude(got.size(), 0);
    for (Index i = 0; i < count; ++i)
      for (Index c = 0; c < width; ++c) {
        const auto to = static_cast<std::size_t>(ids[static_cast<std::size_t>(i)] * width + c);
        const double value = static_cast<double>(grad[static_cast<std::size_t>(i * width + c)]);
        want[to] += value;
        magnitude[to] += std::fabs(value);
      }
    for (std::size_t k = 0; k < got.size(); ++k)
      EXPECT_NEAR(static_cast<double>(got[k]), want[k], magnitude[k] * 64 * 6e-8 + 1e-30) << width << " at " << k;
    kl::Array<float> again = kl::zeros<float>({rows, width});
    kl::scatter_add(again, at, updates, 0);
    EXPECT_EQ(std::memcmp(again.to_host().data(), got.data(), got.size() * sizeof(float)), 0) << width;
    kl::Array<float> any_order = kl::zeros<float>({rows, width});
    kl::scatter_add(any_order, at, updates, 0, kl::unordered);
    const auto close = any_order.to_host();
    for (std::size_t k = 0; k < got.size(); ++k)
      EXPECT_NEAR(static_cast<double>(close[k]), want[k], magnitude[k] * 4000 * 6e-8 + 1e-30) << width << " at " << k;
  }
}

TEST_P(Scatter, AllUpdatesOfOneBinAndLongRuns) {
  const Index count = 100000;
  const std::vector<float> x = values::random<float>(static_cast<std::size_t>(count), 5, 3);
  const kl::Array<float> updates = kl::from_host(x);
  for (const Index bins : {1, 2, 70000}) {
    kl::Array<float> target = kl::zeros<float>({bins});
    kl::scatter_add(target, kl::arange<Index>(0, count) * 0 + (bins - 1), updates);
    double want = 0, magnitude = 0;
    for (const float v : x) want += static_cast<double>(v), magnitude += std::fabs(static_cast<double>(v));
    const auto got = target.to_host();
    EXPECT_NEAR(static_cast<double>(got.back()), want, magnitude * 64 * 6e-8);
    for (std::size_t b = 0; b + 1 < got.size(); ++b) ASSERT_EQ(got[b], 0.0f);
  }
}

TEST_P(Scatter, AnyAxisAndLayout) {
  const std::vector<Index> ids = {2, 0, 2, -1, 9, 2};
  const kl::Array<Index> at = kl::from_host(ids, {2, 3});
  const auto expect = [&](const char* what, auto zero, int axis, auto make_view) {
    using T = decltype(zero);
    kl::Array<T> whole = kl::zeros<T>({8, 10, 12});
    auto target = make_view(whole);
    const kl::Shape shape = target.shape();
    Index outer = 1, inner = 1;
    for (int k = 0; k < axis; ++k) outer *= shape[static_cast<std::size_t>(k)];
    for (int k = axis + 1; k < 3; ++k) inner *= shape[static_cast<std::size_t>(k)];
    const Index bins = shape[static_cast<std::size_t>(axis)];
    std::vector<T> values;
    for (Index k = 0; k < outer * 6 * inner; ++k) values.push_back(static_cast<T>(static_cast<float>(k % 11)));
    kl::Shape updates = axis == 0   ? kl::Shape{2, 3, shape[1], shape[2]}
                        : axis == 1 ? kl::Shape{shape[0], 2, 3, shape[2]}
                                    : kl::Shape{shape[0], shape[1], 2, 3};
    kl::scatter_add(target, at, kl::from_host(values, updates), axis);
    std::vector<double> want(static_cast<std::size_t>(outer * bins * inner), 0);
    for (Index o = 0; o < outer; ++o)
      for (Index i = 0; i < 6; ++i)
        for (Index c = 0; c < inner; ++c) {
          const Index bin = position(ids[static_cast<std::size_t>(i)], bins);
          if (bin < 0) continue;
          want[static_cast<std::size_t>((o * bins + bin) * inner + c)] +=
              static_cast<double>(values[static_cast<std::size_t>((o * 6 + i) * inner + c)]);
        }
    const auto got = kl::Array<T>(target).to_host();
    for (std::size_t k = 0; k < want.size(); ++k)
      ASSERT_EQ(static_cast<double>(got[k]), want[k]) << what << " axis " << axis;
    double total = 0, all = 0;
    for (const double v : want) total += v;
    for (const T v : whole.to_host()) all += static_cast<double>(v);
    EXPECT_EQ(total, all) << what << ": nothing beside the view has changed";
  };
  for (const int axis : {0, 1, 2}) {
    const auto each = [&](auto zero) {
      expect("whole", zero, axis, [](auto& a) { return a(kl::all, kl::all, kl::all); });
      expect("transposed", zero, axis, [](auto& a) { return a.transpose({2, 0, 1}); });
      expect("strided", zero, axis,
             [](auto& a) { return a(kl::range(1, 8, 2), kl::range(kl::none, kl::none, -1), kl::range(0, 12, 3)); });
    };
    each(float{});
    each(std::int32_t{});
  }
}

TEST_P(Scatter, ExpressionsNumbersAndOverlap) {
  kl::Array<std::int64_t> counts = kl::zeros<std::int64_t>({10});
  const kl::Array<std::int32_t> i = kl::arange<std::int32_t>(0, 1000);
  kl::scatter_add(counts, i * 3 % 10, 2);
  kl::scatter_add(counts, i % 5, i * 0 + 1);
  const auto got = counts.to_host();
  for (std::size_t b = 0; b < 10; ++b) EXPECT_EQ(got[b], b < 5 ? 400 : 200);
  kl::Array<float> weights = kl::zeros<float>({4});
  kl::scatter_add(weights, i % 4, 0.5f);
  for (const float w : weights.to_host()) EXPECT_EQ(w, 125.0f);
  kl::Array<double> x = kl::arange<double>(0.0, 6.0);
  kl::scatter_add(x, kl::arange<Index>(5, -1, -1), x);  // reads all of x first
  EXPECT_EQ(x.to_host(), (std::vector<double>(6, 5.0)));
  kl::Array<std::int32_t> self = kl::from_host<std::int32_t>({1, 0, 3, 2});
  kl::scatter_add(self, self, self);
  EXPECT_EQ(self.to_host(), (std::vector<std::int32_t>{1, 1, 5, 5}));
  kl::Array<float> rows = kl::zeros<float>({3, 2});
  kl::scatter_add(rows, kl::from_host<Index>({0, 2, 0}), kl::from_host<float>({1.0f, 10.0f}), 0);  // broadcast
  EXPECT_EQ(rows.to_host(), (std::vector<float>{2, 20, 0, 0, 1, 10}));
}

TEST_P(Scatter, LargestAndSmallest) {
  const auto expect = [](auto zero) {
    using T = decltype(zero);
    std::vector<T> values;
    std::vector<Index> ids;
    for (Index k = 0; k < 3000; ++k) {
      values.push_back(static_cast<T>(static_cast<float>((k * 37) % 101)));
      ids.push_back((k * 13) % 17);
    }
    kl::Array<T> most = kl::zeros<T>({17}), least = kl::full<T>({17}, static_cast<T>(static_cast<float>(100)));
    kl::scatter_max(most, kl::from_host(ids), kl::from_host(values));
    kl::scatter_min(least, kl::from_host(ids), kl::from_host(values));
    const auto high = most.to_host(), low = least.to_host();
    for (Index b = 0; b < 17; ++b) {
      float top = 0, bottom = 100;
      for (std::size_t k = 0; k < ids.size(); ++k) {
        if (ids[k] != b) continue;
        top = std::max(top, static_cast<float>(values[k]));
        bottom = std::min(bottom, static_cast<float>(values[k]));
      }
      EXPECT_EQ(static_cast<float>(high[static_cast<std::size_t>(b)]), top) << kl::name_of(kl::dtype_of<T>);
      EXPECT_EQ(static_cast<float>(low[static_cast<std::size_t>(b)]), bottom) << kl::name_of(kl::dtype_of<T>);
    }
  };
  expect(float{});
  expect(double{});
  expect(kl::half{});
  expect(kl::bfloat16{});
  expect(std::int8_t{});
  expect(std::uint16_t{});
  expect(std::int32_t{});
  expect(std::int64_t{});
  expect(std::uint64_t{});
  kl::Array<float> x = kl::zeros<float>({2});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  kl::scatter_max(x, kl::from_host<Index>({0, 0, 1}), kl::from_host<float>({nan, 5.0f, -1.0f}));
  EXPECT_TRUE(std::isnan(x.to_host()[0]));
  EXPECT_EQ(x.to_host()[1], 0.0f);
}

/// numpy.histogram: half-open parts, the last one closed; what lies outside and NaN is not counted.
TEST_P(Scatter, Histograms) {
  const kl::Array<std::uint8_t> bytes = kl::cast<std::uint8_t>(kl::arange<std::int32_t>(0, 100000) * 7 % 256);
  const auto counts = kl::bincount(bytes, 256).to_host();
  std::vector<std::int64_t> want(256, 0);
  for (std::int32_t i = 0; i < 100000; ++i) ++want[static_cast<std::size_t>(i * 7 % 256)];
  EXPECT_EQ(counts, want);
  EXPECT_EQ(kl::bincount(kl::from_host<std::int32_t>({0, 1, 1, 5, -1, 3}), 4).to_host(),
            (std::vector<std::int64_t>{1, 2, 0, 1}));
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const kl::Array<float> edges =
      kl::from_host<float>({0, 0.25f, 0.5f, 1, 1.0000001f, -0.0001f, nan, inf, -inf, 0.999f});
  EXPECT_EQ(kl::histogram(edges, 4, 0, 1).to_host(), (std::vector<std::int64_t>{1, 1, 1, 2}));
  std::vector<float> x = values::random<float>(50000, 3, 2);
  const auto got = kl::histogram(kl::from_host(x), 1000, -2, 2).to_host();
  std::vector<std::int64_t> parts(1000, 0);
  const float step = (2.0f - -2.0f) / 1000.0f;
  const auto edge = [&](int i) { return std::fma(static_cast<float>(i), step, -2.0f); };
  for (const float v : x) {
    if (!(v >= -2 && v <= 2)) continue;
    int part = 999;
    while (part > 0 && v < edge(part)) --part;
    ++parts[static_cast<std::size_t>(part)];
  }
  EXPECT_EQ(got, parts);
  const auto doubles = kl::histogram(kl::from_host<double>({0.1, 0.2, 0.3, 0.7}), 10, 0, 1).to_host();
  std::int64_t total = 0;
  for (const std::int64_t n : doubles) total += n;
  EXPECT_EQ(total, 4);
}

// Rule: kl::histogram refuses ranges that have no parts; equal ends stand for half a unit on either side, as in NumPy.
TEST_P(Scatter, HistogramChecksItsRange) {
  const kl::Array<float> x = kl::from_host<float>({0.0f, 0.75f, 1.0f, 1.25f, 2.0f});
  EXPECT_THROW(kl::histogram(x, 0, 0, 1), kl::ShapeError);
  EXPECT_THROW(kl::histogram(x, -3, 0, 1), kl::ShapeError);
  EXPECT_THROW(kl::histogram(x, 4, 1, 0), kl::TypeError);
  EXPECT_THROW(kl::histogram(x, 4, 0, std::numeric_limits<double>::quiet_NaN()), kl::TypeError);
  EXPECT_THROW(kl::histogram(x, 4, 0, std::numeric_limits<double>::infinity()), kl::TypeError);
  try {
    kl::histogram(x, 4, 1, 0);
  } catch (const kl::TypeError& error) {
    EXPECT_NE(std::string(error.what()).find("scatter_test.cpp"), std::string::npos) << error.what();
  }
  EXPECT_EQ(kl::histogram(x, 2, 1, 1).to_host(), (std::vector<std::int64_t>{1, 2}));
}

// Rule: inspect tells what the call would run and changes nothing; for each way that updates take.
TEST_P(Scatter, InspectTellsWhatWouldRun) {
  const kl::Array<Index> at = kl::from_host<Index>({0, 1, 1, 5});
  kl::Array<float> target = kl::ones<float>({4});
  kl::Array<std::int32_t> counts = kl::zeros<std::int32_t>({4});
  const kl::Array<float> updates = kl::from_host<float>({1, 2, 3, 4});
  const auto sorted = kl::scatter_add.inspect(target, at, updates * 2.0f);
  EXPECT_TRUE(std::string(sorted.explain()).find("sorted by their index") != std::string::npos) << sorted.explain();
  EXPECT_GE(sorted.kernels.size(), on_gpu() ? 5u : 2u) << "keys, updates, and the sort of a GPU";
  for (const kl::KernelInfo& kernel : sorted.kernels) EXPECT_FALSE(kernel.source.empty());
  const auto exact = kl::scatter_max.inspect(counts, at, 7);
  EXPECT_FALSE(std::string(exact.explain()).empty());
  EXPECT_EQ(target.to_host(), (std::vector<float>{1, 1, 1, 1}));
  EXPECT_EQ(counts.to_host(), (std::vector<std::int32_t>{0, 0, 0, 0}));
  kl::Array<float> none;
  EXPECT_THROW(kl::scatter_add.inspect(none, at, updates), kl::ShapeError);
  EXPECT_THROW(kl::scatter_add.inspect(target, at, kl::zeros<float>({3})), kl::ShapeError);
}

// Rule: the same for a GPU that need not be there.
TEST_P(Scatter, InspectForAnArchitecture) {
  const kl::Array<Index> at = kl::from_host<Index>({0, 1, 1, 5});
  kl::Array<float> target = kl::ones<float>({4});
  kl::Array<std::int32_t> counts = kl::zeros<std::int32_t>({4});
  const kl::Array<float> updates = kl::from_host<float>({1, 2, 3, 4});
  try {
    const auto sorted = kl::scatter_add.inspect_for("sm_90", target, at, updates);
    EXPECT_GE(sorted.kernels.size(), 4u);
    bool joins = false;
    for (const kl::KernelInfo& kernel : sorted.kernels) {
      EXPECT_EQ(std::string(kernel.arch), "sm_90");
      joins = joins || kernel.source.contains("join");
    }
    EXPECT_TRUE(joins);
    const auto one = kl::scatter_add.inspect_for("sm_90", counts, at, 1);
    ASSERT_EQ(one.kernels.size(), 1u) << "integers join by atomics in one kernel";
    EXPECT_TRUE(one.kernels[0].source.contains("atomicAdd"));
    EXPECT_EQ(kl::scatter_add.inspect_for("sm_90", target, at, updates * 2.0f, 0, kl::unordered).kernels.size(), 1u);
    EXPECT_EQ(kl::scatter_add.inspect_for("sm_90", target, at, 2.0f).kernels.size(), 3u) << "zero, count, add";
  } catch (const kl::DeviceError& error) {
    GTEST_SKIP() << "no NVRTC here: " << error.what();
  }
  EXPECT_EQ(target.to_host(), (std::vector<float>{1, 1, 1, 1}));
}

TEST_P(Scatter, RefusesWhatHasNoMeaning) {
  kl::Array<float> target = kl::zeros<float>({4, 3}), none;
  const kl::Array<Index> at = kl::from_host<Index>({0, 1});
  EXPECT_THROW(kl::scatter_add(target, at, kl::zeros<float>({2, 4}), 0), kl::ShapeError);
  EXPECT_THROW(kl::scatter_add(target, at, kl::zeros<float>({2}), 2), kl::ShapeError);
  EXPECT_THROW(kl::scatter_add(none, at, 1.0f), kl::ShapeError);
  kl::scatter_add(target, kl::zeros<Index>({0}), 1.0f);
  for (const float v : target.to_host()) EXPECT_EQ(v, 0.0f);
}

}  // namespace
