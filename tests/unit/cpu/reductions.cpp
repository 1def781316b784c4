// tests/unit/cpu/reductions.cpp -- reductions on the CPU against float64 or exact references: rows, columns, chunks,
// chains, combiners.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "codegen/schedule/schedule.h"
#include "tests/unit/cpu/kernel_runner.h"

namespace kiln::test {
namespace {

using codegen::Graph;
using codegen::Reduction;
using codegen::ReductionSpec;
using Class = AxisClass;

NodeId reduce(Graph& body, Reduction kind, NodeId value) {
  ReductionSpec spec;
  spec.kind = kind;
  return body.reduce(spec, body[value].type, {value});
}

/// rank-2 loop (rows, columns), `axis` reduced: the kernel's axes are (kept, reduced).
struct Layout {
  std::vector<Class> input, output;
  std::vector<std::int64_t> extents;
};

Kernel reduction_kernel(DType type, DType result, const Layout& layout, int reduced) {
  Kernel kernel;
  kernel.rank = static_cast<int>(layout.extents.size());
  kernel.reduced = reduced;
  kernel.index = codegen::IndexWidth::bits64;
  kernel.accesses = {access(type, layout.input), access(result, layout.output, true)};
  return kernel;
}

/// out[r] = kind over c of in[r][c], rows contiguous; `pitch` elements from row to row.
template <class T, class R>
std::vector<R> reduce_rows(Reduction kind, DType type, DType result, const T* in, std::int64_t rows,
                           std::int64_t columns, std::int64_t pitch, int pieces = 1) {
  Kernel kernel = reduction_kernel(
      type, result, {{Class::strided, Class::contiguous}, {Class::contiguous, Class::broadcast}, {rows, columns}}, 1);
  const NodeId value = kernel.body.cast(kernel.body.load(0, type), result);
  kernel.body.outputs = {reduce(kernel.body, kind, value)};
  const CompiledKernel compiled = compile_reduction(kernel, {rows, columns});
  std::vector<R> out(static_cast<std::size_t>(rows), R(77));
  CallArguments call;
  call.pointers = {const_cast<T*>(in), out.data()};
  call.extents = {rows, columns};
  call.strides = {{pitch, 0}, {0, 0}};
  compiled.run_reduction(call, pieces);
  return out;
}

/// out[c] = kind over r of in[r][c].
template <class T, class R>
std::vector<R> reduce_columns(Reduction kind, DType type, DType result, const T* in, std::int64_t rows,
                              std::int64_t columns, std::int64_t pitch, int pieces = 1) {
  Kernel kernel = reduction_kernel(
      type, result, {{Class::contiguous, Class::strided}, {Class::contiguous, Class::broadcast}, {columns, rows}}, 1);
  const NodeId value = kernel.body.cast(kernel.body.load(0, type), result);
  kernel.body.outputs = {reduce(kernel.body, kind, value)};
  const CompiledKernel compiled = compile_reduction(kernel, {columns, rows});
  std::vector<R> out(static_cast<std::size_t>(columns), R(77));
  CallArguments call;
  call.pointers = {const_cast<T*>(in), out.data()};
  call.extents = {columns, rows};
  call.strides = {{0, pitch}, {0, 0}};
  compiled.run_reduction(call, pieces);
  return out;
}

std::vector<float> normal_floats(std::size_t count, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.5f, 2.0f);
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

/// |sum - exact| <= log2(n) u sum|x| (the promise of f32 sums), and never more than a few units of the result.
void expect_sum(float sum, const float* values, std::int64_t count, std::int64_t step, const std::string& where) {
  double exact = 0, magnitude = 0;
  for (std::int64_t k = 0; k < count; ++k) exact += values[k * step], magnitude += std::fabs(values[k * step]);
  const double levels = std::log2(static_cast<double>(std::max<std::int64_t>(2, count)));
  EXPECT_LE(std::fabs(sum - exact), levels * 0x1p-24 * magnitude) << where << " n " << count;
}

constexpr std::int64_t lengths[] = {0, 1, 2, 7, 8, 31, 32, 33, 100, 1000, 32767, 32768, 32769, 100003};

TEST(CpuRowReduction, FloatSumsOfEveryLengthAndAlignment) {
  const std::vector<float> values = normal_floats(400000);
  for (const std::int64_t length : lengths) {
    for (const std::int64_t offset : {0, 1, 3}) {
      const std::int64_t rows = length > 1000 ? 3 : 17, pitch = length + offset;
      const float* const in = values.data() + offset;
      const auto sums = reduce_rows<float, float>(Reduction::sum, DType::f32, DType::f32, in, rows, length, pitch);
      for (std::int64_t r = 0; r < rows; ++r)
        expect_sum(sums[static_cast<std::size_t>(r)], in + r * pitch, length, 1, "row " + std::to_string(r));
    }
  }
}

TEST(CpuColumnReduction, FloatSumsOfEveryShape) {
  const std::vector<float> values = normal_floats(600000, 2);
  for (const std::int64_t rows : {0, 1, 2, 5, 100, 5000}) {
    for (const std::int64_t columns : {2, 7, 8, 9, 64, 100}) {
      const std::int64_t pitch = columns + 3;
      const float* const in = values.data() + 1;
      const auto sums =
          reduce_columns<float, float>(Reduction::sum, DType::f32, DType::f32, in, rows, columns, pitch, 2);
      for (std::int64_t c = 0; c < columns; ++c)
        expect_sum(sums[static_cast<std::size_t>(c)], in + c, rows, pitch, "column " + std::to_string(c));
    }
  }
  const auto wide =
      reduce_columns<float, float>(Reduction::sum, DType::f32, DType::f32, values.data(), 100, 5999, 6000);
  for (std::int64_t c = 0; c < 5999; ++c)
    expect_sum(wide[static_cast<std::size_t>(c)], values.data() + c, 100, 6000, "wide");
}

TEST(CpuReduction, ResultsAreTheSameBitsForAnyNumberOfThreads) {
  const std::vector<float> values = normal_floats(3 * 200001, 3);
  const auto rows = [&](int pieces) {
    return reduce_rows<float, float>(Reduction::sum, DType::f32, DType::f32, values.data(), 3, 200001, 200001, pieces);
  };
  const auto columns = [&](int pieces) {
    return reduce_columns<float, float>(Reduction::sum, DType::f32, DType::f32, values.data(), 200001, 3, 3, pieces);
  };
  const auto one_rows = rows(1), one_columns = columns(1);
  for (const int pieces : {2, 3, 7, 16}) {
    EXPECT_EQ(rows(pieces), one_rows) << pieces;
    EXPECT_EQ(columns(pieces), one_columns) << pieces;
  }
  for (int r = 0; r < 3; ++r)
    expect_sum(one_rows[static_cast<std::size_t>(r)], values.data() + r * 200001, 200001, 1, "row");
  for (int c = 0; c < 3; ++c)
    expect_sum(one_columns[static_cast<std::size_t>(c)], values.data() + c, 200001, 3, "column");
}

}  // namespace
}  // namespace kiln::test
