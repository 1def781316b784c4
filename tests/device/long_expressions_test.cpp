// tests/device/long_expressions_test.cpp -- expressions of a thousand and ten thousand operations, and of many
// operands, results, reductions and functions: right to the bit where arithmetic is exact, whatever is cut where.
#include <cmath>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "tests/support/devices.h"
#include "tests/support/long_expressions.h"

namespace {

class LongExpressions : public OnEachDevice {};
KILN_ON_EACH_DEVICE(LongExpressions);

template <class T>
std::vector<T> ramp(std::size_t n, T first, T step) {
  std::vector<T> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<T>(first + static_cast<T>(i) * step);
  return values;
}

/// Wrapping arithmetic of 32-bit integers, as plain C++ defines it for unsigned numbers.
struct Wrapping {
  std::uint32_t bits;
  friend Wrapping operator+(Wrapping a, Wrapping b) { return {a.bits + b.bits}; }
  friend Wrapping operator-(Wrapping a, Wrapping b) { return {a.bits - b.bits}; }
  friend Wrapping operator*(Wrapping a, Wrapping b) { return {a.bits * b.bits}; }
};

constexpr std::size_t count = 1003, operands = 4;

/// `build(values, number)` on integers of the device, against the same on unsigned numbers of the host.
template <class Build>
void expect_exact(Build build) {
  std::vector<std::vector<std::int32_t>> host;
  std::vector<kl::Array<std::int32_t>> x;
  for (std::size_t k = 0; k < operands; ++k) {
    host.push_back(
        ramp<std::int32_t>(count, static_cast<std::int32_t>(k) * 17 - 400, static_cast<std::int32_t>(k) + 1));
    x.push_back(kl::from_host(host.back()));
  }
  const auto f = kl::jit([build](auto a, auto b, auto c, auto d) {
    const std::vector values{a, b, c, d};
    return build(values, [](int i) { return kl::lit(i + 1); });
  });
  const std::vector<std::int32_t> got = f(x[0], x[1], x[2], x[3]).to_host();
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<Wrapping> values;
    for (const auto& operand : host) values.push_back({static_cast<std::uint32_t>(operand[i])});
    const Wrapping want = build(values, [](int k) { return Wrapping{static_cast<std::uint32_t>(k) + 1}; });
    ASSERT_EQ(static_cast<std::uint32_t>(got[i]), want.bits) << "element " << i;
  }
}

TEST_P(LongExpressions, chains_are_exact) {
  for (const int n : {1000, 10000})
    expect_exact([n](const auto& x, auto number) { return long_expressions::chain(x, n, number); });
}

TEST_P(LongExpressions, trees_are_exact) {
  for (const int n : {1000, 10000})
    expect_exact([n](const auto& x, auto number) { return long_expressions::tree(x, n, number); });
}

TEST_P(LongExpressions, values_that_are_shared_are_exact) {
  for (const int n : {1000, 10000})
    expect_exact([n](const auto& x, auto number) { return long_expressions::shared(x, n, number); });
}

/// Three times as many values wait as a thread has registers.
TEST_P(LongExpressions, values_that_wait_are_exact) {
  for (const int n : {999, 2400})
    expect_exact([n](const auto& x, auto number) { return long_expressions::waiting(x, n, number); });
}

/// Without contraction every operation rounds as on the host: cut or not, the bits are those of IEEE 754. And close to
/// what float64 gives.
TEST_P(LongExpressions, floats_round_as_written) {
  const auto build = [](const auto& x, auto number) {
    using V = std::decay_t<decltype(x[0])>;
    V y = x[0];
    for (int i = 0; i < 5000; ++i) y = (y + x[static_cast<std::size_t>(i) % 4]) * number(i);
    return y;
  };
  std::vector<std::vector<float>> host;
  std::vector<kl::Array<float>> x;
  for (std::size_t k = 0; k < operands; ++k) {
    host.push_back(ramp<float>(count, 0.5f + static_cast<float>(k), 0.001f));
    x.push_back(kl::from_host(host.back()));
  }
  const auto factor = [](int i) { return i % 2 ? 0.75f : 0.5f; };
  const auto f = kl::jit(
      [build, factor](auto a, auto b, auto c, auto d) {
        const std::vector values{a, b, c, d};
        return build(values, [factor](int i) { return kl::lit(factor(i)); });
      },
      kl::Options{.contract = false});
  const std::vector<float> got = f(x[0], x[1], x[2], x[3]).to_host();
  for (std::size_t i = 0; i < count; ++i) {
    const std::vector<float> single{host[0][i], host[1][i], host[2][i], host[3][i]};
    const std::vector<double> wide(single.begin(), single.end());
    ASSERT_EQ(got[i], build(single, factor)) << "element " << i;
    ASSERT_NEAR(got[i], build(wide, [factor](int k) { return static_cast<double>(factor(k)); }), 1e-5) << i;
  }
}

