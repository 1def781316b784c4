// tests/unit/codegen/legalize_cast_test.cpp -- conversions: saturation, single rounding, casts that stay.
#include <cmath>
#include <limits>
#include <random>

#include "interpreter.h"

namespace kiln::codegen::testing {
namespace {

template <class To, class From>
To saturated(From x) {
  if (std::isnan(x)) return 0;
  const long double whole = std::trunc(static_cast<long double>(x));
  if (whole <= static_cast<long double>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
  if (whole >= static_cast<long double>(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
  return static_cast<To>(whole);
}

template <class From>
std::vector<From> float_edges() {
  using limits = std::numeric_limits<From>;
  std::vector<From> values = {0,
                              From(-0.0),
                              From(0.5),
                              From(-0.99),
                              From(1.5),
                              From(-1.5),
                              limits::infinity(),
                              -limits::infinity(),
                              limits::quiet_NaN(),
                              limits::max(),
                              limits::lowest(),
                              limits::denorm_min()};
  for (const int bits : {7, 8, 15, 16, 31, 32, 63, 64}) {
    const From edge = std::ldexp(From(1), bits);
    for (const From x :
         {edge, std::nextafter(edge, From(0)), std::nextafter(edge, limits::infinity()), edge - 1, edge + 1}) {
      values.push_back(x);
      values.push_back(-x);
    }
  }
  return values;
}

template <class To, class From>
void check_saturation() {
  const Compiled compiled({dtype_of<From>},
                          [](Graph& g, const std::vector<NodeId>& in) { return g.user_cast(in[0], dtype_of<To>); });
  for (const From x : float_edges<From>()) {
    ASSERT_EQ(compiled.template call<To>(x), saturated<To>(x)) << x << " to " << name_of(dtype_of<To>);
    const Compiled folded({}, [&](Graph& g, const std::vector<NodeId>&) {
      return g.user_cast(g.literal_value(dtype_of<From>, x), dtype_of<To>);
    });
    ASSERT_EQ(folded.template call<To>(), saturated<To>(x)) << "literal " << x << " to " << name_of(dtype_of<To>);
  }
}

template <class From>
void check_saturation_to_all() {
  check_saturation<std::int8_t, From>();
  check_saturation<std::int16_t, From>();
  check_saturation<std::int32_t, From>();
  check_saturation<std::int64_t, From>();
  check_saturation<std::uint8_t, From>();
  check_saturation<std::uint16_t, From>();
  check_saturation<std::uint32_t, From>();
  check_saturation<std::uint64_t, From>();
}

TEST(Cast, FloatToIntegerSaturatesAndNanIsZero) {
  check_saturation_to_all<float>();
  check_saturation_to_all<double>();
}

TEST(Cast, ToBoolIsNotZero) {
  EXPECT_TRUE(convert<bool>(std::numeric_limits<float>::quiet_NaN()));
  EXPECT_TRUE(convert<bool>(1e-45f));
  EXPECT_FALSE(convert<bool>(-0.0));
  EXPECT_TRUE(convert<bool>(std::int16_t{256}));
  EXPECT_TRUE(convert<bool>(std::complex<float>(0, 2)));
  EXPECT_FALSE(convert<bool>(std::complex<double>(0, -0.0)));
}

TEST(Cast, IntegersKeepTheirLowBitsOrExtendBySign) {
  EXPECT_EQ(convert<std::int8_t>(std::int32_t{0x1ff}), -1);
  EXPECT_EQ(convert<std::uint64_t>(std::int8_t{-1}), ~std::uint64_t{0});
  EXPECT_EQ(convert<std::int64_t>(std::uint32_t{0xffffffffu}), 0xffffffffll);
  EXPECT_EQ(convert<std::int32_t>(true), 1);
  EXPECT_EQ(convert<float>(std::uint64_t{0xffffff8000000001u}), 0x1p64f);  // above the tie: rounds up
  EXPECT_EQ(convert<double>(std::int64_t{-9007199254740993}), -9007199254740992.0);
}

/// Independent rounding to nearest even: the closest of the type's values, by exact long double distances.
template <class Storage>
Storage nearest(long double x) {
  if (std::isnan(x)) return Storage(std::numeric_limits<float>::quiet_NaN());
  const bool negative = std::signbit(x);
  const long double magnitude = std::fabs(x);
  std::uint16_t low = 0;
  std::uint16_t high = sizeof(Storage) == 2 && std::is_same_v<Storage, half> ? 0x7c00 : 0x7f80;
  const auto value = [&](std::uint16_t bits) -> long double {
    const std::uint16_t infinity = std::is_same_v<Storage, half> ? 0x7c00 : 0x7f80;
    // IEEE 754: overflow is decided as if the exponent had no upper bound.
    if (bits == infinity) return std::is_same_v<Storage, half> ? 65536.0L : 0x1p128L;
    return float{Storage::from_bits(bits)};
  };
  while (high - low > 1) {
    const auto middle = static_cast<std::uint16_t>((low + high) / 2);
    (value(middle) <= magnitude ? low : high) = middle;
  }
  const long double below = magnitude - value(low), above = value(high) - magnitude;
  const std::uint16_t bits = below < above ? low : above < below ? high : (low & 1) ? high : low;
  return Storage::from_bits(static_cast<std::uint16_t>(bits | (negative ? 0x8000 : 0)));
}

template <class Storage, class From>
void check_single_rounding(const std::vector<From>& values) {
  const Compiled compiled(
      {dtype_of<From>}, [](Graph& g, const std::vector<NodeId>& in) { return g.user_cast(in[0], dtype_of<Storage>); });
  for (const From x : values) {
    const Storage got = compiled.template call<Storage>(x), want = nearest<Storage>(static_cast<long double>(x));
    if (x != x) {
      EXPECT_TRUE(std::isnan(float{got}));
      continue;
    }
    ASSERT_EQ(got.bits, want.bits) << +x << " to " << name_of(dtype_of<Storage>);
  }
}

/// Doubles just beside the ties of a storage type, where rounding twice goes wrong.
template <class Storage>
std::vector<double> beside_ties() {
  std::vector<double> values = float_edges<double>();
  const int last = std::is_same_v<Storage, half> ? 0x7bff : 0x7f7f;
  for (int bits = 0; bits <= last; bits += 37) {
    const double a = float{Storage::from_bits(static_cast<std::uint16_t>(bits))};
    const double b = bits == last ? (std::is_same_v<Storage, half> ? 65536.0 : 0x1p128)
                                  : double{float{Storage::from_bits(static_cast<std::uint16_t>(bits + 1))}};
    const double tie = a + (b - a) / 2;
    for (const double x :
         {tie, tie * (1 + 0x1p-40), tie * (1 - 0x1p-40), std::nextafter(tie, 0.0), std::nextafter(tie, b), a}) {
      values.push_back(x);
      values.push_back(-x);
    }
  }
  for (const double x : {65519.999999999, 65520.0, 65503.999999, 0x1.ffp127, 0x1.fefffffffffffp127, 0x1p-25,
                         0x1.0000000000001p-25, 0x1p-134, 0x1.0000000000001p-134, 1e-320}) {
    values.push_back(x);
  }
  return values;
}

TEST(Cast, DoubleToStorageTypesRoundsOnce) {
  check_single_rounding<half>(beside_ties<half>());
  check_single_rounding<bfloat16>(beside_ties<bfloat16>());
}

template <class Storage, class T>
void check_integers_round_once() {
  std::vector<T> values;
  constexpr int width = static_cast<int>(8 * sizeof(T));
  for (int bit = 0; bit < width; ++bit) {
    for (const std::uint64_t pattern :
         {0b100000001ull, 0b100000010ull, 0b110000001ull, 0b111111111ull, 0b100000011ull}) {
      const std::uint64_t x = pattern << bit;
      for (const std::uint64_t y : {x - 1, x, x + 1, ~x, 0 - x}) values.push_back(static_cast<T>(y));
    }
  }
  values.push_back(std::numeric_limits<T>::min());
  values.push_back(std::numeric_limits<T>::max());
  check_single_rounding<Storage>(values);
}

TEST(Cast, IntegersToStorageTypesRoundOnce) {
  check_integers_round_once<half, std::int8_t>();
  check_integers_round_once<half, std::uint16_t>();
  check_integers_round_once<half, std::int32_t>();
  check_integers_round_once<half, std::int64_t>();
  check_integers_round_once<half, std::uint64_t>();
  check_integers_round_once<bfloat16, std::int16_t>();
  check_integers_round_once<bfloat16, std::uint32_t>();
  check_integers_round_once<bfloat16, std::int32_t>();
  check_integers_round_once<bfloat16, std::int64_t>();
  check_integers_round_once<bfloat16, std::uint64_t>();
}

TEST(Cast, FoldedLiteralsRoundOnceToo) {
  for (const double x : beside_ties<half>()) {
    const Compiled folded({}, [&](Graph& g, const std::vector<NodeId>&) {
      return g.user_cast(g.literal_value(DType::f64, x), DType::f16);
    });
    ASSERT_TRUE(x != x || folded.call<half>().bits == nearest<half>(x).bits) << x;
  }
}

TEST(Widen, StorageTypesRoundOnlyAtStoresAndUserCasts) {
  // 2048 + 1 is no f16: rounding after the first addition would lose both ones.
  const Compiled sum({DType::f16, DType::f16}, [](Graph& g, const std::vector<NodeId>& in) {
    Builder b(g);
    return b.add(b.add(in[0], in[1]), in[1]);
  });
  EXPECT_EQ(float{sum.call<half>(half(2048), half(1))}, 2050.0f);
  const Compiled cast({DType::f16, DType::f16}, [](Graph& g, const std::vector<NodeId>& in) {
    Builder b(g);
    return b.add(g.user_cast(b.add(in[0], in[1]), DType::f16), in[1]);
  });
  EXPECT_EQ(float{cast.call<half>(half(2048), half(1))}, 2048.0f);
  // Storing into f32 rounds nothing; a user's cast still does.
  const Compiled wide({DType::bf16, DType::bf16}, [](Graph& g, const std::vector<NodeId>& in) {
    return g.cast(Builder(g).mul(in[0], in[1]), DType::f32);
  });
  EXPECT_EQ(wide.call<float>(bfloat16(1.0078125f), bfloat16(1.0078125f)), 1.0078125f * 1.0078125f);
  const Compiled narrow({DType::f32}, [](Graph& g, const std::vector<NodeId>& in) {
    return g.user_cast(g.user_cast(in[0], DType::f16), DType::f32);
  });
  EXPECT_EQ(narrow.call<float>(0.1f), float{half(0.1f)});
}

TEST(Widen, ACopyOfAStorageTypeKeepsEveryBit) {
  const Compiled copy({DType::f16}, [](Graph&, const std::vector<NodeId>& in) { return in[0]; });
  EXPECT_EQ(copy.body().size(), 1u) << to_text(copy.body());
}

TEST(Widen, ParametersAndLiteralsOfStorageTypesBecomeF32) {
  Graph graph;
  Builder b(graph);
  graph.outputs = {
      b.mul(b.add(graph.load(0, DType::bf16), graph.parameter(0, DType::bf16)), graph.literal_value(DType::bf16, 3.0))};
  EXPECT_EQ(to_text(run_pipeline(graph, {})),
            "%0 = bf16 load 0\n%1 = f32 cast %0\n%2 = f32 parameter 0\n%3 = f32 add %1, %2\n"
            "%4 = f32 literal 0x40400000 (3)\n%5 = f32 mul %3, %4\n%6 = bf16 cast %5\nreturn %6\n");
}

}  // namespace
}  // namespace kiln::codegen::testing
