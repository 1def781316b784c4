// tests/device/jit_test.cpp -- compiled functions: traced once per signature, captures, constants, destinations,
// nesting.
#include <cmath>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "tests/support/devices.h"

namespace {

class Jit : public OnEachDevice {};
KILN_ON_EACH_DEVICE(Jit);

using Floats = std::vector<float>;

TEST_P(Jit, runs_the_lambda_once_per_signature) {
  int traces = 0;
  const auto f = kl::jit([&traces](auto x, auto k) {
    ++traces;
    return x * k + 1;
  });
  kl::Array<float> x = kl::from_host(Floats{1, 2, 3, 4}), m = kl::from_host(Floats{1, 2, 3, 4}, {2, 2});
  EXPECT_EQ(f(x, 2.0f).to_host(), (Floats{3, 5, 7, 9}));
  EXPECT_EQ(f(x, 0.5f).to_host(), (Floats{1.5f, 2, 2.5f, 3}));
  EXPECT_EQ(f(x(kl::range(0, 2)), 3.0f).to_host(), (Floats{4, 7}));
  EXPECT_EQ(traces, 1) << "new values and new extents are not new signatures";
  EXPECT_EQ(f(m, 2.0f).shape(), (kl::Shape{2, 2}));
  EXPECT_EQ(traces, 2) << "another rank is";
  kl::Array<double> d = f(x.astype<double>(), 2.0f);
  EXPECT_EQ(d.to_host()[3], 9.0);
  EXPECT_EQ(traces, 3) << "another type is";
}

TEST_P(Jit, a_function_that_calls_itself_while_it_is_traced_says_so) {
  // The inner call has arrays, not traced values: it would wait for the trace that it is part of.
  using Recursive = std::function<kl::Array<float>(const kl::Array<float>&)>;
  Recursive again;
  kl::Array<float> x = kl::from_host(Floats{1, 2});
  const auto f = kl::jit("f", [&again, &x](auto v) {
    again(x);
    return v + v;
  });
  again = [&f](const kl::Array<float>& v) -> kl::Array<float> { return f(v); };
  try {
    f(x);
    FAIL() << "f is defined by itself";
  } catch (const kl::TypeError& error) {
    EXPECT_NE(std::string(error.what()).find("f calls itself while it is being traced"), std::string::npos)
        << error.what();
  }
  again = [](const kl::Array<float>& v) { return v; };
  EXPECT_EQ(f(x).to_host(), (Floats{2, 4})) << "the error leaves the function usable";
}

// What a lambda reads while it is traced would stay in the kernel: w below was 2 at the first call and is 3 at the
// second.
TEST_P(Jit, arrays_are_not_read_while_a_lambda_is_traced) {
  kl::Array<float> x = kl::from_host(Floats{1, 2}), w = kl::from_host(Floats{2});
  const auto by_item = kl::jit([&w](auto v) { return v * w.item(); });
  const auto by_vector = kl::jit([&w](auto v) { return v * w.to_host()[0]; });
  const auto by_sum = kl::jit([&w](auto v) { return v * kl::sum(w).item(); });
  const auto counts = kl::jit([&w](auto v) {
    w += 1;
    return v;
  });
  const auto expect = [](const char* what, auto call) {
    try {
      call();
      ADD_FAILURE() << what << " was not refused";
    } catch (const kl::TypeError& error) {
      const std::string text = error.what();
      EXPECT_NE(text.find(what), std::string::npos) << text;
      EXPECT_NE(text.find("give the array to the function as an argument"), std::string::npos) << text;
    }
  };
  expect("an array is read inside of a lambda that is being traced (jit_test.cpp:", [&] { by_item(x); });
  expect("an array is read inside of a lambda that is being traced (jit_test.cpp:", [&] { by_vector(x); });
  expect("an array is computed or written inside of a lambda", [&] { by_sum(x); });
  expect("an array is computed or written inside of a lambda", [&] { counts(x); });
  expect("an array is read", [&] { by_item.inspect(x); });
  EXPECT_EQ(w.to_host(), Floats{2}) << "nothing was written, and outside arrays are read as before";
  const auto by_argument = kl::jit([](auto v, auto factor) { return v * factor; });
  EXPECT_EQ(by_argument(x, w).to_host(), (Floats{2, 4}));
  w = 3;
  EXPECT_EQ(by_argument(x, w).to_host(), (Floats{3, 6}));
  EXPECT_EQ(by_argument(x, w.item()).to_host(), (Floats{3, 6}));
}

TEST_P(Jit, captures_are_constants_of_each_object) {
  kl::Array<float> x = kl::from_host(Floats{1, 2});
  const auto make = [](float scale) { return kl::jit([scale](auto v) { return v * scale; }); };
  const auto twice = make(2), thrice = make(3);
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(twice(x).to_host(), (Floats{2, 4}));
    EXPECT_EQ(thrice(x).to_host(), (Floats{3, 6}));
  }
}

