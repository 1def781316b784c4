// tests/unit/cpu/turned.cpp -- kernels that read an operand across their rows: tiles, edges and any division into
// units.
#include <gtest/gtest.h>

#include <random>

#include "tests/unit/cpu/kernel_runner.h"

namespace kiln::test {
namespace {

/// y[k][i][j] = a[k][i][j] + b[k][j][i] (+ iota of j), rows of y and a padded.
template <class T>
void check_sum_with_transposed(DType type, std::int64_t batches, std::int64_t rows, std::int64_t columns,
                               unsigned seed) {
  Kernel kernel;
  kernel.rank = 3;
  kernel.index = seed % 2 ? codegen::IndexWidth::bits32 : codegen::IndexWidth::bits64;
  kernel.accesses = {access(type, {AxisClass::strided, AxisClass::strided, AxisClass::contiguous}),
                     access(type, {AxisClass::strided, AxisClass::contiguous, AxisClass::strided}),
                     access(type, {AxisClass::broadcast, AxisClass::contiguous, AxisClass::broadcast}),
                     access(type, {AxisClass::strided, AxisClass::strided, AxisClass::contiguous}, true)};
  const NodeId a = kernel.body.load(0, type), turned = kernel.body.load(1, type), per_row = kernel.body.load(2, type);
  const NodeId first[] = {a, turned};
  const NodeId second[] = {kernel.body.operation(Op::add, type, first), per_row};
  kernel.body.outputs = {kernel.body.operation(Op::add, type, second)};
  const CompiledKernel compiled(kernel);
  const std::int64_t pitch = columns + 3;
  std::mt19937 random(seed);
  std::vector<T> x(static_cast<std::size_t>(batches * rows * pitch)),
      z(static_cast<std::size_t>(batches * rows * columns)), w(static_cast<std::size_t>(rows)), y(x.size(), T(99));
  for (auto* values : {&x, &z, &w}) {
    for (T& value : *values) value = static_cast<T>(random() % 64);
  }
  std::vector<T> expected = y;
  for (std::int64_t k = 0; k < batches; ++k) {
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) {
        const auto at = static_cast<std::size_t>((k * rows + i) * pitch + j);
        expected[at] = static_cast<T>(x[at] + z[static_cast<std::size_t>((k * columns + j) * rows + i)] +
                                      w[static_cast<std::size_t>(i)]);
      }
    }
  }
  CallArguments call;
  call.pointers = {x.data(), z.data(), w.data(), y.data()};
  call.extents = {batches, rows, columns};
  call.strides = {{rows * pitch, pitch, 1}, {rows * columns, 1, rows}, {0, 1, 0}, {rows * pitch, pitch, 1}};
  const std::vector<char> block = compiled.block(call);
  const std::int64_t units = codegen::cpu_units(kernel, {call.extents});
  for (std::int64_t begin = 0; begin < units;) {
    const std::int64_t end = std::min(units, begin + 1 + static_cast<std::int64_t>(random() % 50));
    compiled.run(block, begin, end);
    begin = end;
  }
  EXPECT_EQ(y, expected) << name_of(type) << " " << batches << " x " << rows << " x " << columns;
}

TEST(CpuTurned, TilesAndEdgesGiveEveryElementItsTransposed) {
  unsigned seed = 0;
  for (const auto& [rows, columns] :
       {std::pair{1, 1}, {3, 70}, {16, 16}, {33, 47}, {64, 15}, {100, 129}, {20, 17000}}) {
    ++seed;
    check_sum_with_transposed<float>(DType::f32, 2, rows, columns, seed);
    check_sum_with_transposed<double>(DType::f64, 1, rows, columns, seed);
    check_sum_with_transposed<std::uint8_t>(DType::u8, 2, rows, columns, seed);
    check_sum_with_transposed<std::int16_t>(DType::i16, 1, rows, columns, seed);
    check_sum_with_transposed<std::int64_t>(DType::i64, 1, rows, columns, seed);
  }
}

}  // namespace
}  // namespace kiln::test
