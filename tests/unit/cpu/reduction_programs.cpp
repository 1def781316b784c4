// tests/unit/cpu/reduction_programs.cpp -- random layouts and shapes of many bodies with reductions and scans against
// the float64 reference: chains, siblings, combiners, every element type, rows and columns.
#include <gtest/gtest.h>

#include <random>

#include "tests/unit/cpu/reduction_operands.h"
#include "tests/unit/cpu/reduction_reference.h"

namespace kiln::test {
namespace {

using codegen::ReductionSpec;

/// A body and the level of its operands: accesses get their axes at random.
struct Program {
  const char* name;
  std::function<void(Kernel&, Program&)> build;
  std::vector<char> per_element = {};  ///< by access
  bool scan = false;
};

NodeId load(Kernel& kernel, Program& program, DType type, bool per_element) {
  kernel.accesses.push_back(access(type, {}));
  program.per_element.push_back(per_element);
  return kernel.body.load(kernel.accesses.size() - 1, type);
}

void store(Kernel& kernel, Program& program, NodeId value, bool per_element) {
  kernel.accesses.push_back(access(kernel.body[value].type, {}, true));
  program.per_element.push_back(per_element);
  kernel.body.outputs.push_back(value);
}

NodeId reduce(Kernel& kernel, Reduction kind, NodeId value, bool scan = false) {
  ReductionSpec spec;
  spec.kind = kind;
  const DType type = kernel.body[value].type;
  return scan ? kernel.body.scan(spec, type, {value}) : kernel.body.reduce(spec, type, {value});
}

NodeId binary(Graph& body, Op op, NodeId a, NodeId b) {
  const NodeId operands[] = {a, b};
  const bool compares = op == Op::gt || op == Op::eq || op == Op::lt;
  return body.operation(op, compares ? DType::b1 : body[a].type, operands);
}

NodeId unary(Graph& body, Op op, NodeId a) { return body.operation(op, body[a].type, {&a, 1}); }

NodeId select(Graph& body, NodeId condition, NodeId a, NodeId b) {
  const NodeId operands[] = {condition, a, b};
  return body.operation(Op::where, body[a].type, operands);
}

void softmax(Kernel& kernel, Program& program) {
  Graph& body = kernel.body;
  const NodeId x = load(kernel, program, DType::f32, true);
  const NodeId shifted = binary(body, Op::sub, x, reduce(kernel, Reduction::max, x));
  const NodeId power = unary(body, Op::exp, shifted);
  store(kernel, program, binary(body, Op::div, power, reduce(kernel, Reduction::sum, power)), true);
}

/// Centred and scaled rows, with the mean and the scale as outputs per row, and weights per row.
void standardise(Kernel& kernel, Program& program) {
  Graph& body = kernel.body;
  const NodeId x = load(kernel, program, DType::f32, true);
  const NodeId weight = load(kernel, program, DType::f32, false);
  const NodeId count = reduce(kernel, Reduction::sum, body.literal_value(DType::f32, 1));
  const NodeId mean = binary(body, Op::div, reduce(kernel, Reduction::sum, x), count);
  const NodeId centred = binary(body, Op::sub, x, mean);
  const NodeId variance =
      binary(body, Op::div, reduce(kernel, Reduction::sum, binary(body, Op::mul, centred, centred)), count);
  const NodeId scale = unary(body, Op::sqrt, binary(body, Op::add, variance, body.literal_value(DType::f32, 0.5)));
  store(kernel, program, binary(body, Op::mul, binary(body, Op::div, centred, scale), weight), true);
  store(kernel, program, mean, false);
  store(kernel, program, scale, false);
}

/// One pass: sums in three types, extremes and truth values of mixed operands.
void siblings(Kernel& kernel, Program& program) {
  Graph& body = kernel.body;
  const NodeId x = load(kernel, program, DType::f32, true), y = load(kernel, program, DType::f64, true);
  const NodeId small = load(kernel, program, DType::i8, true);
  const NodeId positive = binary(body, Op::gt, x, body.literal_value(DType::f32, 1.5));
  const NodeId wide = body.cast(small, DType::i64);
  store(kernel, program, reduce(kernel, Reduction::sum, binary(body, Op::mul, x, x)), false);
  store(kernel, program, reduce(kernel, Reduction::sum, y), false);
  store(kernel, program, reduce(kernel, Reduction::sum, wide), false);
  store(kernel, program, reduce(kernel, Reduction::max, x), false);
  store(kernel, program, reduce(kernel, Reduction::min, y), false);
  store(kernel, program, reduce(kernel, Reduction::max, small), false);
  store(kernel, program, reduce(kernel, Reduction::any, positive), false);
  store(kernel, program, reduce(kernel, Reduction::all, positive), false);
}

void products(Kernel& kernel, Program& program) {
  Graph& body = kernel.body;
  const NodeId x = load(kernel, program, DType::f64, true);
  const NodeId tenth = binary(body, Op::mul, x, body.literal_value(DType::f64, 0.01));
  store(kernel, program,
        reduce(kernel, Reduction::prod, binary(body, Op::add, tenth, body.literal_value(DType::f64, 1))), false);
}

/// Storage types: f16 and bf16 operands, f16 result.
void halves(Kernel& kernel, Program& program) {
  Graph& body = kernel.body;
  const NodeId x = body.cast(load(kernel, program, DType::f16, true), DType::f32);
  const NodeId y = body.cast(load(kernel, program, DType::bf16, true), DType::f32);
  const NodeId sum = reduce(kernel, Reduction::sum, binary(body, Op::mul, x, y));
  store(kernel, program, sum, false);
  store(kernel, program, body.cast(binary(body, Op::sub, x, reduce(kernel, Reduction::max, x)), DType::f16), true);
}

/// The element with the largest value and its position, by a combiner of two components.
void largest_of_rows(Kernel& kernel, Program& program, bool with_elements) {
  Graph& body = kernel.body;
  const NodeId x = load(kernel, program, DType::f32, true);
  Access counter = access(DType::i64, {});
  counter.iota = true;
  kernel.accesses.push_back(counter);
  program.per_element.push_back(2);
  const NodeId position = body.iota(kernel.accesses.size() - 1);
  auto combiner = std::make_shared<Graph>();
  const NodeId a = combiner->input(0, DType::f32), ai = combiner->input(1, DType::i64);
  const NodeId c = combiner->input(2, DType::f32), ci = combiner->input(3, DType::i64);
  const NodeId greater = binary(*combiner, Op::gt, a, c), equal = binary(*combiner, Op::eq, a, c);
  const NodeId left =
      binary(*combiner, Op::bit_or, greater, binary(*combiner, Op::bit_and, equal, binary(*combiner, Op::lt, ai, ci)));
  combiner->outputs = {select(*combiner, left, a, c), select(*combiner, left, ai, ci)};
  ReductionSpec spec;
  spec.kind = Reduction::combine;
  spec.combiner = combiner;
  const NodeId value = body.primitive(NodeKind::tuple, DType::f32, {x, position});
  const NodeId none = body.primitive(NodeKind::tuple, DType::f32,
                                     {body.literal_value(DType::f32, -1e30), body.literal(DType::i64, 1 << 30)});
  const NodeId best = body.reduce(spec, DType::f32, {value, none});
  store(kernel, program, body.primitive(NodeKind::element, DType::i64, {best}, 1), false);
  if (with_elements)
    store(kernel, program, binary(body, Op::sub, x, body.primitive(NodeKind::element, DType::f32, {best}, 0)), true);
}

void largest(Kernel& kernel, Program& program) { largest_of_rows(kernel, program, true); }

/// log(sum(exp(x))) as one pass: a combiner that calls functions, with an identity that is a row-level value.
void logsumexp(Kernel& kernel, Program& program) {
  Graph& body = kernel.body;
  const NodeId x = load(kernel, program, DType::f32, true), low = load(kernel, program, DType::f32, false);
  auto combiner = std::make_shared<Graph>();
  Graph& g = *combiner;
  const NodeId m = binary(g, Op::maximum, g.input(0, DType::f32), g.input(2, DType::f32));
  const auto scaled = [&](std::uint64_t k) {
    return binary(g, Op::mul, g.input(k + 1, DType::f32),
                  unary(g, Op::exp, binary(g, Op::sub, g.input(k, DType::f32), m)));
  };
  const NodeId left = scaled(0), right = scaled(2);
  combiner->outputs = {m, binary(g, Op::add, left, right)};
  ReductionSpec spec;
  spec.kind = Reduction::logsumexp;
  spec.combiner = combiner;
  const NodeId floor = binary(body, Op::sub, low, body.literal_value(DType::f32, 50));
  const NodeId value = body.primitive(NodeKind::tuple, DType::f32, {x, body.literal_value(DType::f32, 1)});
  const NodeId none = body.primitive(NodeKind::tuple, DType::f32, {floor, body.literal_value(DType::f32, 0)});
  const NodeId state = body.reduce(spec, DType::f32, {value, none});
  const NodeId total = body.primitive(NodeKind::element, DType::f32, {state}, 1);
  const NodeId sum = binary(body, Op::add, total, body.literal_value(DType::f32, 1e-20));
  store(kernel, program,
        binary(body, Op::add, body.primitive(NodeKind::element, DType::f32, {state}, 0), unary(body, Op::log, sum)),
        false);
}

void scans(Kernel& kernel, Program& program) {
  Graph& body = kernel.body;
  const NodeId x = load(kernel, program, DType::f32, true), weight = load(kernel, program, DType::f32, false);
  const NodeId sum = reduce(kernel, Reduction::sum, binary(body, Op::mul, x, weight), true);
  const NodeId highest = reduce(kernel, Reduction::max, x, true);
  store(kernel, program, binary(body, Op::add, sum, x), true);
  store(kernel, program, binary(body, Op::sub, highest, x), true);
}

/// How often so far an element was below the largest before it: one scan needs the other.
void scan_of_scan(Kernel& kernel, Program& program) {
  Graph& body = kernel.body;
  const NodeId x = load(kernel, program, DType::f32, true);
  const NodeId below = binary(body, Op::lt, x, reduce(kernel, Reduction::max, x, true));
  store(kernel, program, reduce(kernel, Reduction::sum, body.cast(below, DType::i64), true), true);
}

std::int64_t product(const std::vector<std::int64_t>& extents, std::size_t first, std::size_t last) {
  std::int64_t n = 1;
  for (std::size_t d = first; d < last; ++d) n *= extents[d];
  return n;
}

struct Trial {
  Kernel kernel;
  Program program;
  std::vector<std::int64_t> extents;
  std::vector<Operand> operands;
  CallArguments call;
};

Trial prepare(const Program& described, Random& random, std::vector<std::int64_t> extents, int reduced) {
  Trial t;
  t.program = described;
  t.extents = std::move(extents);
  t.kernel.rank = static_cast<int>(t.extents.size());
  t.kernel.reduced = reduced;
  t.kernel.index = random() % 2 ? codegen::IndexWidth::bits32 : codegen::IndexWidth::bits64;
  t.program.build(t.kernel, t.program);
  const int kept = t.kernel.rank - reduced;
  const bool columns = random() % 2 == 0;
  t.call.extents = t.extents;
  t.call.offsets.resize(t.kernel.accesses.size());
  for (std::size_t a = 0; a < t.kernel.accesses.size(); ++a) {
    Access& operand_access = t.kernel.accesses[a];
    if (operand_access.iota) {  // the position within the reduced axes, in C order
      Operand operand;
      operand.strides.assign(t.extents.size(), 0);
      operand_access.axes.assign(t.extents.size(), AxisClass::broadcast);
      std::int64_t step = 1;
      for (std::size_t d = t.extents.size(); d-- > static_cast<std::size_t>(kept); step *= t.extents[d]) {
        operand.strides[d] = step;
        operand_access.axes[d] = step == 1 ? AxisClass::contiguous : AxisClass::strided;
      }
      t.operands.push_back(operand);
    } else {
      t.operands.push_back(place(operand_access, t.extents, kept, t.program.per_element[a] != 0, columns, random));
    }
    t.call.strides.push_back(t.operands.back().strides);
  }
  for (std::size_t a = 0; a < t.operands.size(); ++a)
    t.call.pointers.push_back(t.operands[a].buffer.data() + t.operands[a].base);
  for (std::size_t a = 0; a < t.kernel.first_store(); ++a) {
    if (t.kernel.accesses[a].iota) continue;
    std::vector<std::int64_t> point(t.extents.size(), 0);
    const std::int64_t points = product(t.extents, 0, t.extents.size());
    for (std::int64_t k = 0; k < std::max<std::int64_t>(1, points); ++k) {
      const DType type = t.kernel.accesses[a].type;
      fill(type, t.operands[a].buffer.data() + t.operands[a].at(point, size_of(type)), random);
      if (points == 0) break;
      advance(point, t.extents, 0, t.extents.size());
    }
  }
  return t;
}

void expect_close(DType type, double got, double wanted, double scale, const std::string& where) {
  if (std::isnan(wanted)) {
    EXPECT_TRUE(std::isnan(got)) << where << " gives " << got;
    return;
  }
  if (!is_floating(type) || std::isinf(wanted)) {
    EXPECT_EQ(got, wanted) << where;
    return;
  }
  const double tolerance = type == DType::f16 ? 2e-3 : type == DType::f32 ? 4e-6 : 1e-12;
  EXPECT_NEAR(got, wanted, tolerance * (std::fabs(wanted) + scale)) << where;
}

using Buffers = std::vector<std::vector<unsigned char>>;

Buffers contents(const Trial& t) {
  Buffers buffers;
  for (const Operand& operand : t.operands) buffers.push_back(operand.buffer);
  return buffers;
}

/// `before`: the operands as they were when the kernel ran.
void check(Trial& t, const Buffers& before) {
  const std::size_t kept = t.extents.size() - static_cast<std::size_t>(t.kernel.reduced);
  const std::int64_t rows = product(t.extents, 0, kept), elements = product(t.extents, kept, t.extents.size());
  std::vector<std::int64_t> row(t.extents.size(), 0);
  for (std::int64_t r = 0; r < rows; ++r, advance(row, t.extents, 0, kept)) {
    std::vector<std::vector<std::int64_t>> points;
    std::vector<std::int64_t> point = row;
    for (std::int64_t e = 0; e < elements; ++e, advance(point, t.extents, kept, t.extents.size()))
      points.push_back(point);
    const auto values = evaluate_row(t.kernel, static_cast<std::size_t>(elements), [&](std::size_t a, std::size_t e) {
      const std::vector<std::int64_t>& at = points.empty() ? row : points[e];
      if (t.kernel.accesses[a].iota) return static_cast<double>(t.operands[a].at(at, 1));
      return read(t.kernel.accesses[a].type,
                  before[a].data() + t.operands[a].at(at, size_of(t.kernel.accesses[a].type)));
    });
    for (std::size_t k = 0; k < t.kernel.body.outputs.size(); ++k) {
      const std::size_t a = t.kernel.first_store() + k;
      const DType type = t.kernel.accesses[a].type;
      const auto& expected = values[t.kernel.body.outputs[k]];
      const bool per_element = t.program.per_element[a] != 0;
      for (std::size_t e = 0; e < (per_element ? points.size() : 1); ++e) {
        const std::vector<std::int64_t>& at = per_element ? points[e] : row;
        unsigned char* const place = t.operands[a].buffer.data() + t.operands[a].at(at, size_of(type));
        const double scale = type == DType::f64 ? 100 : 4 + static_cast<double>(elements);
        expect_close(type, read(type, place), expected[expected.size() == 1 ? 0 : e][0], scale,
                     std::string(t.program.name) + " output " + std::to_string(k) + " row " + std::to_string(r) +
                         " element " + std::to_string(e));
        std::memcpy(place, before[a].data() + (place - t.operands[a].buffer.data()), size_of(type));
      }
    }
  }
  // With every result put back, nothing else was written.
  for (std::size_t a = 0; a < t.operands.size(); ++a)
    EXPECT_EQ(t.operands[a].buffer, before[a]) << t.program.name << " access " << a;
}

std::string text_of(const Trial& t) {
  std::string text = std::string(t.program.name) + " reduced " + std::to_string(t.kernel.reduced) + " extents";
  for (const std::int64_t extent : t.extents) text += " " + std::to_string(extent);
  return text + "\n" + codegen::kernel_key(t.kernel);
}

const Program programs[] = {
    {"softmax", softmax},     {"standardise", standardise}, {"siblings", siblings},
    {"products", products},   {"halves", halves},           {"largest", largest},
    {"logsumexp", logsumexp}, {"scans", scans, {}, true},   {"scan of scan", scan_of_scan, {}, true}};

/// A machine without AVX runs the same programs with narrow vectors and without FMA.
std::string some_arch(Random& random) {
  const std::string arch = runtime::cpu_arch();
  return arch.starts_with("x86-64") && random() % 4 == 0 ? "x86-64 " : arch;
}

void run_trial(Trial& t, Random& random) {
  const CompiledKernel compiled = compile_reduction(t.kernel, t.extents, some_arch(random));
  const Buffers before = contents(t);
  compiled.run_reduction(t.call, 1 + static_cast<int>(random() % 3));
  check(t, before);
}

TEST(CpuReductionPrograms, RandomLayoutsAgreeWithTheReference) {
  Random random(7);
  for (int round = 0; round < 12; ++round) {
    for (const Program& program : programs) {
      const int reduced = program.scan ? 1 : 1 + static_cast<int>(random() % 3), kept = static_cast<int>(random() % 4);
      std::vector<std::int64_t> extents;
      for (int d = 0; d < kept; ++d) extents.push_back(1 + static_cast<std::int64_t>(random() % 4));
      if (kept > 0 && random() % 2) extents.back() = 5 + static_cast<std::int64_t>(random() % 40);
      for (int d = 0; d < reduced; ++d) extents.push_back(static_cast<std::int64_t>(random() % 5));
      if (random() % 2) extents.back() = 5 + static_cast<std::int64_t>(random() % 90);
      Trial t = prepare(program, random, extents, reduced);
      run_trial(t, random);
      ASSERT_FALSE(HasFailure()) << text_of(t);
    }
  }
}

TEST(CpuReductionPrograms, LongRowsInChunksAgreeWithTheReference) {
  const std::vector<std::vector<std::int64_t>> kept = {{}, {1}, {3}, {2, 3}, {300}};
  const std::vector<std::vector<std::int64_t>> reduced = {{70001}, {32768}, {3, 33001}, {20011, 3}, {40, 30, 40}};
  const Program chunked[] = {
      {"siblings", siblings},
      {"products", products},
      {"largest", [](Kernel& kernel, Program& program) { largest_of_rows(kernel, program, false); }},
      {"logsumexp", logsumexp},
      {"scans", scans, {}, true}};
  Random random(8);
  for (const Program& program : chunked) {
    for (const auto& rows : kept) {
      std::vector<std::int64_t> extents = rows;
      const auto& lengths = reduced[program.scan ? random() % 2 : random() % reduced.size()];
      if (extents == std::vector<std::int64_t>{300}) {
        extents.push_back(2500);  // columns in several blocks of units
      } else {
        extents.insert(extents.end(), lengths.begin(), lengths.end());
      }
      Trial t = prepare(program, random, extents, static_cast<int>(extents.size() - rows.size()));
      run_trial(t, random);
      ASSERT_FALSE(HasFailure()) << text_of(t);
    }
  }
}

}  // namespace
}  // namespace kiln::test