TEST_P(Jit, constants_are_part_of_the_kernel) {
  kl::Array<float> x = kl::from_host(Floats{2, 3});
  const auto power = kl::jit([](auto v, kl::Const<int> n, auto offset) {
    auto r = v;
    for (int i = 1; i < n; ++i) r = r * v;
    return r + offset;
  });
  EXPECT_EQ(power(x, 2, 1).to_host(), (Floats{5, 10}));
  EXPECT_EQ(power(x, 3, 0).to_host(), (Floats{8, 27}));
  EXPECT_EQ(power(x, 2, 0.5).to_host(), (Floats{4.5f, 9.5f}));
  const auto scaled = kl::jit([](auto v, auto k) { return v * k; });
  EXPECT_EQ(scaled(x, kl::lit(4)).to_host(), (Floats{8, 12}));
  EXPECT_EQ(scaled(x, kl::lit(5)).to_host(), (Floats{10, 15}));
}

TEST_P(Jit, several_results_and_destinations) {
  kl::Array<float> x = kl::from_host(Floats{1, 2, 3});
  const auto f = kl::jit([](auto v) { return std::tuple(v + 1, kl::cast<std::int32_t>(v) * 2); });
  auto [a, b] = f(x);
  static_assert(std::is_same_v<decltype(b), kl::Array<std::int32_t>>);
  EXPECT_EQ(a.to_host(), (Floats{2, 3, 4}));
  EXPECT_EQ(b.to_host(), (std::vector<std::int32_t>{2, 4, 6}));
  kl::Array<double> wide({3});
  f.into(wide, b)(x * 10);
  EXPECT_EQ(wide.to_host(), (std::vector<double>{11, 21, 31}));
  const auto g = kl::jit([](auto v) { return v * v; });
  g.into(x)(x);  // in place
  EXPECT_EQ(x.to_host(), (Floats{1, 4, 9}));
  g.into(x(kl::range(1, 3)))(x(kl::range(0, 2)));  // overlapping
  EXPECT_EQ(x.to_host(), (Floats{1, 1, 16}));
  EXPECT_THROW(g.into(x)(wide(kl::range(0, 2))), kl::ShapeError);
}

TEST_P(Jit, launch_control_does_not_change_results) {
  kl::Array<float> x = kl::arange<float>(1000);
  const auto f = kl::jit([](auto v) { return kl::sqrt(v) + 1; });
  const Floats expected = f(x).to_host();
  EXPECT_EQ(f[{.block = 256}](x).to_host(), expected);
  EXPECT_EQ((f[{.grid = 1000, .block = 64}](x).to_host()), expected) << "a grid that covers the result";
  EXPECT_EQ((f[{.grid = 1, .block = 64}](x).to_host()), expected) << "one block takes all tiles in turn";
  for (const unsigned items : {1u, 2u, 6u, 16u}) EXPECT_EQ((f[{.block = 96, .items = items}](x).to_host()), expected);
  kl::Array<float> y({1000});
  f[{.block = 128}].into(y)(x);
  EXPECT_EQ(y.to_host(), expected);
}

TEST_P(Jit, a_sealed_function_takes_no_other_types) {
  const auto f = kl::jit("sealed_affine", [](auto x, auto k) { return x * k + 1; });
  f.compile<kl::Sig<float, 2>, float>({});
  kl::Array<float> x = kl::from_host(Floats{1, 2});
  EXPECT_EQ(f(x, 2.0f).to_host(), (Floats{3, 5}));
  f.seal();
  EXPECT_EQ(f(x, 3.0f).to_host(), (Floats{4, 7}));
  EXPECT_EQ(f(kl::zeros<float>({5}), 3.0f).size(), 5) << "other extents are no other types";
  EXPECT_EQ(f(kl::zeros<float>({2, 3}), 3.0f).size(), 6) << "compiled ahead";
  try {
    f(x.astype<double>(), 2.0f);
    FAIL() << "f64 was not compiled";
  } catch (const kl::TypeError& error) {
    const std::string text = error.what();
    for (const char* part : {"sealed_affine is sealed", "(f64[1d], f32)", "\n  (f32[2d], f32)", "\n  (f32[1d], f32)"})
      EXPECT_NE(text.find(part), std::string::npos) << part << " in: " << text;
  }
  const float bias = 2;
  const auto g = kl::jit([bias](auto v) { return v + bias; });
  const auto other = g;
  g(x);
  g.seal();
  EXPECT_THROW(g(x.astype<double>()), kl::TypeError);
  EXPECT_EQ(other(x.astype<double>()).to_host()[0], 3.0) << "an object with captures is sealed by itself";
}

