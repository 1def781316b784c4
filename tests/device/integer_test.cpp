// tests/device/integer_test.cpp -- integer and bool operations on every width: exact, wrapping, total.
//
// References compute in 128 bits and reduce modulo 2^n.
#include "tests/support/check.h"

namespace {

using reference::Int;
using reference::wrap;

class Integer : public OnEachDevice {
 protected:
  template <class Body>
  static void every_integer(Body body) {
    body(std::int8_t{});
    body(std::int16_t{});
    body(std::int32_t{});
    body(std::int64_t{});
    body(std::uint8_t{});
    body(std::uint16_t{});
    body(std::uint32_t{});
    body(std::uint64_t{});
  }
};

TEST_P(Integer, arithmetic_wraps_in_its_own_type) {  // case A21
  every_integer([](auto zero) {
    using T = decltype(zero);
    const auto [a, b] = values::pairs<T>(400, 1);
    check::binary_exact(
        "+", a, b, [](const auto& x, const auto& y) { return x + y; },
        [](T x, T y) { return wrap<T>(Int(x) + Int(y)); });
    check::binary_exact(
        "-", a, b, [](const auto& x, const auto& y) { return x - y; },
        [](T x, T y) { return wrap<T>(Int(x) - Int(y)); });
    check::binary_exact(
        "*", a, b, [](const auto& x, const auto& y) { return x * y; },
        [](T x, T y) {
          return wrap<T>(
              static_cast<Int>(static_cast<unsigned __int128>(Int(x)) * static_cast<unsigned __int128>(Int(y))));
        });
    check::unary_exact("-", a, [](const auto& x) { return -x; }, [](T x) { return wrap<T>(-Int(x)); });
    check::unary_exact(
        "abs", a, [](const auto& x) { return kl::abs(x); }, [](T x) { return wrap<T>(x < 0 ? -Int(x) : Int(x)); });
    check::unary_exact(
        "sign", a, [](const auto& x) { return kl::sign(x); }, [](T x) { return T(x > 0   ? 1
                                                                                 : x < 0 ? -1
                                                                                         : 0); });
  });
}

TEST_P(Integer, division_is_total) {  // case A14: no trap, x/0 = 0, MIN/-1 = MIN
  every_integer([](auto zero) {
    using T = decltype(zero);
    const auto [a, b] = values::pairs<T>(400, 2);
    check::binary_exact(
        "/", a, b, [](const auto& x, const auto& y) { return x / y; },
        [](T x, T y) { return wrap<T>(reference::truncate_divide(x, y)); });
    check::binary_exact(
        "%", a, b, [](const auto& x, const auto& y) { return x % y; },
        [](T x, T y) { return wrap<T>(reference::truncate_modulo(x, y)); });
    check::binary_exact(
        "floor_divide", a, b, [](const auto& x, const auto& y) { return kl::floor_divide(x, y); },
        [](T x, T y) { return wrap<T>(reference::floor_divide(x, y)); });
    check::binary_exact(
        "remainder", a, b, [](const auto& x, const auto& y) { return kl::remainder(x, y); },
        [](T x, T y) { return wrap<T>(reference::remainder(x, y)); });
  });
}

TEST_P(Integer, division_by_run_time_and_baked_constants) {
  const std::vector<std::int32_t> v = values::mixed<std::int32_t>(300, 3);
  for (const int divisor : {0, 1, -1, 2, -2, 7, 10, 1000, std::numeric_limits<int>::min()}) {
    check::unary_exact(
        "x / run-time scalar", v, [&](const auto& x) { return x / divisor; },
        [&](std::int32_t x) { return wrap<std::int32_t>(reference::truncate_divide(x, divisor)); });
    check::unary_exact(
        "floor_divide(x, scalar)", v, [&](const auto& x) { return kl::floor_divide(x, divisor); },
        [&](std::int32_t x) { return wrap<std::int32_t>(reference::floor_divide(x, divisor)); });
  }
  check::unary_exact(
      "x / lit(0)", v, [](const auto& x) { return x / kl::lit(0); }, [](std::int32_t) { return std::int32_t(0); });
  check::unary_exact(
      "x / lit(-1)", v, [](const auto& x) { return x / kl::lit(-1); },
      [](std::int32_t x) { return wrap<std::int32_t>(-Int(x)); });
  check::unary_exact(
      "x % lit(-1)", v, [](const auto& x) { return x % kl::lit(-1); }, [](std::int32_t) { return std::int32_t(0); });
  check::unary_exact(
      "x / lit(7)", v, [](const auto& x) { return x / kl::lit(7); }, [](std::int32_t x) { return x / 7; });
}

TEST_P(Integer, shifts_are_defined_for_every_count) {
  every_integer([](auto zero) {
    using T = decltype(zero);
    std::vector<T> a, b;
    for (const T x : values::mixed<T>(40, 4)) {
      for (const int count : {-128, -1, 0, 1, 3, 7, 8, 15, 16, 31, 32, 63, 64, 100}) {
        if (Int(T(count)) != count) continue;
        a.push_back(x);
        b.push_back(T(count));
      }
    }
    check::binary_exact(
        "<<", a, b, [](const auto& x, const auto& y) { return x << y; },
        [](T x, T y) { return reference::shift_left(x, y); });
    check::binary_exact(
        ">>", a, b, [](const auto& x, const auto& y) { return x >> y; },
        [](T x, T y) { return reference::shift_right(x, y); });
  });
}

TEST_P(Integer, bitwise_and_bounds) {
  every_integer([](auto zero) {
    using T = decltype(zero);
    const auto [a, b] = values::pairs<T>(200, 5);
    check::binary_exact(
        "&", a, b, [](const auto& x, const auto& y) { return x & y; }, [](T x, T y) { return T(x & y); });
    check::binary_exact(
        "|", a, b, [](const auto& x, const auto& y) { return x | y; }, [](T x, T y) { return T(x | y); });
    check::binary_exact(
        "^", a, b, [](const auto& x, const auto& y) { return x ^ y; }, [](T x, T y) { return T(x ^ y); });
    check::unary_exact("~", a, [](const auto& x) { return ~x; }, [](T x) { return T(~x); });
    check::binary_exact(
        "maximum", a, b, [](const auto& x, const auto& y) { return kl::maximum(x, y); },
        [](T x, T y) { return x > y ? x : y; });
    check::binary_exact(
        "minimum", a, b, [](const auto& x, const auto& y) { return kl::minimum(x, y); },
        [](T x, T y) { return x < y ? x : y; });
    check::binary_exact(
        "fmax", a, b, [](const auto& x, const auto& y) { return kl::fmax(x, y); },
        [](T x, T y) { return x > y ? x : y; });
    check::unary_exact("relu", a, [](const auto& x) { return kl::relu(x); }, [](T x) { return x > 0 ? x : T(0); });
    check::unary_exact("floor", a, [](const auto& x) { return kl::floor(x); }, [](T x) { return x; });
    check::unary_exact("isnan", a, [](const auto& x) { return kl::isnan(x); }, [](T) { return false; });
    check::unary_exact("isfinite", a, [](const auto& x) { return kl::isfinite(x); }, [](T) { return true; });
  });
}

TEST_P(Integer, power_is_exact_and_wraps) {  // case A16
  every_integer([](auto zero) {
    using T = decltype(zero);
    std::vector<T> a, b;
    for (const T x : values::mixed<T>(30, 6)) {
      for (const int exponent : {0, 1, 2, 3, 5, 19, 63, 100, -1, -2, -3}) {
        if (Int(T(exponent)) != exponent) continue;
        a.push_back(x);
        b.push_back(T(exponent));
      }
    }
    check::binary_exact(
        "pow", a, b, [](const auto& x, const auto& y) { return kl::pow(x, y); },
        [](T x, T y) { return reference::integer_power(x, y); });
  });
  kl::Array<std::int64_t> x = kl::from_host(std::vector<std::int64_t>{123456789});
  EXPECT_EQ(kl::eval(kl::pow(x, 2)).to_host()[0], 15241578750190521);
  kl::Array<std::int32_t> y = kl::from_host(std::vector<std::int32_t>{117, 3});
  EXPECT_EQ(kl::eval(kl::pow(y, kl::Array<std::int32_t>(kl::from_host(std::vector<std::int32_t>{1, 19})))).to_host(),
            (std::vector<std::int32_t>{117, 1162261467}));
}

TEST_P(Integer, negative_bound_exponent_is_an_error) {  // case A16: NumPy refuses it too
  kl::Array<std::int32_t> x = kl::from_host(std::vector<std::int32_t>{2, 3});
  EXPECT_THROW(kl::eval(kl::pow(x, -1)), kl::Error);
}

TEST_P(Integer, known_wrapping_values) {  // case A21, worked by hand
  kl::Array<std::uint8_t> u = kl::from_host(std::vector<std::uint8_t>{200, 200});
  EXPECT_EQ(kl::eval(-kl::abs(u)).to_host(), (std::vector<std::uint8_t>{56, 56}));
  EXPECT_EQ(kl::eval((u + std::uint8_t(100)) / std::uint8_t(2)).to_host()[0], 22);  // (300 mod 256) / 2
  kl::Array<std::int16_t> s = kl::from_host(std::vector<std::int16_t>{300});
  EXPECT_EQ(kl::eval((s * s) >> std::int16_t(8)).to_host()[0], 95);  // 90000 mod 2^16 = 24464
}

template <class T, class U>
void mixed_comparisons() {
  const std::vector<T> some = values::special<T>();
  const std::vector<U> others = values::special<U>();
  std::vector<T> a;
  std::vector<U> b;
  for (const T x : some) {
    for (const U y : others) {
      a.push_back(x);
      b.push_back(y);
    }
  }
  check::binary_exact(
      "<", a, b, [](const auto& x, const auto& y) { return x < y; }, [](T x, U y) -> bool { return Int(x) < Int(y); });
  check::binary_exact(
      "<=", a, b, [](const auto& x, const auto& y) { return x <= y; },
      [](T x, U y) -> bool { return Int(x) <= Int(y); });
  check::binary_exact(
      ">", a, b, [](const auto& x, const auto& y) { return x > y; }, [](T x, U y) -> bool { return Int(x) > Int(y); });
  check::binary_exact(
      "==", a, b, [](const auto& x, const auto& y) { return x == y; },
      [](T x, U y) -> bool { return Int(x) == Int(y); });
  check::binary_exact(
      "!=", a, b, [](const auto& x, const auto& y) { return x != y; },
      [](T x, U y) -> bool { return Int(x) != Int(y); });
}

TEST_P(Integer, mixed_signedness_compares_exactly) {
  mixed_comparisons<std::int64_t, std::uint64_t>();
  mixed_comparisons<std::uint64_t, std::int8_t>();
  mixed_comparisons<std::int32_t, std::uint32_t>();
  mixed_comparisons<std::uint8_t, std::int8_t>();
  kl::Array<std::uint8_t> u = kl::from_host(std::vector<std::uint8_t>{0, 44, 255});
  EXPECT_EQ(kl::eval(u == 300).to_host(), (std::vector<bool>{false, false, false}));  // exact, not 300 mod 256
  EXPECT_EQ(kl::eval(u < -1).to_host(), (std::vector<bool>{false, false, false}));
}

TEST_P(Integer, bool_arithmetic_is_logic) {  // NumPy: + is or, * is and
  const std::vector<bool> a{false, false, true, true}, b{false, true, false, true};
  kl::Array<bool> x = kl::from_host(a), y = kl::from_host(b);
  EXPECT_EQ(kl::eval(x + y).to_host(), (std::vector<bool>{false, true, true, true}));
  EXPECT_EQ(kl::eval(x * y).to_host(), (std::vector<bool>{false, false, false, true}));
  EXPECT_EQ(kl::eval(x ^ y).to_host(), (std::vector<bool>{false, true, true, false}));
  EXPECT_EQ(kl::eval(~x).to_host(), (std::vector<bool>{true, true, false, false}));
  EXPECT_EQ(kl::eval(x && !y).to_host(), (std::vector<bool>{false, false, true, false}));
  EXPECT_EQ(kl::eval(kl::maximum(x, y)).to_host(), (std::vector<bool>{false, true, true, true}));
}

KILN_ON_EACH_DEVICE(Integer);

}  // namespace
