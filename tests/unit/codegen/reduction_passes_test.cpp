// tests/unit/codegen/reduction_passes_test.cpp -- what each pass does to reductions, scans and combiners.
#include <algorithm>
#include <complex>
#include <random>

#include <kiln/error.h>

#include "tests/unit/codegen/reduction_interpreter.h"

namespace kiln::codegen::testing {
namespace {

using Complex = std::complex<double>;

const std::vector<Complex> complex_row = {{1, 2}, {-0.5, 0.25}, {3, -1}, {0.125, 2}, {-1, -1}, {2, 0.5}, {0.75, -0.5}};

Operand run_complex(const RowProgram& program, Order order) {
  return program.run({elements(complex_row)}, complex_row.size(), order);
}

// passes.h, split_complex: a sum of complex numbers is two sums; a product is joined as pairs.
TEST(SplitComplex, SumsAndProducts) {
  Complex sum = 0, product = 1;
  for (const Complex& z : complex_row) {
    sum += z;
    product *= z;
  }
  for (const Reduction kind : {Reduction::sum, Reduction::prod}) {
    const RowProgram program({DType::c128}, {}, [&](Graph& g, const std::vector<NodeId>& in) {
      return g.reduce(reduction(kind), DType::c128, {in[0]});
    });
    const Complex expected = kind == Reduction::sum ? sum : product;
    for (const Order order : all_orders) {
      const auto actual = from_value<Complex>(run_complex(program, order).values.at(0));
      EXPECT_LT(std::abs(actual - expected), 1e-14 * std::abs(expected)) << program.text();
    }
    EXPECT_EQ(from_value<Complex>(program.run({{{}, true}}, 0, Order::forward).values.at(0)),
              kind == Reduction::sum ? Complex(0) : Complex(1));
  }
}

TEST(SplitComplex, Scans) {
  for (const Reduction kind : {Reduction::sum, Reduction::prod}) {
    const RowProgram program({DType::c128}, {}, [&](Graph& g, const std::vector<NodeId>& in) {
      return g.scan(reduction(kind), DType::c128, {in[0]});
    });
    for (const Order order : all_orders) {
      const std::vector<Value> values = run_complex(program, order).values;
      Complex expected = kind == Reduction::sum ? 0 : 1;
      ASSERT_EQ(values.size(), complex_row.size());
      for (std::size_t i = 0; i < values.size(); ++i) {
        expected = kind == Reduction::sum ? expected + complex_row[i] : expected * complex_row[i];
        EXPECT_LT(std::abs(from_value<Complex>(values[i]) - expected), 1e-13);
      }
    }
  }
}

/// The user's combiner over (complex, i32): product of the first, sum of the second; component `wanted`.
NodeId mixed_state(Graph& g, NodeId z, NodeId n, std::uint64_t wanted) {
  const ReductionSpec spec = combination({DType::c128, DType::i32}, [](Graph& c, const std::vector<NodeId>& x) {
    return std::vector{record(c, Op::mul, {x[0], x[2]}), record(c, Op::add, {x[1], x[3]})};
  });
  const NodeId state = g.primitive(NodeKind::tuple, DType::c128, {z, n});
  const NodeId identity =
      g.primitive(NodeKind::tuple, DType::c128, {g.literal_value(DType::c128, 1), g.literal_value(DType::i32, 0)});
  const DType type = wanted == 0 ? DType::c128 : DType::i32;
  return g.primitive(NodeKind::element, type, {g.reduce(spec, DType::c128, {state, identity})}, wanted);
}

TEST(SplitComplex, ComponentsOfAUsersStateAreRenumbered) {
  Complex product = 1;
  for (const Complex& z : complex_row) product *= z;
  Operand counts;
  counts.per_element = true;
  for (std::size_t i = 0; i < complex_row.size(); ++i) counts.values.push_back(to_value(static_cast<std::int32_t>(i)));
  for (const std::uint64_t wanted : {0u, 1u}) {
    const RowProgram program({DType::c128, DType::i32}, {}, [&](Graph& g, const std::vector<NodeId>& in) {
      return mixed_state(g, in[0], in[1], wanted);
    });
    for (const Order order : all_orders) {
      const Value result = program.run({elements(complex_row), counts}, complex_row.size(), order).values.at(0);
      if (wanted == 0) {
        EXPECT_LT(std::abs(from_value<Complex>(result) - product), 1e-13) << program.text();
      } else {
        EXPECT_EQ(from_value<std::int32_t>(result), 21);
      }
    }
  }
}

TEST(SplitComplex, ASingleComplexComponentIsAPair) {
  const RowProgram program({DType::c128}, {}, [](Graph& g, const std::vector<NodeId>& in) {
    const ReductionSpec spec = combination({DType::c128}, [](Graph& c, const std::vector<NodeId>& x) {
      return std::vector{record(c, Op::add, {x[0], x[1]})};
    });
    return g.reduce(spec, DType::c128, {in[0], g.literal_value(DType::c128, 0)});
  });
  Complex sum = 0;
  for (const Complex& z : complex_row) sum += z;
  EXPECT_EQ(from_value<Complex>(run_complex(program, Order::forward).values.at(0)), sum);
}

TEST(SplitComplex, TooManyNumbersAreATypeErrorThatSaysWhatToDo) {
  Graph graph;
  const ReductionSpec spec = combination({DType::c64, DType::c64}, [](Graph& c, const std::vector<NodeId>& x) {
    return std::vector{record(c, Op::add, {x[0], x[2]}), record(c, Op::add, {x[1], x[3]})};
  });
  const NodeId z = graph.load(0, DType::c64), zero = graph.literal_value(DType::c64, 0);
  const NodeId state = graph.primitive(NodeKind::tuple, DType::c64, {z, z});
  const NodeId identity = graph.primitive(NodeKind::tuple, DType::c64, {zero, zero});
  const NodeId joined = graph.reduce(spec, DType::c64, {state, identity}, {"user.cpp", 12});
  graph.outputs = {graph.primitive(NodeKind::element, DType::c64, {joined}, 1)};
  try {
    run_pipeline(graph, {});
    FAIL() << "four real components";
  } catch (const TypeError& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("user.cpp:12"), std::string::npos) << message;
    EXPECT_NE(message.find("4 numbers"), std::string::npos) << message;
    EXPECT_NE(message.find("kl::real"), std::string::npos) << message;
  }
}

/// 1 and many values of half an f16 unit beside it: rounding at every step would lose them all.
std::vector<half> small_steps() {
  std::vector<half> row(1025, half(0x1p-11f));
  row[0] = half(1.0f);
  return row;
}

TEST(WidenStorageTypes, ReductionsRoundOnce) {
  const RowProgram sum({DType::f16}, {}, [](Graph& g, const std::vector<NodeId>& in) {
    return g.reduce(reduction(Reduction::sum), DType::f16, {in[0]});
  });
  const RowProgram joined({DType::f16}, {}, [](Graph& g, const std::vector<NodeId>& in) {
    const ReductionSpec spec = combination({DType::f16}, [](Graph& c, const std::vector<NodeId>& x) {
      return std::vector{record(c, Op::add, {x[0], x[1]})};
    });
    return g.reduce(spec, DType::f16, {in[0], g.literal_value(DType::f16, 0)});
  });
  for (const Order order : all_orders) {
    EXPECT_EQ(float{sum.reduce<half>(small_steps(), order)}, 1.5f);
    EXPECT_EQ(float{joined.reduce<half>(small_steps(), order)}, 1.5f) << "components of states are f32";
  }
}

TEST(WidenStorageTypes, ScansRoundWhereTheyAreStored) {
  const RowProgram running({DType::f16}, {}, [](Graph& g, const std::vector<NodeId>& in) {
    return g.scan(reduction(Reduction::sum), DType::f16, {in[0]});
  });
  const std::vector<half> results = running.map<half>(small_steps());
  EXPECT_EQ(float{results[1]}, 1.0f) << "a tie, to even";
  EXPECT_EQ(float{results[2]}, 1.0f + 0x1p-10f);
  EXPECT_EQ(float{results[1024]}, 1.5f);
}

// graph.h: an unrounded cast changes the type only; a user's cast inside a combiner rounds.
TEST(WidenStorageTypes, OnlyCastsOfTheUserRound) {
  const float between = 1.0f + 0x1p-12f;
  const auto read = [&](std::uint64_t payload) {
    return RowProgram({DType::f32}, {}, [payload](Graph& g, const std::vector<NodeId>& in) {
      const NodeId narrow = g.primitive(NodeKind::cast, DType::f16, {in[0]}, payload);
      return g.cast(g.reduce(reduction(Reduction::sum), DType::f16, {narrow}), DType::f32);
    });
  };
  EXPECT_EQ(read(unrounded_cast).reduce<float>(std::vector{between}), between);
  EXPECT_EQ(read(0).reduce<float>(std::vector{between}), 1.0f);
  const RowProgram joined({DType::bf16}, {}, [](Graph& g, const std::vector<NodeId>& in) {
    const ReductionSpec spec = combination({DType::bf16}, [](Graph& c, const std::vector<NodeId>& x) {
      return std::vector{c.user_cast(record(c, Op::add, {x[0], x[1]}), DType::bf16)};
    });
    return g.reduce(spec, DType::bf16, {in[0], g.literal_value(DType::bf16, 0)});
  });
  const std::vector<bfloat16> steps(300, bfloat16(1.0f));
  EXPECT_EQ(float{joined.reduce<bfloat16>(steps)}, 256.0f) << "256 + 1 is a tie in bf16";
}

TEST(FoldConstants, AReductionOfALiteralStays) {
  const RowProgram program({DType::i32}, {}, [](Graph& g, const std::vector<NodeId>&) {
    const NodeId two = record(g, Op::add, {g.literal_value(DType::i32, 1), g.literal_value(DType::i32, 1)});
    return g.reduce(reduction(Reduction::sum), DType::i32, {two});
  });
  EXPECT_EQ(program.reduce<std::int32_t>(std::vector<std::int32_t>(21)), 42);
}

// Combiners take the same way as bodies: folded, guarded where an operation could trap, without dead nodes.
TEST(Legalize, CombinersAreLegalisedToo) {
  const RowProgram program({DType::i32}, {}, [](Graph& g, const std::vector<NodeId>& in) {
    const ReductionSpec spec = combination({DType::i32}, [](Graph& c, const std::vector<NodeId>& x) {
      record(c, Op::mul, {x[0], x[0]});  // dead
      const NodeId one = record(c, Op::sub, {c.literal_value(DType::i32, 3), c.literal_value(DType::i32, 2)});
      const NodeId quotient = record(c, Op::div, {x[0], x[1]});
      return std::vector{record(c, Op::mul, {record(c, Op::add, {quotient, x[1]}), one})};
    });
    return g.reduce(spec, DType::i32, {in[0], g.literal_value(DType::i32, 7)});
  });
  EXPECT_EQ(program.reduce<std::int32_t>(std::vector{0, 5}), 5) << "7 / 0 + 0, then 0 / 5 + 5";
  for (const Node& node : program.body().nodes()) {
    if (node.kind != NodeKind::reduce) continue;
    const Graph& combiner = *program.body().reduction(node).combiner;
    EXPECT_EQ(to_text(combiner).find("literal 0x00000003"), std::string::npos) << to_text(combiner);
    EXPECT_EQ(combiner.size(), canonical_order(combiner).size());
  }
}

TEST(Pipeline, EqualCombinersAreOneReduction) {
  Graph graph;
  const auto product = [](Graph& c, const std::vector<NodeId>& x) {
    return std::vector{record(c, Op::mul, {x[0], x[1]})};
  };
  const NodeId x = graph.load(0, DType::f32), one = graph.literal_value(DType::f32, 1);
  const NodeId first = graph.reduce(combination({DType::f32}, product), DType::f32, {x, one});
  EXPECT_EQ(graph.reduce(combination({DType::f32}, product), DType::f32, {x, one}), first);
}

bool has(const Graph& graph, NodeKind kind, DType type) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(),
                     [&](const Node& node) { return node.kind == kind && node.type == type; });
}

