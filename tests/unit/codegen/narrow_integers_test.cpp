// tests/unit/codegen/narrow_integers_test.cpp -- narrowed bodies against plain 64-bit C++ on the ranges they assume.
#include <algorithm>
#include <limits>
#include <random>

#include "tests/unit/codegen/interpreter.h"

namespace kiln::codegen::testing {
namespace {

using Integer = std::int64_t;
constexpr Integer large = (Integer{1} << 31) - (Integer{1} << 18);
constexpr Integer any_low = std::numeric_limits<Integer>::min(), any_high = std::numeric_limits<Integer>::max();

/// A body over iota 0 with bounds, and over other accesses (loads).
class Body {
 public:
  using Build = std::function<NodeId(Graph&, NodeId)>;
  Body(IotaRange range, const Build& build) : range_(range) {
    Graph graph;
    graph.outputs = {build(graph, graph.iota(0))};
    PassOptions options;
    plain_ = run_pipeline(graph, options);
    options.iotas = {range};
    narrowed_ = run_pipeline(graph, options);
    verify_legal(narrowed_);
  }

  std::string text() const { return to_text(narrowed_); }
  const Graph& narrowed() const { return narrowed_; }

  void check(Integer i, std::vector<Value> loads = {}) const {
    loads.insert(loads.begin(), to_value(i));
    const Value expected = interpret(plain_, loads)[0], actual = interpret(narrowed_, loads)[0];
    ASSERT_EQ(actual.type, expected.type);
    ASSERT_EQ(actual.bits, expected.bits) << "iota " << i << "\n" << text();
  }

  /// All of a small range; of a large one its ends, values around 0 and random ones.
  void check_range() const {
    std::mt19937_64 random(1);
    const bool is_small = static_cast<std::uint64_t>(range_.high) - static_cast<std::uint64_t>(range_.low) < 5000;
    if (is_small) {
      for (Integer i = range_.low; i <= range_.high; ++i) check(i);
      return;
    }
    for (Integer near = 0; near < 4; ++near) {
      check(range_.low + near);
      check(range_.high - near);
      if (range_.low <= -near) check(-near);
      if (near <= range_.high) check(near);
    }
    std::uniform_int_distribution<Integer> values(range_.low, range_.high);
    for (int n = 0; n < 8; ++n) check(values(random));
  }

 private:
  IotaRange range_;
  Graph plain_, narrowed_;
};

const IotaRange ranges[] = {
    {0, 40},
    {-40, 40},
    {-40, -1},
    {0, Integer{1} << 24},
    {-(Integer{1} << 24), Integer{1} << 24},
    {0, large},
    {-large, large},
    {0, (Integer{1} << 32) - 1},
    {any_low, any_high},
};

NodeId number(Graph& g, Integer value) { return g.literal(DType::i64, static_cast<std::uint64_t>(value)); }

bool has_wide_operation(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [](const Node& node) {
    return node.kind == NodeKind::operation && is_integer(node.type) && size_of(node.type) == 8;
  });
}

bool has_operation(const Graph& graph, Op op, DType type) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [&](const Node& node) {
    return node.kind == NodeKind::operation && node.op == op && node.type == type;
  });
}

