// tests/device/tuning_test.cpp -- tuning changes no bit: every schedule that a kernel may get computes the same, and
// calls that are timed meanwhile compute what they always do.
#include <cstdint>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include <kiln/tuning.h>
#include "tests/support/devices.h"

namespace {

class Tuning : public OnEachDevice {};
KILN_ON_EACH_DEVICE(Tuning);

template <class T>
kl::Array<T> noise(const kl::Shape& shape, std::uint64_t seed = 3) {
  return kl::eval(kl::cast<T>(kl::random::normal<float>(shape, seed) * 3.0f));
}

template <class T>
std::vector<unsigned char> bits(const kl::Array<T>& array) {
  const auto values = array.to_host();
  std::vector<unsigned char> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <class... T>
std::vector<unsigned char> bits(const std::tuple<T...>& results) {
  std::vector<unsigned char> bytes;
  const auto append = [&](const std::vector<unsigned char>& more) {
    bytes.insert(bytes.end(), more.begin(), more.end());
  };
  std::apply([&](const auto&... each) { (append(bits(each)), ...); }, results);
  return bytes;
}

/// `make()` gives a compiled function whose plans are its own. Returns how many candidates were compared.
template <class Make, class... A>
int expect_same_bits(const std::string& name, Make make, const A&... arguments) {
  std::vector<unsigned char> expected;
  int candidates = 1;
  for (int number = 0; number < candidates; ++number) {
    const kl::tuning::ImposedCandidate imposed(number);
    const auto found = bits(make()(arguments...));
    if (number == 0) {
      candidates = std::max(1, kl::tuning::ImposedCandidate::candidates());
      expected = found;
    } else {
      EXPECT_TRUE(found == expected) << name << ", candidate " << number;
    }
  }
  return candidates;
}

#define COMPILED(...) [] { return kl::jit([id = 1] __VA_ARGS__); }

TEST_P(Tuning, ElementwiseCandidatesAgree) {
  int candidates = 0;
  const auto x = noise<float>({300007}), y = noise<float>({300007}, 4);
  const auto m = noise<float>({517, 1032}), n = noise<float>({1032, 517}, 5);
  const auto row = noise<float>({1032}, 6), column = noise<float>({517, 1}, 7);
  const auto h = noise<kl::bfloat16>({200001});
  const auto g = noise<kl::half>({200001}, 8);
  const auto d = noise<double>({100003});
  // Products beside sums: where a multiplication is fused with an addition must not depend on the schedule.
  candidates +=
      expect_same_bits("axpy", COMPILED((auto a, auto b, auto s) { return (void)id, a * s + b; }), x, y, 1.7f);
  candidates +=
      expect_same_bits("scalars", COMPILED((auto a, auto s, auto t) { return (void)id, a + s * t; }), x, 1.7f, 0.3f);
  candidates += expect_same_bits("products",
                                 COMPILED((auto a, auto b, auto s, auto t) { return (void)id, a * b + s * t - b * t; }),
                                 x, y, 1.7f, 0.3f);
  candidates += expect_same_bits(
      "polynomial", COMPILED((auto a) { return (void)id, ((a * 0.3f + 1.1f) * a - 0.7f) * a + a * a * 0.01f; }), x);
  candidates += expect_same_bits("numbers", COMPILED((auto a, auto b) { return (void)id, a * 0.3f + b * 0.7f; }), x, y);
  candidates += expect_same_bits("baked constants", COMPILED((auto a, auto b) {
                                   return (void)id, a * kl::lit(0.3f) + b * kl::lit(0.7f) - a / kl::lit(1e-6f);
                                 }),
                                 x, y);
  candidates += expect_same_bits("baked constants, rows and columns", COMPILED((auto a, auto r, auto c) {
                                   return (void)id, a * kl::lit(0.3f) + r * kl::lit(0.7f) - c * 0.1f;
                                 }),
                                 m, row, column);
  candidates += expect_same_bits("several results", COMPILED((auto a, auto b) {
                                   auto s = a * 0.3f + b * 0.7f;
                                   return (void)id, std::tuple(s, s * 1.1f - a, kl::cast<kl::half>(s));
                                 }),
                                 x, y);
  candidates += expect_same_bits("gelu bf16", COMPILED((auto a) { return (void)id, kl::gelu(a); }), h);
  candidates +=
      expect_same_bits("tanh f16", COMPILED((auto a, auto b) { return (void)id, kl::tanh(a) * b + a; }), g, g);
  candidates += expect_same_bits(
      "mixed f64", COMPILED((auto a) { return (void)id, kl::exp(a * 0.1) * a + kl::sin(a) * kl::cos(a); }), d);
  candidates += expect_same_bits(
      "row and column", COMPILED((auto a, auto r, auto c) { return (void)id, a + r * c - r * 0.5f; }), m, row, column);
  candidates += expect_same_bits("strided", COMPILED((auto a) { return (void)id, a * a - 0.1f * a; }),
                                 m(kl::all, kl::range(0, 1032, 2)));
  candidates += expect_same_bits("misaligned", COMPILED((auto a) { return (void)id, a * 1.1f + 0.3f; }),
                                 x(kl::range(1, kl::none)));
  candidates += expect_same_bits("transposed", COMPILED((auto a, auto b) { return (void)id, a * 0.7f + b.t(); }), m, n);
  candidates += expect_same_bits("stencil", COMPILED((auto v) {
                                   return (void)id, kl::shift(v, {0, 1}, kl::clamp) * 0.3f +
                                                        kl::shift(v, {1, 0}, kl::clamp) * 0.2f - 0.7f * v;
                                 }),
                                 m);
  candidates += expect_same_bits("short rows", COMPILED((auto a) { return (void)id, a * 2.5f + 1.0f; }),
                                 x(kl::range(0, 300000)).reshape({100000, 3}).t());
  if (on_gpu()) {
    EXPECT_GE(candidates, 60);
  } else {
    EXPECT_EQ(candidates, 17) << "the CPU has one schedule";
  }
}

template <class T>
int row_kernels(const std::vector<std::int64_t>& lengths) {
  int candidates = 0;
  for (const std::int64_t length : lengths) {
    const auto x = noise<T>({std::max<std::int64_t>(3, 400000 / length), length});
    const std::string name = "rows of " + std::to_string(length);
    candidates += expect_same_bits(name + " sum", COMPILED((auto v) { return (void)id, kl::sum(v, 1); }), x);
    candidates += expect_same_bits(name + " var", COMPILED((auto v) { return (void)id, kl::var(v, 1); }), x);
    candidates += expect_same_bits(name + " dot", COMPILED((auto v) { return (void)id, kl::sum(v * v + v, 1); }), x);
    candidates += expect_same_bits(name + " softmax", COMPILED((auto v) {
                                     auto e = kl::exp(v - kl::max(v, -1, kl::keepdims));
                                     return (void)id, e / kl::sum(e, -1, kl::keepdims);
                                   }),
                                   x);
    candidates += expect_same_bits(name + " rms norm", COMPILED((auto v, auto eps) {
                                     return (void)id,
                                            v * kl::rsqrt(kl::mean(v * v, -1, kl::keepdims) + eps) * eps + v * eps;
                                   }),
                                   x, 1e-5f);
    candidates += expect_same_bits(name + " cumsum", COMPILED((auto v) { return (void)id, kl::cumsum(v, 1); }), x);
  }
  return candidates;
}

TEST_P(Tuning, RowCandidatesAgree) {
  const int candidates =
      row_kernels<float>({24, 200, 1000, 4096, 20000, 100000}) + row_kernels<kl::bfloat16>({200, 4096, 100000});
  EXPECT_GE(candidates, on_gpu() ? 150 : 54);
}

TEST_P(Tuning, ColumnCandidatesAgree) {
  int candidates = 0;
  const std::vector<kl::Shape> shapes = {{100, 4000}, {3000, 260}, {100000, 24}, {20000, 40}};
  for (const kl::Shape& shape : shapes) {
    const auto x = noise<float>(shape);
    const std::string name = "columns of " + std::to_string(shape[0]);
    candidates += expect_same_bits(name + " sum", COMPILED((auto v) { return (void)id, kl::sum(v, 0); }), x);
    candidates += expect_same_bits(name + " var", COMPILED((auto v) { return (void)id, kl::var(v, 0); }), x);
    candidates += expect_same_bits(
        name + " norm", COMPILED((auto v) { return (void)id, (v - kl::mean(v, 0, kl::keepdims)) * 0.3f + v; }), x);
    candidates += expect_same_bits(name + " cumsum", COMPILED((auto v) { return (void)id, kl::cumsum(v, 0); }), x);
  }
  candidates +=
      expect_same_bits("full", COMPILED((auto v) { return (void)id, kl::sum(v * 0.3f + v); }), noise<float>({1 << 20}));
  EXPECT_GE(candidates, on_gpu() ? 60 : 17);
}

/// Rule: each call runs once, whatever is timed: in-place updates count every call.
TEST_P(Tuning, CallsThatAreTimedRunOnce) {
  constexpr int calls = 400;
  const std::int64_t n = on_gpu() ? std::int64_t{1} << 24 : std::int64_t{1} << 14;
  const kl::tuning::Afresh afresh;
  const auto increment = kl::jit([id = 1](auto v) { return (void)id, v + 1; });
  kl::Array<std::int32_t> x = kl::zeros<std::int32_t>({n});
  for (int call = 0; call < calls; ++call) {
    increment.into(x)(x);
    if (call % 16 == 0) kl::synchronize();
    if (call == 64) kl::tuning::finish_compiling();
  }
  EXPECT_EQ(kl::min(x).item(), calls);
  EXPECT_EQ(kl::max(x).item(), calls);
}

/// The same on two threads and two streams, with work that waits for itself in order.
TEST_P(Tuning, FloatingSumsStayTheSameWhileTheyAreTimed) {
  const std::int64_t rows = on_gpu() ? 8192 : 64;
  const auto x = noise<float>({rows, 1024});
  const kl::tuning::Afresh afresh;
  const auto total = kl::jit([id = 1](auto v) { return (void)id, kl::sum(v * 0.7f, 1); });
  const auto expected = bits(kl::Array<float>(total(x)));
  for (int call = 0; call < 300; ++call) {
    const kl::Array<float> y = total(x);
    if (call == 64) kl::tuning::finish_compiling();
    if (call % 8 == 0) {
      EXPECT_TRUE(bits(y) == expected) << "call " << call;
    }
  }
}

}  // namespace