// An extremum lies in the range of its operand; of a sum nothing is known.
TEST(NarrowIntegers, ExtremaOfShortRangesAreShort) {
  for (const Reduction kind : {Reduction::max, Reduction::min, Reduction::sum}) {
    PassOptions options;
    options.iotas = {{-5, 100000}};
    const RowProgram program({DType::i64}, options, [&](Graph& g, const std::vector<NodeId>&) {
      const NodeId product = record(g, Op::mul, {g.iota(0), g.literal_value(DType::i64, 3)});
      return g.reduce(reduction(kind), DType::i64, {product});
    });
    EXPECT_EQ(has(program.body(), NodeKind::reduce, DType::i32), kind != Reduction::sum) << program.text();
    const std::vector<std::int64_t> row = {5, -5, 100000, 7};
    const std::int64_t expected = kind == Reduction::max ? 300000 : kind == Reduction::min ? -15 : 300021;
    for (const Order order : all_orders) EXPECT_EQ(program.reduce<std::int64_t>(row, order), expected);
  }
}

// The guards of a division by the position of an extremum go: it is one of the positions.
TEST(NarrowIntegers, PositionsAreBoundedByTheirIota) {
  PassOptions options;
  options.iotas = {{}, {0, 999}};
  Graph graph;
  const NodeId x = graph.load(0, DType::f32);
  const NodeId at = graph.reduce(reduction(Reduction::argmax), DType::i64, {x, graph.iota(1)});
  graph.outputs = {record(graph, Op::lt, {at, graph.literal_value(DType::i64, 1000)})};
  const Graph body = run_pipeline(graph, options);
  EXPECT_EQ(to_text(body), "%0 = b1 literal 0x01 (true)\nreturn %0\n");
}

}  // namespace
}  // namespace kiln::codegen::testing