// passes.h, narrow_integers: every value stays what it was, for every operation, literal and range.
TEST(NarrowIntegers, BinaryOperationsWithLiterals) {
  const Integer literals[] = {0,        1, -1, 2, 3, -3, 7, 255, 1000, 1 << 16, 2147483647, -2147483648ll, 4294967295ll,
                              1ll << 40};
  for (const Op op : {Op::add, Op::sub, Op::mul, Op::div, Op::mod, Op::floor_divide, Op::remainder, Op::minimum,
                      Op::maximum, Op::bit_and, Op::bit_or, Op::bit_xor, Op::shl, Op::shr}) {
    for (const Integer value : literals) {
      for (const IotaRange& range : ranges) {
        for (const bool swapped : {false, true}) {
          SCOPED_TRACE(::testing::Message() << static_cast<int>(op) << " literal " << value << " range " << range.low);
          const Body body(range, [&](Graph& g, NodeId i) {
            const NodeId c = number(g, value);
            const NodeId result = record(g, op, swapped ? std::vector{c, i} : std::vector{i, c});
            return g.cast(result, DType::f64);  // a user that takes 32 bits
          });
          body.check_range();
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

// The same through comparisons and selects, and for operands that are functions of the index on both sides.
TEST(NarrowIntegers, ComparisonsSelectsAndChains) {
  for (const IotaRange& range : ranges) {
    for (const Op op : {Op::eq, Op::ne, Op::lt, Op::le, Op::gt, Op::ge}) {
      for (const Integer value : {Integer{0}, Integer{-1}, Integer{2}, Integer{large}, Integer{1} << 32}) {
        const Body body(range, [&](Graph& g, NodeId i) {
          const NodeId rest = record(g, Op::remainder, {i, number(g, 3)});
          const NodeId test = record(g, op, {i, number(g, value)});
          const NodeId also = record(g, op, {rest, number(g, value)});
          const NodeId chosen = record(g, Op::where, {test, record(g, Op::mul, {i, number(g, 5)}), rest});
          return record(g, Op::where, {also, record(g, Op::sub, {chosen, i}), record(g, Op::neg, {i})});
        });
        body.check_range();
        if (HasFatalFailure()) return;
      }
    }
    for (const Op op : {Op::div, Op::mod, Op::floor_divide, Op::remainder, Op::abs, Op::sign, Op::shl, Op::shr}) {
      const Body body(range, [&](Graph& g, NodeId i) {
        const NodeId other = record(g, Op::sub, {record(g, Op::bit_and, {i, number(g, 15)}), number(g, 8)});
        const bool is_unary = op == Op::abs || op == Op::sign;
        return g.cast(record(g, op, is_unary ? std::vector{i} : std::vector{i, other}), DType::f32);
      });
      body.check_range();
      if (HasFatalFailure()) return;
    }
  }
}

// u64 values, values of narrow types extended to 64 bits, and results stored in 64 bits.
TEST(NarrowIntegers, UnsignedAndExtendedOperands) {
  for (const IotaRange& range : ranges) {
    for (const Op op : {Op::add, Op::sub, Op::mul, Op::div, Op::mod, Op::minimum, Op::bit_and, Op::lt, Op::ge}) {
      const Body body(range, [&](Graph& g, NodeId i) {
        const NodeId x = g.cast(i, DType::u64);
        return record(g, op, {x, record(g, Op::mod, {x, g.literal(DType::u64, 17)})});
      });
      body.check_range();
      const Body mixed(range, [&](Graph& g, NodeId) {
        return record(g, op, {g.cast(g.load(1, DType::i32), DType::i64), g.cast(g.load(2, DType::u8), DType::i64)});
      });
      for (const std::int32_t x : {0, 1, -1, 77, std::numeric_limits<std::int32_t>::min(), 2147483647}) {
        for (const std::uint8_t y : {0, 1, 3, 255}) mixed.check(range.low, {to_value(x), to_value(y)});
      }
      if (HasFatalFailure()) return;
    }
  }
}

// i32 MIN / -1 fits 64 bits but not 32: the division must not become one of i32.
TEST(NarrowIntegers, QuotientThatLeaves32Bits) {
  const Body body({0, 1}, [](Graph& g, NodeId) {
    const NodeId x = g.cast(g.load(1, DType::i32), DType::i64), y = g.cast(g.load(2, DType::i8), DType::i64);
    return g.cast(record(g, Op::div, {x, y}), DType::f64);
  });
  body.check(0, {to_value(std::numeric_limits<std::int32_t>::min()), to_value(std::int8_t{-1})});
  body.check(0, {to_value(std::int32_t{-7}), to_value(std::int8_t{0})});
  EXPECT_FALSE(has_operation(body.narrowed(), Op::div, DType::i32)) << body.text();
}

// What the pass is for: no 64-bit arithmetic is left, quotients of non-negative values have no sign.
TEST(NarrowIntegers, ChannelSelectionIs32Bits) {
  const Body body({0, large}, [](Graph& g, NodeId i) {
    const NodeId column = record(g, Op::floor_divide, {i, number(g, 3)});
    const NodeId is_red = record(g, Op::eq, {record(g, Op::remainder, {i, number(g, 3)}), number(g, 0)});
    return record(g, Op::where, {is_red, g.cast(column, DType::f32), g.literal_value(DType::f32, -1)});
  });
  EXPECT_FALSE(has_wide_operation(body.narrowed())) << body.text();
  EXPECT_TRUE(has_operation(body.narrowed(), Op::div, DType::u32)) << body.text();
}

// x - (x / d) * d is x mod d: it is as short as the divisor, and what depends on its sign is decided.
TEST(NarrowIntegers, TheRestOfADivisionIsBoundedByTheDivisor) {
  for (const IotaRange& range : ranges) {
    for (const bool swapped : {false, true}) {
      for (const Integer divisor : {Integer{3}, Integer{-7}, Integer{1} << 20}) {
        const Body body(range, [&](Graph& g, NodeId i) {
          const NodeId d = number(g, divisor), q = record(g, Op::div, {i, d});
          const NodeId rest =
              record(g, Op::sub, {i, record(g, Op::mul, swapped ? std::vector{d, q} : std::vector{q, d})});
          return record(g, Op::where, {record(g, Op::lt, {rest, number(g, 0)}), number(g, -1), rest});
        });
        body.check_range();
        if (HasFatalFailure()) return;
        EXPECT_EQ(has_operation(body.narrowed(), Op::where, DType::i64) ||
                      has_operation(body.narrowed(), Op::where, DType::i32),
                  range.low < 0)
            << body.text();
      }
    }
  }
  // Another quotient says nothing about the difference.
  const Body other({0, 40}, [](Graph& g, NodeId i) {
    const NodeId quotient = record(g, Op::div, {i, number(g, 3)});
    return record(g, Op::lt, {record(g, Op::sub, {i, record(g, Op::mul, {quotient, number(g, 4)})}), number(g, 0)});
  });
  other.check_range();
}

// A value that may need more than 32 bits stays in 64.
TEST(NarrowIntegers, WideValuesStayWide) {
  const Body product({0, large},
                     [](Graph& g, NodeId i) { return g.cast(record(g, Op::mul, {i, number(g, 3)}), DType::f32); });
  EXPECT_TRUE(has_operation(product.narrowed(), Op::mul, DType::i64)) << product.text();
  const Body unbounded({any_low, any_high},
                       [](Graph& g, NodeId i) { return g.cast(record(g, Op::div, {i, number(g, 3)}), DType::f32); });
  EXPECT_TRUE(has_operation(unbounded.narrowed(), Op::div, DType::i64)) << unbounded.text();
}

}  // namespace
}  // namespace kiln::codegen::testing
