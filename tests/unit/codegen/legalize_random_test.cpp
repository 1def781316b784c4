// tests/unit/codegen/legalize_random_test.cpp -- Philox against its published vectors, uniform and normal numbers.
#include <algorithm>
#include <cmath>

#include "codegen/pass/lowering.h"
#include "interpreter.h"

namespace kiln::codegen::testing {
namespace {

using Words = std::array<std::uint32_t, 4>;

/// Philox4x32-10 written from the paper's recurrence.
Words philox(Words c, std::uint32_t k0, std::uint32_t k1) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xd2511f53} * c[0], p1 = std::uint64_t{0xcd9e8d57} * c[2];
    c = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<std::uint32_t>(p1),
         static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<std::uint32_t>(p0)};
    k0 += 0x9e3779b9;
    k1 += 0xbb67ae85;
  }
  return c;
}

Words lowered_philox(Words counter, std::uint32_t k0, std::uint32_t k1) {
  Graph graph;
  Builder b(graph);
  std::vector<Value> loads;
  std::array<NodeId, 6> in{};
  for (std::size_t i = 0; i < 6; ++i) {
    in[i] = graph.load(i, DType::u32);
    loads.push_back(to_value(i < 4 ? counter[i] : i == 4 ? k0 : k1));
  }
  const auto words = philox4x32_10(b, {in[0], in[1], in[2], in[3]}, in[4], in[5]);
  graph.outputs = {words[0], words[1], words[2], words[3]};
  const auto values = interpret(run_pipeline(graph, {}), loads);
  Words result{};
  for (std::size_t i = 0; i < 4; ++i) result[i] = from_value<std::uint32_t>(values[i]);
  return result;
}

TEST(Philox, GivesTheKnownAnswersOfRandom123) {
  constexpr std::uint32_t ones = 0xffffffffu;
  EXPECT_EQ(lowered_philox({0, 0, 0, 0}, 0, 0), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(lowered_philox({ones, ones, ones, ones}, ones, ones),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(lowered_philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0xa4093822, 0x299f31d0),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

Compiled generator(DType type, bool normal) {
  return Compiled({DType::u64, DType::u64}, [=](Graph& g, const std::vector<NodeId>& in) {
    return g.primitive(NodeKind::random, type, {in[0], in[1]}, normal ? 1 : 0);
  });
}

constexpr std::uint64_t key = 0x0123456789abcdefull;

Words block_of(std::uint64_t block) {
  return philox({static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32), 0, 0},
                static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32));
}

TEST(Uniform, FourFloatsShareABlockAndUseTheTop24Bits) {
  const Compiled uniform = generator(DType::f32, false);
  for (const std::uint64_t i : {0ull, 1ull, 2ull, 3ull, 4ull, 1001ull, (1ull << 40) + 7}) {
    const float expected = static_cast<float>(block_of(i / 4)[i % 4] >> 8) / 16777216.0f;
    EXPECT_EQ(uniform.call<float>(i, key), expected) << i;
  }
}

TEST(Uniform, TwoDoublesShareABlockAndUseTheTop53Bits) {
  const Compiled uniform = generator(DType::f64, false);
  for (const std::uint64_t i : {0ull, 1ull, 2ull, 3ull, (1ull << 40) + 7}) {
    const Words w = block_of(i / 2);
    const std::uint64_t word = w[2 * (i % 2)] | static_cast<std::uint64_t>(w[2 * (i % 2) + 1]) << 32;
    EXPECT_EQ(uniform.call<double>(i, key), std::ldexp(static_cast<double>(word >> 11), -53)) << i;
  }
}

/// Box-Muller by the C library on the same words.
long double box_muller(std::uint64_t radius_word, std::uint64_t angle_word, int width, bool sine) {
  const long double u = (radius_word + 0.5L) * std::ldexp(1.0L, -width);
  const std::uint64_t quadrant = angle_word >> (width - 2);
  const std::uint64_t place = angle_word & ((std::uint64_t{1} << (width - 2)) - 1);
  const long double turns = quadrant + place * std::ldexp(1.0L, 2 - width) - 0.5L;
  const long double angle = turns * 1.57079632679489661923L;
  return std::sqrt(-2 * std::log(u)) * (sine ? std::sin(angle) : std::cos(angle));
}

TEST(Normal, IsBoxMullerOfTheWords) {
  const Compiled single = generator(DType::f32, true), twice = generator(DType::f64, true);
  for (std::uint64_t i = 0; i < 4000; ++i) {
    const Words w4 = block_of(i / 4), w2 = block_of(i / 2);
    const std::size_t pair = 2 * ((i % 4) / 2);
    const long double expected = box_muller(w4[pair], w4[pair + 1], 32, i % 2 == 1);
    ASSERT_NEAR(single.call<float>(i, key), static_cast<double>(expected), 2e-6) << i;
    const std::uint64_t first = w2[0] | static_cast<std::uint64_t>(w2[1]) << 32,
                        second = w2[2] | static_cast<std::uint64_t>(w2[3]) << 32;
    ASSERT_NEAR(twice.call<double>(i, key), static_cast<double>(box_muller(first, second, 64, i % 2 == 1)), 1e-13) << i;
  }
}

TEST(Normal, HasTheMomentsAndTheDistribution) {
  const Compiled normal = generator(DType::f32, true);
  constexpr int count = 20000;
  std::vector<double> values;
  double sum = 0, squares = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    values.push_back(normal.call<float>(i, std::uint64_t{42}));
    sum += values.back();
    squares += values.back() * values.back();
  }
  EXPECT_NEAR(sum / count, 0, 4 / std::sqrt(count));
  EXPECT_NEAR(squares / count, 1, 4 * std::sqrt(2.0 / count));
  std::sort(values.begin(), values.end());
  double distance = 0;  // Kolmogorov-Smirnov
  for (int i = 0; i < count; ++i) {
    distance = std::max(distance, std::fabs(0.5 * std::erfc(-values[static_cast<std::size_t>(i)] / std::sqrt(2.0)) -
                                            (i + 0.5) / count));
  }
  EXPECT_LT(distance, 1.63 / std::sqrt(count));  // the 1 % point
}

TEST(Normal, ContractionChangesNoBit) {
  for (const DType type : {DType::f32, DType::f64}) {
    Compiled plain = generator(type, true), contracted = generator(type, true);
    contracted.options.contract = true;
    for (std::uint64_t i = 0; i < 500; ++i) {
      if (type == DType::f32) {
        ASSERT_TRUE(same(plain.call<float>(i, key), contracted.call<float>(i, key)));
      } else {
        ASSERT_TRUE(same(plain.call<double>(i, key), contracted.call<double>(i, key)));
      }
    }
  }
}

}  // namespace
}  // namespace kiln::codegen::testing