TEST_P(Jit, expressions_and_functions_fuse) {
  kl::Array<float> x = kl::from_host(Floats{1, 2}), y = kl::from_host(Floats{10, 20});
  const auto square = kl::jit([](auto v, auto k) { return v * v * k; });
  EXPECT_EQ(square(x + y, 2).to_host(), (Floats{242, 968}));
  const auto outer = kl::jit([square](auto a, auto b, auto k) { return square(a, 0.5f) + square(b, k); });
  EXPECT_EQ(outer(x, y, 2).to_host(), (Floats{200.5f, 802}));
  const auto shared = kl::let(x + 1);
  EXPECT_EQ(square(shared * shared, 1).to_host(), (Floats{16, 81}));
  EXPECT_EQ(square(x, kl::scalar<double>(3)).to_host(), (std::vector<double>{3, 12})) << "a strong scalar promotes";
}

TEST_P(Jit, numbers_stay_weak_among_themselves) {
  kl::Array<float> x = kl::from_host(Floats{1});
  const auto f = kl::jit([](auto v, auto a, auto b) {
    auto c = a * b + 1;
    static_assert(c.dtype == kl::DType::f64, "double * int in C++");
    auto r = v * kl::exp(c);
    static_assert(r.dtype == kl::DType::f32, "a number takes the type of the array");
    return r;
  });
  EXPECT_FLOAT_EQ(f(x, 0.5, 2).item(), std::exp(2.0f));
}

/// f(x, 0, 1, ..., 2): numbers, then a constant.
template <class F, class X, std::size_t... I>
auto with_numbers(const F& f, const X& x, std::index_sequence<I...>) {
  return f(x, static_cast<float>(I)..., 2);
}

// Rule: a number that a kl::Const parameter cannot hold is refused, and not cut to what fits.
TEST_P(Jit, numbers_that_a_constant_parameter_cannot_hold_are_refused) {
  const kl::Array<int> x = kl::from_host(std::vector<int>{1, 2});
  const auto plus = kl::jit([](auto v, kl::Const<int> n) { return v + n; });
  const auto bytes = kl::jit([](auto v, kl::Const<std::uint8_t> n) { return v + n; });
  const auto expect_refused = [](auto call, const std::string& number, const std::string& type) {
    try {
      call();
      ADD_FAILURE() << number << " was taken for " << type;
    } catch (const kl::TypeError& error) {
      const std::string message = error.what();
      EXPECT_NE(message.find("the number " + number), std::string::npos) << message;
      EXPECT_NE(message.find("does not fit " + type), std::string::npos) << message;
    }
  };
  expect_refused([&] { plus(x, 3000000000LL); }, "3000000000", "i32");
  expect_refused([&] { plus(x, 2.5); }, "2.5", "i32");
  expect_refused([&] { bytes(x, 300); }, "300", "u8");
  expect_refused([&] { bytes(x, -1); }, "-1", "u8");
  expect_refused([&] { plus(x, kl::lit(2.5)); }, "2.5", "i32");
  expect_refused([&] { plus(x, kl::Const<long long>(3000000000LL)); }, "3000000000", "i32");
  expect_refused([&] { bytes(x, kl::lit(300)); }, "300", "u8");
  expect_refused([&] { bytes(x, kl::Const<int>(-1)); }, "-1", "u8");
  const auto adds_one = kl::jit([](auto v, kl::Const<bool> n) { return n ? v + 1 : v + 0; });
  expect_refused([&] { adds_one(x, 2); }, "2", "b1");
  expect_refused([&] { adds_one(x, kl::lit(0.5)); }, "0.5", "b1");
  EXPECT_EQ(adds_one(x, 1).to_host(), (std::vector<int>{2, 3}));
  EXPECT_EQ(bytes(x, kl::lit(7L)).to_host(), (std::vector<int>{8, 9}));
  EXPECT_EQ(plus(x, 2.0).to_host(), (std::vector<int>{3, 4})) << "a whole number fits";
  EXPECT_EQ(bytes(x, 255L).to_host(), (std::vector<int>{256, 257}));
}

