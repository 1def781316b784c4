// tests/unit/cpu/interleaved.cpp -- kernels over a short innermost axis: every kind of operand, every length of the
// axis, any division into units.
#include <gtest/gtest.h>

#include <complex>
#include <random>

#include "tests/unit/cpu/kernel_runner.h"

namespace kiln::test {
namespace {

using codegen::cpu_units;
using codegen::NodeKind;

Access dense(DType type, bool store = false) {
  Access a = access(type, {AxisClass::strided, AxisClass::strided, AxisClass::contiguous}, store);
  a.dense_alignment = 1;
  return a;
}

/// Runs all units, in ranges of at most `most`.
void run_in_pieces(const CompiledKernel& compiled, const Kernel& kernel, const CallArguments& call, unsigned most) {
  const std::vector<char> block = compiled.block(call);
  const std::int64_t units = cpu_units(kernel, {call.extents});
  std::mt19937 random(most);
  for (std::int64_t begin = 0; begin < units;) {
    const std::int64_t end = std::min<std::int64_t>(units, begin + 1 + random() % most);
    compiled.run(block, begin, end);
    begin = end;
  }
}

NodeId primitive(codegen::Graph& body, NodeKind kind, DType type, NodeId a, NodeId b = codegen::no_node) {
  codegen::Node node{.kind = kind, .type = type, .arity = 1, .operands = {a}};
  if (b != codegen::no_node) node = {.kind = kind, .type = type, .arity = 2, .operands = {a, b}};
  return body.add(node);
}

/// Of complex elements by parts, as kernel bodies hold them.
NodeId sum_of_loads(codegen::Graph& body, std::uint64_t count, DType type) {
  if (is_complex(type)) {
    NodeId sums[2] = {};
    for (const NodeKind part : {NodeKind::real_part, NodeKind::imag_part}) {
      NodeId& sum = sums[part == NodeKind::imag_part];
      for (std::uint64_t a = 0; a < count; ++a) {
        const NodeId value = primitive(body, part, real_of(type), body.load(a, type));
        const NodeId operands[] = {sum, value};
        sum = a == 0 ? value : body.operation(Op::add, real_of(type), operands);
      }
    }
    return primitive(body, NodeKind::complex, type, sums[0], sums[1]);
  }
  NodeId sum = body.load(0, type);
  for (std::uint64_t a = 1; a < count; ++a) {
    const NodeId operands[] = {sum, body.load(a, type)};
    sum = body.operation(Op::add, type, operands);
  }
  return sum;
}

/// y[k][i][j] = x[k][i][j] + last[k][j] + pitched[j] + second[k][i] + outer[k], of integers that every type holds.
template <class T>
void check_sum(DType type, codegen::IndexWidth index, std::int64_t batches, std::int64_t rows, std::int64_t columns) {
  constexpr AxisClass none = AxisClass::broadcast, strided = AxisClass::strided, contiguous = AxisClass::contiguous;
  Kernel kernel;
  kernel.rank = 3;
  kernel.index = index;
  kernel.accesses = {dense(type),
                     access(type, {strided, none, contiguous}),
                     access(type, {none, none, strided}),
                     access(type, {strided, contiguous, none}),
                     access(type, {contiguous, none, none}),
                     dense(type, true)};
  kernel.body.outputs = {sum_of_loads(kernel.body, 5, type)};
  std::mt19937 random(static_cast<unsigned>(rows + columns));
  const auto numbers = [&](std::int64_t count) {
    std::vector<T> values(static_cast<std::size_t>(count));
    for (T& value : values) value = static_cast<T>(random() % 20);
    return values;
  };
  std::vector<T> x = numbers(batches * rows * columns), last = numbers(batches * columns),
                 pitched = numbers(2 * columns), second = numbers(batches * rows), outer = numbers(batches),
                 y(x.size() + 1, T(99));
  std::vector<T> expected = y;
  for (std::size_t at = 0; at < x.size(); ++at) {
    const auto j = at % static_cast<std::size_t>(columns), row = at / static_cast<std::size_t>(columns);
    const auto k = row / static_cast<std::size_t>(rows);
    expected[at] = static_cast<T>(x[at] + last[k * static_cast<std::size_t>(columns) + j] + pitched[2 * j] +
                                  second[row] + outer[k]);
  }
  CallArguments call;
  call.pointers = {x.data(), last.data(), pitched.data(), second.data(), outer.data(), y.data()};
  call.extents = {batches, rows, columns};
  call.strides = {{rows * columns, columns, 1}, {columns, 0, 1}, {0, 0, 2}, {rows, 1, 0}, {1, 0, 0},
                  {rows * columns, columns, 1}};
  run_in_pieces(CompiledKernel(kernel), kernel, call, 3);
  EXPECT_EQ(y, expected) << name_of(type) << " " << batches << " x " << rows << " x " << columns;
}

TEST(CpuInterleaved, EveryKindOfOperandBesideAShortAxis) {
  for (std::int64_t columns = 1; columns < codegen::short_axis; ++columns)
    check_sum<float>(DType::f32, codegen::IndexWidth::bits32, 2, 41, columns);
  for (const std::int64_t rows : {1, 7, 5461, 5462, 12000}) {  // 16384 elements are a unit
    check_sum<std::uint8_t>(DType::u8, codegen::IndexWidth::bits64, 1, rows, 3);
    check_sum<std::int16_t>(DType::i16, codegen::IndexWidth::bits32, 2, rows, 5);
    check_sum<double>(DType::f64, codegen::IndexWidth::bits64, 3, rows, 2);
    check_sum<std::complex<float>>(DType::c64, codegen::IndexWidth::bits32, 2, rows, 3);
  }
}

TEST(CpuInterleaved, CoordinatesOfEveryAxis) {
  const std::int64_t batches = 3, rows = 6000, columns = 7;
  Kernel kernel;
  kernel.rank = 3;
  kernel.index = codegen::IndexWidth::bits64;
  Access position = access(DType::i64, {AxisClass::strided, AxisClass::strided, AxisClass::strided});
  position.iota = true;
  kernel.accesses = {position, dense(DType::i64, true)};
  kernel.body.outputs = {kernel.body.iota(0)};
  std::vector<std::int64_t> y(static_cast<std::size_t>(batches * rows * columns), -1);
  CallArguments call;
  call.pointers = {nullptr, y.data()};
  call.offsets = {500, 0};
  call.extents = {batches, rows, columns};
  call.strides = {{10'000'000, 100, -3}, {rows * columns, columns, 1}};
  run_in_pieces(CompiledKernel(kernel), kernel, call, 2);
  for (std::int64_t at = 0; at < batches * rows * columns; ++at) {
    const std::int64_t j = at % columns, i = at / columns % rows, k = at / columns / rows;
    ASSERT_EQ(y[static_cast<std::size_t>(at)], 500 + 10'000'000 * k + 100 * i - 3 * j) << k << " " << i << " " << j;
  }
}

TEST(CpuInterleaved, UnitsAreStretchesOfTheLastTwoAxes) {
  Kernel kernel;
  kernel.rank = 2;
  kernel.accesses = {dense(DType::f32, true)};
  kernel.accesses[0].axes = {AxisClass::strided, AxisClass::contiguous};
  EXPECT_EQ(cpu_units(kernel, {{codegen::cpu_column_block, 3}}), 3);
  EXPECT_EQ(cpu_units(kernel, {{0, 3}}), 0);
  kernel.accesses[0].dense_alignment = 0;
  EXPECT_EQ(cpu_units(kernel, {{100, 3}}), 100) << "gaps between rows: each is a unit";
}

}  // namespace
}  // namespace kiln::test
