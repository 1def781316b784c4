// tests/unit/dsl/long_rows_test.cpp -- kernels of rows too few and too long for one kernel, and reasons of splits.
#include <gtest/gtest.h>
#include <kiln/kiln.h>

#include <tuple>
#include <utility>

namespace kiln {
namespace {

/// A view of any size over a few bytes: inspecting touches no element.
template <class T = float>
View<T> large(const std::vector<std::int64_t>& shape) {
  static const Array<T> few({16});
  return view(const_cast<T*>(few.data()), Shape(shape), Device::cpu());
}

class LongRows : public testing::Test {
 protected:
  /// Only a missing NVRTC excuses.
  void SetUp() override {
    try {
      jit([](auto v) { return v + 1; }).inspect_for("sm_90", large({4}));
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }
  template <class F, class... X>
  void expect_kernels(std::size_t count, const F& function, const X&... x) {
    for (const char* arch : {"sm_80", "sm_90"}) {
      const Inspection info = function.inspect_for(arch, x...);
      EXPECT_EQ(info.kernels.size(), count) << arch << ": " << info.explain().c_str();
    }
  }
  const DeviceGuard guard{Device::cpu()};
};

const auto softmax = jit([](auto v) {
  auto e = exp(v - max(v, -1, keepdims));
  return e / sum(e, -1, keepdims);
});
const auto softmax_of_columns = jit([](auto v) {
  auto e = exp(v - max(v, 0, keepdims));
  return e / sum(e, 0, keepdims);
});

// Rule: a maximum and the sum of exponentials relative to it are one state, which blocks that share a row join: two
// kernels, and two reads.
TEST_F(LongRows, SoftmaxReadsThemTwice) {
  expect_kernels(2, softmax, large({64, 4194304}));
  expect_kernels(2, softmax, large({64, 1048575}));
  expect_kernels(2, softmax, large({1 << 26}));
  expect_kernels(2, softmax, large<bfloat16>({1 << 26}));
  expect_kernels(2, softmax, large<double>({16, 1 << 22}));
  const Inspection info = softmax.inspect_for("sm_90", large({64, 4194304}));
  constexpr std::int64_t once = std::int64_t{64} * 4194304 * 4;
  ASSERT_EQ(info.kernels.size(), 2u);
  EXPECT_EQ(info.kernels[0].bytes_moved, once + 64 * 2 * 4);
  EXPECT_EQ(info.kernels[1].bytes_moved, 2 * once + 64 * 2 * 4);
  EXPECT_GT(info.kernels[0].launch.grid[0] * info.kernels[0].launch.grid[1], 132u) << "blocks share the rows";
}

// Rule: the same of columns, and where a user joins the parts in another way.
TEST_F(LongRows, OneStateServesEveryUse) {
  expect_kernels(2, softmax_of_columns, large({262144, 256}));
  expect_kernels(2, jit([](auto v) {
                   const auto m = max(v, -1, keepdims);
                   return v - m - log(sum(exp(v - m), -1, keepdims));
                 }),
                 large({64, 4194304}));
  expect_kernels(1, jit([](auto v) {
                   const auto m = max(v);
                   return m + log(sum(exp(v - m)));
                 }),
                 large({1 << 26}));
  expect_kernels(1, jit([](auto v) {
                   const auto m = max(v, -1, keepdims);
                   return std::tuple(m, sum(exp(v - m), -1, keepdims));
                 }),
                 large({64, 4194304}));
}

// Rule: a maximum that another reduction needs as well is computed once, by a kernel of its own.
TEST_F(LongRows, AMaximumThatOthersNeedIsComputedFirst) {
  expect_kernels(2, jit([](auto v) {
                   const auto m = max(v, -1, keepdims);
                   const auto e = exp(v - m);
                   return sum(e * v, -1, keepdims) / sum(e, -1, keepdims) - m;
                 }),
                 large({64, 4194304}));
  expect_kernels(3, jit([](auto v) {
                   const auto m = max(v, -1, keepdims);
                   const auto e = exp(v - m);
                   return e / sum(e, -1, keepdims) * sum(e * v, -1, keepdims);
                 }),
                 large({64, 4194304}));
}

// Rule: few columns are one kernel where its idle multiprocessors lose less than launches and a second reading cost.
TEST_F(LongRows, SmallChainsOfColumnsAreOneKernel) {
  expect_kernels(1, softmax_of_columns, large({1024, 1024}));
  expect_kernels(1, softmax_of_columns, large({300, 40}));
  expect_kernels(2, softmax_of_columns, large({65536, 16}));  // one block would read 4 MB three times
}

// Rule: a reduction of what is computed from positions, or read from the caches, takes more than one block where it is
// long.
TEST_F(LongRows, ValuesWithoutMemoryFillTheCard) {
  const auto blocks = [](const Inspection& info) {
    return info.kernels[0].launch.grid[0] * info.kernels[0].launch.grid[1];
  };
  const auto area = jit([](auto v) {
    const auto t = cast<double>(index(v, 0)) * 1e-9;
    return sum(1 / (1 + t * t));
  });
  const Inspection pi = area.inspect_for("sm_90", large({1}).broadcast_to({1000000000}));
  ASSERT_EQ(pi.kernels.size(), 1u);
  EXPECT_GE(blocks(pi), 264u) << pi.explain().c_str();
  const auto total = jit([](auto v) { return sum(v, -1); });
  EXPECT_GE(blocks(total.inspect_for("sm_90", large({3, 1}).broadcast_to({3, 1 << 28}))), 264u);
}

template <std::size_t... I>
auto multiples(std::index_sequence<I...>) {
  return jit([](auto v) { return std::tuple(sum(v * float(I + 1), 1)...); });
}

// Rule: explain() says what kept results apart, and nothing else.
TEST_F(LongRows, SplitsOfResultsSayWhatKeptThemApart) {
  const auto notes = [](const auto& function, const auto&... x) {
    return std::string(function.inspect_for("sm_90", x...).explain().c_str());
  };
  const auto contains = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  const std::string many = notes(multiples(std::make_index_sequence<40>()), large({512, 1024}));
  EXPECT_TRUE(contains(many, "2 kernels for results: a kernel joins at most 32 reductions\n")) << many;
  const std::string axes = notes(jit([](auto v) { return std::tuple(sum(v), sum(v, 1)); }), large({512, 1024}));
  EXPECT_TRUE(contains(axes,
                       "2 kernels for results: results of different shapes, or reduced along different axes, do "
                       "not share a loop\n"))
      << axes;
  const std::string scans = notes(jit([](auto v) { return std::tuple(sum(v, 1), cumsum(v, 1)); }), large({512, 1024}));
  EXPECT_TRUE(contains(scans, "2 kernels for results: running reductions do not share a loop with others\n")) << scans;
  const std::string turned = notes(jit([](auto v, auto w) { return std::tuple(sum(v, 1), sum(w.t(), 1)); }),
                                   large({1024, 1024}), large({1024, 1024}));
  EXPECT_TRUE(contains(turned,
                       "2 kernels for results: the rows of one lie contiguous in memory, those of the other "
                       "lie across it\n"))
      << turned;
  const std::string beside = notes(jit([](auto v, auto w) { return std::tuple(sum(v, 1), w * 2.0f); }),
                                   large({512, 1024}), large<bfloat16>({512, 1024}));
  EXPECT_TRUE(contains(beside,
                       "2 kernels for results: a result per element shares the loop of a reduction only where "
                       "it has all its extents and reads an operand of it\n"))
      << beside;
  const std::string chains = notes(jit([](auto v, auto w) {
                                     const auto e = exp(v - max(v, -1, keepdims)), f = exp(w - max(w, -1, keepdims));
                                     return std::tuple(e / sum(e, -1, keepdims), f / sum(f, -1, keepdims));
                                   }),
                                   large({64, 524288}), large({64, 524288}));
  EXPECT_FALSE(contains(chains, "different shapes")) << chains;
}

}  // namespace
}  // namespace kiln
