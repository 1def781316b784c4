// tests/unit/codegen/legalize_integer_test.cpp -- integer and bool meanings of api.md section 8, against wide
// arithmetic.
#include <limits>
#include <vector>

#include "interpreter.h"

namespace kiln::codegen::testing {
namespace {

using Wide = __int128;

/// The rule of api.md section 8 in unbounded arithmetic; the caller wraps the result to the type.
Wide expected(Op op, Wide a, Wide b, int width, bool is_signed) {
  const Wide minimum = is_signed ? -(Wide{1} << (width - 1)) : 0;
  const bool overflows = is_signed && a == minimum && b == -1;
  switch (op) {
    case Op::add:
      return a + b;
    case Op::sub:
      return a - b;
    case Op::mul:
      return static_cast<Wide>(static_cast<unsigned __int128>(a) * static_cast<unsigned __int128>(b));
    case Op::div:
      return b == 0 ? 0 : overflows ? minimum : a / b;
    case Op::mod:
    case Op::fmod:
      return b == 0 ? 0 : a % b;
    case Op::floor_divide: {  // Python: round toward minus infinity
      if (b == 0) return 0;
      Wide quotient = a / b;
      if (quotient * b != a && (a < 0) != (b < 0)) --quotient;
      return quotient;
    }
    case Op::remainder: {
      if (b == 0) return 0;
      const Wide rest = a % b;
      return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    }
    case Op::shl:
      return b < 0 || b >= width ? 0 : static_cast<Wide>(static_cast<unsigned __int128>(a) << b);
    case Op::shr: {
      const int amount = b < 0 || b >= width ? width : static_cast<int>(b);
      return a >> amount;  // arithmetic on the exact value: sign fill, 0 for unsigned
    }
    case Op::minimum:
    case Op::fmin:
      return a < b ? a : b;
    case Op::maximum:
    case Op::fmax:
      return a > b ? a : b;
    default:
      ADD_FAILURE();
      return 0;
  }
}

template <class T>
T power(T base, T exponent) {
  using U = std::make_unsigned_t<T>;
  if (exponent < 0) return base == 1 ? T(1) : base == T(-1) ? (exponent % 2 != 0 ? T(-1) : T(1)) : T(0);
  U result = 1;
  // The order of every odd residue and the exponent at which even ones vanish divide 2^n: large exponents reduce.
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(exponent); ++i) {
    result = static_cast<U>(static_cast<std::uint64_t>(result) * static_cast<std::uint64_t>(static_cast<U>(base)));
  }
  return static_cast<T>(result);
}

constexpr Op binary_operations[] = {Op::add,     Op::sub,     Op::mul,          Op::div,       Op::mod,
                                    Op::fmod,    Op::shl,     Op::floor_divide, Op::remainder, Op::shr,
                                    Op::minimum, Op::maximum, Op::fmin,         Op::fmax};

template <class T>
void check_pairs(const std::vector<T>& values) {
  using U = std::make_unsigned_t<T>;
  for (const Op op : binary_operations) {
    const Compiled compiled(op, {dtype_of<T>, dtype_of<T>});
    for (const T a : values) {
      for (const T b : values) {
        const Wide exact = expected(op, a, b, static_cast<int>(8 * sizeof(T)), std::is_signed_v<T>);
        ASSERT_EQ(compiled.call<T>(a, b), static_cast<T>(static_cast<U>(exact)))
            << detail::op_info(op).name << " " << name_of(dtype_of<T>) << " " << +a << " " << +b;
      }
    }
  }
}

template <class T>
std::vector<T> every_value() {
  std::vector<T> values;
  for (int x = std::numeric_limits<T>::min(); x <= std::numeric_limits<T>::max(); ++x)
    values.push_back(static_cast<T>(x));
  return values;
}

template <class T>
std::vector<T> edge_values() {
  using limits = std::numeric_limits<T>;
  std::vector<T> values = {0, 1, 2, 3, 7, 8, 31, 32, 63, 64, 100, limits::min(), limits::max()};
  values.push_back(static_cast<T>(limits::max() - 1));
  values.push_back(static_cast<T>(limits::max() / 2 + 1));
  for (const int negative : {-1, -2, -3, -7, -33, -64}) values.push_back(static_cast<T>(negative));
  values.push_back(static_cast<T>(limits::min() + 1));
  return values;
}

TEST(LegalizeInteger, EveryPairOfBytes) {
  std::vector<std::int8_t> some_signed;  // all of one side would be 65,536 pairs for each of 14 operations
  for (int x = -128; x < 128; x += 3) some_signed.push_back(static_cast<std::int8_t>(x));
  for (const int x : {-128, -127, -1, 0, 1, 126, 127}) some_signed.push_back(static_cast<std::int8_t>(x));
  check_pairs<std::int8_t>(some_signed);
  std::vector<std::uint8_t> some_unsigned;
  for (int x = 0; x < 256; x += 3) some_unsigned.push_back(static_cast<std::uint8_t>(x));
  check_pairs<std::uint8_t>(some_unsigned);
}

TEST(LegalizeInteger, EdgesOfEveryWidth) {
  check_pairs<std::int16_t>(edge_values<std::int16_t>());
  check_pairs<std::int32_t>(edge_values<std::int32_t>());
  check_pairs<std::int64_t>(edge_values<std::int64_t>());
  check_pairs<std::uint16_t>(edge_values<std::uint16_t>());
  check_pairs<std::uint32_t>(edge_values<std::uint32_t>());
  check_pairs<std::uint64_t>(edge_values<std::uint64_t>());
}

/// The same rules when the right operand is a literal, where folding removes guards.
template <class T>
void check_literal_operand() {
  for (const Op op : binary_operations) {
    for (const T b : edge_values<T>()) {
      const Compiled compiled({dtype_of<T>}, [&](Graph& g, const std::vector<NodeId>& in) {
        return record(g, op, {in[0], g.literal(dtype_of<T>, static_cast<std::make_unsigned_t<T>>(b))});
      });
      for (const T a : edge_values<T>()) {
        const Wide exact = expected(op, a, b, static_cast<int>(8 * sizeof(T)), std::is_signed_v<T>);
        ASSERT_EQ(compiled.call<T>(a), static_cast<T>(static_cast<std::make_unsigned_t<T>>(exact)))
            << detail::op_info(op).name << " " << +a << " " << +b;
      }
    }
  }
}

TEST(LegalizeInteger, LiteralRightOperands) {
  check_literal_operand<std::int8_t>();
  check_literal_operand<std::uint8_t>();
  check_literal_operand<std::int32_t>();
  check_literal_operand<std::int64_t>();
  check_literal_operand<std::uint64_t>();
}

TEST(LegalizeInteger, LiteralDivisorsNeedNoGuard) {
  for (const Op op : {Op::div, Op::mod}) {
    const Compiled compiled({DType::i32}, [&](Graph& g, const std::vector<NodeId>& in) {
      return record(g, op, {in[0], g.literal_value(DType::i32, 7)});
    });
    EXPECT_EQ(compiled.body().size(), 3u) << to_text(compiled.body());
  }
  const Compiled shift({DType::i32}, [&](Graph& g, const std::vector<NodeId>& in) {
    return record(g, Op::shl, {in[0], g.literal_value(DType::i32, 7)});
  });
  EXPECT_EQ(shift.body().size(), 3u) << to_text(shift.body());
}

template <class T>
void check_powers(const std::vector<T>& bases, const std::vector<T>& exponents) {
  const Compiled compiled(Op::pow, {dtype_of<T>, dtype_of<T>});
  for (const T exponent : exponents) {
    const Compiled literal({dtype_of<T>}, [&](Graph& g, const std::vector<NodeId>& in) {
      return record(g, Op::pow, {in[0], g.literal(dtype_of<T>, static_cast<std::make_unsigned_t<T>>(exponent))});
    });
    for (const T base : bases) {
      ASSERT_EQ(compiled.call<T>(base, exponent), power(base, exponent)) << +base << " ** " << +exponent;
      ASSERT_EQ(literal.call<T>(base), power(base, exponent)) << +base << " ** literal " << +exponent;
    }
  }
}

TEST(LegalizeInteger, PowersWrapAndNegativeExponentsGiveZeroOrUnits) {
  check_powers<std::int8_t>(every_value<std::int8_t>(), {0, 1, 2, 3, 7, 8, 126, 127, -1, -2, -128});
  check_powers<std::uint8_t>(every_value<std::uint8_t>(), {0, 1, 2, 5, 200, 255});
  check_powers<std::int32_t>({0, 1, -1, 2, -3, 46341, std::numeric_limits<std::int32_t>::min()},
                             {0, 1, 2, 31, 33, -3, -4});
  check_powers<std::int64_t>({0, 1, -1, 3, -7, 3037000500, std::numeric_limits<std::int64_t>::min()},
                             {0, 1, 2, 40, 63, -5});
  check_powers<std::uint64_t>({0, 1, 3, 10, ~std::uint64_t{0}}, {0, 1, 19, 20, 64});
}

TEST(LegalizeInteger, PowersByAnExtendedExponentUnrollOnlyItsOwnBits) {
  const Compiled narrow(Op::pow, {DType::i64, DType::u8});
  EXPECT_LT(narrow.body().size(), 60u);
  EXPECT_EQ(narrow.call<std::int64_t>(std::int64_t{3}, std::uint8_t{39}), 4052555153018976267);
}

template <class S, class U>
void check_mixed_comparisons() {
  for (const Op op : {Op::eq, Op::ne, Op::lt, Op::le, Op::gt, Op::ge}) {
    const auto exact = [op](Wide a, Wide b) {
      return op == Op::eq   ? a == b
             : op == Op::ne ? a != b
             : op == Op::lt ? a < b
             : op == Op::le ? a <= b
             : op == Op::gt ? a > b
                            : a >= b;
    };
    const Compiled forward(op, {dtype_of<S>, dtype_of<U>}), backward(op, {dtype_of<U>, dtype_of<S>});
    for (const S s : edge_values<S>()) {
      for (const U u : edge_values<U>()) {
        ASSERT_EQ(forward.template call<bool>(s, u), exact(s, u)) << detail::op_info(op).name << +s << " " << +u;
        ASSERT_EQ(backward.template call<bool>(u, s), exact(u, s)) << detail::op_info(op).name << +u << " " << +s;
      }
    }
  }
}

TEST(LegalizeInteger, ComparisonsOfMixedSignednessAreExact) {
  check_mixed_comparisons<std::int64_t, std::uint64_t>();
  check_mixed_comparisons<std::int8_t, std::uint64_t>();
  check_mixed_comparisons<std::int32_t, std::uint32_t>();
  check_mixed_comparisons<std::int8_t, std::uint8_t>();
}

TEST(LegalizeInteger, UnaryOperationsWrap) {
  const Compiled neg(Op::neg, {DType::i8}), abs(Op::abs, {DType::i8}), sign(Op::sign, {DType::i8}),
      relu(Op::relu, {DType::i8});
  for (const std::int8_t x : every_value<std::int8_t>()) {
    EXPECT_EQ(neg.call<std::int8_t>(x), static_cast<std::int8_t>(-x));
    EXPECT_EQ(abs.call<std::int8_t>(x), static_cast<std::int8_t>(x < 0 ? -x : x));
    EXPECT_EQ(sign.call<std::int8_t>(x), (x > 0) - (x < 0));
    EXPECT_EQ(relu.call<std::int8_t>(x), x > 0 ? x : 0);
  }
  EXPECT_EQ(apply<std::uint32_t>(Op::neg, std::uint32_t{1}), 0xffffffffu);
  EXPECT_EQ(apply<std::uint8_t>(Op::sign, std::uint8_t{200}), 1);
  EXPECT_EQ(apply<std::int32_t>(Op::fma, std::int32_t{65536}, std::int32_t{65536}, std::int32_t{5}), 5);
  EXPECT_EQ(apply<std::int32_t>(Op::clip, std::int32_t{9}, std::int32_t{-2}, std::int32_t{4}), 4);
  EXPECT_EQ(apply<std::int32_t>(Op::floor, std::int32_t{-9}), -9);
  EXPECT_TRUE(apply<bool>(Op::isfinite, std::int32_t{1}));
  EXPECT_EQ(apply<double>(Op::true_divide, std::int32_t{1}, std::int32_t{0}), std::numeric_limits<double>::infinity());
}

TEST(LegalizeBool, ArithmeticAndComparisonsFollowNumPy) {
  for (const bool a : {false, true}) {
    for (const bool b : {false, true}) {
      EXPECT_EQ(apply<bool>(Op::add, a, b), a || b);
      EXPECT_EQ(apply<bool>(Op::mul, a, b), a && b);
      EXPECT_EQ(apply<bool>(Op::maximum, a, b), a || b);
      EXPECT_EQ(apply<bool>(Op::fmin, a, b), a && b);
      EXPECT_EQ(apply<bool>(Op::eq, a, b), a == b);
      EXPECT_EQ(apply<bool>(Op::ne, a, b), a != b);
      EXPECT_EQ(apply<bool>(Op::lt, a, b), a < b);
      EXPECT_EQ(apply<bool>(Op::le, a, b), a <= b);
      EXPECT_EQ(apply<bool>(Op::gt, a, b), a > b);
      EXPECT_EQ(apply<bool>(Op::ge, a, b), a >= b);
      EXPECT_EQ(apply<bool>(Op::bit_xor, a, b), a != b);
      EXPECT_TRUE(same(apply<double>(Op::true_divide, a, b), double(a) / double(b)));
    }
  }
}

TEST(LegalizeBool, LogicTakesEveryNonZeroAsTrue) {
  EXPECT_TRUE(apply<bool>(Op::logical_and, std::int8_t{-1}, std::int8_t{2}));
  EXPECT_FALSE(apply<bool>(Op::logical_and, std::int8_t{-1}, std::int8_t{0}));
  EXPECT_TRUE(apply<bool>(Op::logical_or, std::int8_t{0}, std::int8_t{2}));
  EXPECT_TRUE(apply<bool>(Op::logical_not, std::uint64_t{0}));
  EXPECT_TRUE(apply<bool>(Op::logical_and, std::numeric_limits<float>::quiet_NaN(), 1.0f));
  EXPECT_FALSE(apply<bool>(Op::logical_not, std::numeric_limits<double>::quiet_NaN()));
  EXPECT_TRUE(apply<bool>(Op::logical_not, -0.0));
}

}  // namespace
}  // namespace kiln::codegen::testing