TEST_P(LongExpressions, a_thousand_sines) {
  const std::vector<float> host = ramp<float>(count, -3.0f, 0.01f);
  kl::Array<float> x = kl::from_host(host);
  const auto f = kl::jit([](auto v) {
    auto y = v;
    for (int i = 0; i < 1000; ++i) y = kl::sin(y) * kl::lit(0.5f) + v;
    return y;
  });
  const std::vector<float> got = f(x).to_host();
  for (std::size_t i = 0; i < count; ++i) {
    double y = host[i];
    for (int k = 0; k < 1000; ++k) y = std::sin(y) * 0.5 + host[i];
    ASSERT_NEAR(got[i], y, 2e-6 * std::max(1.0, std::abs(y))) << host[i];  // contracts by half: errors do not grow
  }
}

TEST_P(LongExpressions, two_hundred_sums_of_rows) {
  constexpr std::size_t rows = 6, columns = 500;
  const std::vector<float> host = ramp<float>(rows * columns, -1.0f, 0.001f);
  kl::Array<float> x = kl::from_host(host, {rows, columns});
  const auto f = kl::jit([](auto v) {
    auto y = v;
    for (int i = 0; i < 200; ++i) y = y + kl::sum(v * kl::lit(0.001f * static_cast<float>(i)), -1, kl::keepdims);
    return y;
  });
  const std::vector<float> got = f(x).to_host();
  for (std::size_t r = 0; r < rows; ++r) {
    double sum = 0;
    for (std::size_t c = 0; c < columns; ++c) sum += host[r * columns + c];
    double more = 0;
    for (int i = 0; i < 200; ++i) more += sum * static_cast<double>(0.001f * static_cast<float>(i));
    for (std::size_t c = 0; c < columns; ++c) {
      const double want = host[r * columns + c] + more;
      ASSERT_NEAR(got[r * columns + c], want, 2e-5 * std::abs(want) + 1e-3) << r << ' ' << c;
    }
  }
}

TEST_P(LongExpressions, softmax_of_a_long_expression) {
  constexpr std::size_t rows = 5, columns = 300;
  const std::vector<float> host = ramp<float>(rows * columns, -1.0f, 0.001f);
  kl::Array<float> x = kl::from_host(host, {rows, columns});
  const auto f = kl::jit([](auto v) {
    auto y = v;
    for (int i = 0; i < 700; ++i) y = y * kl::lit(0.5f) + v;
    auto e = kl::exp(y - kl::max(y, -1, kl::keepdims));
    return e / kl::sum(e, -1, kl::keepdims);
  });
  const std::vector<float> got = f(x).to_host();
  for (std::size_t r = 0; r < rows; ++r) {
    std::vector<double> e(columns);
    double total = 0;
    for (std::size_t c = 0; c < columns; ++c) total += e[c] = std::exp(2.0 * host[r * columns + c]);  // the limit of y
    for (std::size_t c = 0; c < columns; ++c) ASSERT_NEAR(got[r * columns + c], e[c] / total, 1e-7) << r << ' ' << c;
  }
}

TEST_P(LongExpressions, three_hundred_functions) {
  static const std::vector<std::string> texts = [] {
    std::vector<std::string> result;
    for (int i = 0; i < 300; ++i) result.push_back("return a + " + std::to_string(i) + ".f * b;");
    return result;
  }();
  kl::Array<float> x = kl::from_host(std::vector<float>{1, 2, 3}), y = kl::from_host(std::vector<float>{1, 0.5f, 2});
  const auto f = kl::jit([](auto a, auto b) {
    auto sum = a;
    for (int i = 0; i < 300; ++i) {
      const float factor = static_cast<float>(i);
      const auto add = kl::function<float(float, float)>("add", {"a", "b"}, texts[static_cast<std::size_t>(i)].c_str(),
                                                         [factor](float p, float q) { return p + factor * q; });
      sum = add(sum, b);
    }
    return sum;
  });
  const float total = 300 * 299 / 2;  // all sums are exact
  EXPECT_EQ(f(x, y).to_host(), (std::vector<float>{1 + total, 2 + total / 2, 3 + 2 * total}));
}