// Rule: a constant or a run-time scalar made of another number has its value, or is refused.
TEST_P(Jit, constants_and_scalars_made_of_other_numbers) {
  static_assert(kl::Const<std::int8_t>(-128L).value == -128 &&
                kl::Const<std::uint64_t>(1e19).value == 10000000000000000000u);
  static_assert(kl::Const<float>(3).value == 3.0f && kl::Const<bool>(1).value && kl::Const<long>(true).value == 1);
  static_assert(kl::lit<std::int16_t>(300).value == 300 && kl::Const<double>(kl::lit(2)).value == 2.0);
  const auto refuses = [](auto make, auto number) {
    try {
      make(number);
      return false;
    } catch (const kl::TypeError&) {
      return true;
    }
  };
  const auto i8 = [](auto n) {
    kl::Const<std::int8_t> c = n;
    (void)c;
  };
  const auto u64 = [](auto n) {
    kl::Const<std::uint64_t> c = n;
    (void)c;
  };
  const auto i64 = [](auto n) { (void)kl::scalar<std::int64_t>(n); };
  EXPECT_TRUE(refuses(i8, 128) && refuses(i8, -129) && refuses(i8, 255u) && refuses(i8, 0.5) && refuses(i8, NAN));
  EXPECT_TRUE(refuses(u64, -1) && refuses(u64, -1L) && refuses(u64, 18446744073709551616.0) && refuses(u64, INFINITY));
  EXPECT_TRUE(refuses(i64, 9223372036854775808u) && refuses(i64, 9223372036854775808.0) && refuses(i64, -1e19f));
  EXPECT_FALSE(refuses(i8, -128) || refuses(i8, 127u) || refuses(u64, 1.0f) || refuses(i64, -9223372036854775808.0));
  const kl::Array<int> x = kl::from_host(std::vector<int>{1, 2});
  EXPECT_EQ(kl::eval(x + kl::scalar<std::int8_t>(100L)).to_host(), (std::vector<int>{101, 102}));
}

// Rule: a += b of a traced number is a = a + b, of its type.
TEST_P(Jit, traced_numbers_are_updated) {
  const kl::Array<float> x = kl::from_host(Floats{1, 2, 3, 4});
  const auto f = kl::jit([](auto v, auto s) {
    s *= 3;
    s -= 0.5f;
    auto n = v.size();
    n += 1;
    return v * s + n;
  });
  EXPECT_EQ(f(x, 2.5f).to_host(), (std::vector<float>{12, 19, 26, 33}));
}

// Rule: there may be many parameters, any of them kl::Const; those declared auto receive variables.
TEST_P(Jit, constants_stand_anywhere_among_many_numbers) {
  const kl::Array<float> x = kl::from_host(Floats{1, 2});
  const auto f = kl::jit([](auto v, auto a, auto b, auto c, auto d, auto e, auto g, auto h, auto i, auto j, auto k,
                            auto l, kl::Const<int> n) {
    static_assert(!std::is_convertible_v<decltype(l), float>, "a variable of the kernel");
    return (v + a + b + c + d + e + g + h + i + j + k + l) * n;
  });
  EXPECT_EQ(with_numbers(f, x, std::make_index_sequence<11>{}).to_host(), (Floats{112, 114}));
  const auto many = kl::jit([](auto v, auto... rest) { return (v + ... + rest); });
  EXPECT_EQ(with_numbers(many, x, std::make_index_sequence<150>{}).to_host(), (Floats{11178, 11179}));
}

TEST_P(Jit, views_and_indices_inside) {
  kl::Array<float> m = kl::from_host(Floats{1, 2, 3, 4, 5, 6}, {2, 3});
  const auto f = kl::jit([](auto x) {
    static_assert(x.dtype == kl::DType::f32);
    EXPECT_EQ(x.ndim(), 2);
    auto shifted = x(kl::all, kl::range(1, kl::none)) - x(kl::all, kl::range(kl::none, -1));
    shifted *= 10;
    return shifted.t() + kl::index(shifted.t(), 1) * kl::lit(0.5f);
  });
  const auto got = f(m);
  static_assert(std::is_same_v<decltype(got)::value_type, double>, "i64 * a float number is f64");
  EXPECT_EQ(got.shape(), (kl::Shape{2, 2}));
  EXPECT_EQ(got.to_host(), (std::vector<double>{10, 10.5, 10, 10.5}));
}

TEST_P(Jit, inspection_tells_what_was_made) {
  kl::Array<float> x = kl::from_host(Floats{1, 2});
  const auto f = kl::jit("scaled_exp", [](auto v, auto k) { return kl::exp(v * k); });
  const auto info = f.inspect(x, 2.0f);
  ASSERT_EQ(info.kernels.size(), 1u);
  EXPECT_TRUE(info.graph.contains("exp")) << info.graph;
  EXPECT_TRUE(info.dot.contains("digraph")) << info.dot;
  EXPECT_TRUE(info.explain().contains("1 kernel")) << info.explain();
  EXPECT_GT(info.kernels[0].source.size(), 100u);
  EXPECT_EQ(info.kernels[0].bytes_moved, 16);
  EXPECT_EQ(f(x, 0.0f).to_host(), (Floats{1, 1}));
}

}  // namespace