/// More operands than a word has bits, every third of them transposed, broadcast or strided, and as many results.
template <std::size_t... I>
void many_operands(std::index_sequence<I...>) {
  constexpr std::size_t n = sizeof...(I), rows = 7, columns = 5;
  std::vector<kl::Array<float>> memory;
  std::vector<kl::View<float>> x;
  std::vector<std::vector<float>> host;  // as the kernel sees them
  for (std::size_t k = 0; k < n; ++k) {
    const float base = static_cast<float>(k);
    std::vector<float> seen(rows * columns);
    if (k % 3 == 0) {
      memory.push_back(kl::from_host(ramp<float>(rows * columns, base, 1), {columns, rows}));
      x.push_back(memory.back().transpose({1, 0}));
      for (std::size_t i = 0; i < rows * columns; ++i)
        seen[i] = base + static_cast<float>(i % columns * rows + i / columns);
    } else if (k % 3 == 1) {
      memory.push_back(kl::from_host(ramp<float>(columns, base, 1)));
      x.push_back(memory.back().broadcast_to({rows, columns}));
      for (std::size_t i = 0; i < rows * columns; ++i) seen[i] = base + static_cast<float>(i % columns);
    } else {
      memory.push_back(kl::from_host(ramp<float>(2 * rows * columns, base, 1), {rows, 2 * columns}));
      x.push_back(memory.back()(kl::all, kl::range(0, kl::none, 2)));
      for (std::size_t i = 0; i < rows * columns; ++i)
        seen[i] = base + static_cast<float>(i / columns * 2 * columns + i % columns * 2);
    }
    host.push_back(seen);
  }
  const auto f = kl::jit([](auto... v) {
    const std::vector values{v...};
    auto sum = values[0];
    for (std::size_t k = 1; k < values.size(); ++k) sum = sum + values[k];
    return std::make_tuple((v + sum)...);
  });
  const auto results = f(x[I]...);
  std::vector<float> sum(rows * columns, 0);
  for (const auto& operand : host)
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += operand[i];  // integers below 2^24: exact
  const auto check = [&](std::size_t k, const kl::Array<float>& result) {
    std::vector<float> want = sum;
    for (std::size_t i = 0; i < want.size(); ++i) want[i] += host[k][i];
    EXPECT_EQ(result.to_host(), want) << "result " << k;
  };
  (check(I, std::get<I>(results)), ...);
}

TEST_P(LongExpressions, forty_operands_and_results) { many_operands(std::make_index_sequence<40>()); }

/// Updated in place by several kernels: no kernel may see what another one has replaced.
TEST_P(LongExpressions, results_in_place_are_complete) {
  const std::vector<std::int32_t> host = ramp<std::int32_t>(count, -5, 3);
  kl::Array<std::int32_t> x = kl::from_host(host), y = kl::from_host(host);
  const auto f = kl::jit([](auto a, auto b) {
    const std::vector values{a, b};
    const auto number = [](int i) { return kl::lit(i + 1); };
    return std::make_tuple(long_expressions::shared(values, 3000, number),
                           long_expressions::waiting(values, 1500, number));
  });
  f.into(x, y)(x, y);
  const std::vector<std::int32_t> first = x.to_host(), second = y.to_host();
  for (std::size_t i = 0; i < count; ++i) {
    const std::vector<Wrapping> values(2, Wrapping{static_cast<std::uint32_t>(host[i])});
    const auto number = [](int k) { return Wrapping{static_cast<std::uint32_t>(k) + 1}; };
    ASSERT_EQ(static_cast<std::uint32_t>(first[i]), long_expressions::shared(values, 3000, number).bits) << i;
    ASSERT_EQ(static_cast<std::uint32_t>(second[i]), long_expressions::waiting(values, 1500, number).bits) << i;
  }
}

TEST_P(LongExpressions, inspection_says_why_it_was_cut) {
  kl::Array<float> x({64});
  try {  // only a missing NVRTC excuses
    kl::jit([](auto v) { return v + 1; }).inspect_for("sm_90", x);
  } catch (const kl::Error& error) {
    GTEST_SKIP() << error.what();
  }
  const auto f = kl::jit([](auto v) {
    const std::vector values{v};
    return long_expressions::waiting(values, 3000, [](int i) { return kl::lit(static_cast<float>(i) + 0.5f); });
  });
  const kl::Inspection info = f.inspect_for("sm_90", x);
  ASSERT_GT(info.kernels.size(), 1u);
  const std::string text = info.explain();
  EXPECT_NE(text.find("registers would hold values that are still needed"), std::string::npos) << text.substr(0, 500);
  EXPECT_NE(text.find("bytes per element, are stored"), std::string::npos) << text.substr(0, 500);
  for (const kl::KernelInfo& kernel : info.kernels) EXPECT_LE(kernel.spills, 64) << kernel.name.c_str();
}

/// The second launch is a call like any other: nothing is traced, planned or compiled again.
TEST_P(LongExpressions, one_function_of_many_shapes) {
  int traces = 0;
  const auto f = kl::jit([&traces](auto v) {
    ++traces;
    const std::vector values{v, v + kl::lit(1.0f)};
    return long_expressions::chain(values, 1000, [](int) { return kl::lit(0.5f); });
  });
  for (std::int64_t n = 1; n < 300; n += 7) {
    kl::Array<float> x = kl::ones<float>({n});
    double want = 1;
    for (int i = 0; i < 1000; ++i) want = i % 2 ? want + 2 : want * 0.5;
    const std::vector<float> got = f(x).to_host();
    for (const float value : got) ASSERT_NEAR(value, want, 1e-5);
  }
  EXPECT_EQ(traces, 1);
}

}  // namespace
