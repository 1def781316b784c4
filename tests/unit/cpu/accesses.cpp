// tests/unit/cpu/accesses.cpp -- loop nests: every rank, stride class, element size and chunking against a plain loop.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/unit/cpu/kernel_runner.h"

namespace kiln::test {
namespace {

using Random = std::mt19937_64;

/// One operand in a buffer of its own, with guard bytes around what may be touched.
struct Operand {
  std::vector<AxisClass> axes;
  std::vector<std::int64_t> strides;  // in elements
  std::vector<unsigned char> buffer;
  std::size_t base = 0;  // byte offset of element (0, ..., 0)

  std::size_t at(const std::vector<std::int64_t>& point, std::size_t size) const {
    std::int64_t element = 0;
    for (std::size_t d = 0; d < point.size(); ++d) element += strides[d] * point[d];
    return base + static_cast<std::size_t>(element * static_cast<std::int64_t>(size));
  }
};

/// Strides that give every point its own element (stores) or allow broadcasting (loads); signs and gaps at random.
Operand make_operand(const std::vector<std::int64_t>& extents, std::size_t size, bool store, std::size_t misalign,
                     Random& random) {
  Operand operand;
  const std::size_t rank = extents.size();
  operand.axes.resize(rank);
  operand.strides.resize(rank);
  std::int64_t span = 1, low = 0, high = 0;
  for (std::size_t d = rank; d-- > 0;) {
    const std::uint64_t roll = random() % 4;
    std::int64_t stride = 0;
    if (roll == 0 && !store) {
      operand.axes[d] = AxisClass::broadcast;
    } else if (roll <= 1 && span == 1) {
      operand.axes[d] = AxisClass::contiguous;
      stride = 1;
    } else {
      operand.axes[d] = AxisClass::strided;
      stride = span + static_cast<std::int64_t>(random() % 3);
      if (random() % 3 == 0) stride = -stride;
    }
    operand.strides[d] = stride;
    span += std::abs(stride) * (extents[d] - 1);
    (stride < 0 ? low : high) += stride * (extents[d] - 1);
  }
  const std::size_t guard = 64;
  operand.base = guard + misalign + static_cast<std::size_t>(-low) * size;
  operand.buffer.resize(operand.base + static_cast<std::size_t>(high + 1) * size + guard);
  for (unsigned char& byte : operand.buffer) byte = static_cast<unsigned char>(random());
  return operand;
}

void advance(std::vector<std::int64_t>& point, const std::vector<std::int64_t>& extents) {
  for (std::size_t d = point.size(); d-- > 0;) {
    if (++point[d] < extents[d]) return;
    point[d] = 0;
  }
}

struct Case {
  Kernel kernel;
  std::vector<std::int64_t> extents;
  Operand from, to;
};

/// A copy kernel of one element type: pure addressing, any bits.
Case make_case(DType type, std::size_t rank, Random& random) {
  Case c;
  for (std::size_t d = 0; d < rank; ++d)
    c.extents.push_back(1 + static_cast<std::int64_t>(random() % (rank > 3 ? 3 : 9)));
  if (rank && random() % 2) c.extents.back() = 30 + static_cast<std::int64_t>(random() % 40);
  const std::size_t misalign = random() % 2 ? random() % 16 : 0;
  c.from = make_operand(c.extents, size_of(type), false, misalign, random);
  c.to = make_operand(c.extents, size_of(type), true, misalign, random);
  c.kernel.rank = static_cast<int>(rank);
  c.kernel.index = random() % 2 ? codegen::IndexWidth::bits32 : codegen::IndexWidth::bits64;
  c.kernel.accesses = {access(type, c.from.axes), access(type, c.to.axes, true)};
  const NodeId value = c.kernel.body.load(0, type);
  c.kernel.body.outputs = {value};
  return c;
}

void check_case(Case& c, DType type, Random& random) {
  const std::size_t size = size_of(type);
  const CompiledKernel kernel(c.kernel);
  std::vector<unsigned char> expected = c.to.buffer;
  std::int64_t points = 1;
  for (const std::int64_t extent : c.extents) points *= extent;
  std::vector<std::int64_t> point(c.extents.size(), 0);
  for (std::int64_t k = 0; k < points; ++k, advance(point, c.extents)) {
    std::memcpy(&expected[c.to.at(point, size)], &c.from.buffer[c.from.at(point, size)], size);
  }
  CallArguments call;
  call.pointers = {&c.from.buffer[c.from.base], &c.to.buffer[c.to.base]};
  call.extents = c.extents;
  call.strides = {c.from.strides, c.to.strides};
  const std::vector<char> block = kernel.block(call);
  const std::int64_t units = codegen::cpu_units(c.kernel, {c.extents});
  for (std::int64_t begin = 0; begin < units;) {  // any division into ranges gives the same result
    const std::int64_t end = std::min(units, begin + 1 + static_cast<std::int64_t>(random() % 40));
    kernel.run(block, begin, end);
    begin = end;
  }
  EXPECT_EQ(c.to.buffer, expected) << name_of(type) << " rank " << c.extents.size() << "\n" << kernel.source.text;
}

TEST(CpuAccesses, EveryRankAndStrideClassCopiesExactlyItsElements) {
  Random random(1);
  for (const DType type : {DType::i8, DType::i16, DType::f32, DType::i64, DType::c64, DType::c128, DType::f16}) {
    for (std::size_t rank = 0; rank <= 8; ++rank) {
      Case c = make_case(type, rank, random);
      check_case(c, type, random);
      if (HasFailure()) return;
    }
  }
}

TEST(CpuAccesses, LongRowsAreSplitIntoColumnBlocks) {
  Kernel kernel = operation_kernel(Op::add, 2, DType::i32, DType::i32);
  kernel.rank = 2;
  for (Access& a : kernel.accesses) a.axes = {AxisClass::strided, AxisClass::contiguous};
  kernel.accesses[1].axes = {AxisClass::broadcast, AxisClass::contiguous};
  const CompiledKernel compiled(kernel);
  const std::int64_t columns = 2 * codegen::cpu_column_block + 37, rows = 3;
  std::vector<std::int32_t> a(static_cast<std::size_t>(rows * columns)), b(static_cast<std::size_t>(columns)),
      y(a.size(), -1);
  for (std::size_t k = 0; k < a.size(); ++k) a[k] = static_cast<std::int32_t>(k * 3);
  for (std::size_t k = 0; k < b.size(); ++k) b[k] = static_cast<std::int32_t>(k * 1000003);
  CallArguments call;
  call.pointers = {a.data(), b.data(), y.data()};
  call.extents = {rows, columns};
  call.strides = {{columns, 1}, {0, 1}, {columns, 1}};
  EXPECT_EQ(codegen::cpu_units(kernel, {call.extents}), rows * 3);
  for (const std::int64_t unit : {8, 0, 3, 1, 2, 7, 4, 5, 6}) compiled.run(compiled.block(call), unit, unit + 1);
  for (std::size_t k = 0; k < a.size(); ++k) {
    ASSERT_EQ(y[k], static_cast<std::int32_t>(static_cast<std::uint32_t>(a[k]) +
                                              static_cast<std::uint32_t>(b[k % static_cast<std::size_t>(columns)])));
  }
}

TEST(CpuAccesses, OutputMayBeTheInput) {
  const CompiledKernel kernel(operation_kernel(Op::add, 2, DType::f32, DType::f32));
  std::vector<float> x(1000);
  for (std::size_t k = 0; k < x.size(); ++k) x[k] = static_cast<float>(k);
  CallArguments call;
  call.pointers = {x.data(), x.data(), x.data()};
  call.extents = {1000};
  kernel.run(call);
  for (std::size_t k = 0; k < x.size(); ++k) ASSERT_EQ(x[k], 2 * static_cast<float>(k));
}

TEST(CpuAccesses, IotaIsAffineInEveryCoordinate) {
  Kernel kernel;
  kernel.rank = 2;
  kernel.index = codegen::IndexWidth::bits64;
  Access index = access(DType::i64, {AxisClass::strided, AxisClass::strided});
  index.iota = true;
  kernel.accesses = {index, access(DType::i64, {AxisClass::strided, AxisClass::contiguous}, true)};
  kernel.body.outputs = {kernel.body.iota(0)};
  const CompiledKernel compiled(kernel);
  std::vector<std::int64_t> y(5 * 50);
  CallArguments call;
  call.pointers = {nullptr, y.data()};
  call.offsets = {std::int64_t{1} << 40, 0};
  call.extents = {5, 50};
  call.strides = {{-1000, 7}, {50, 1}};
  compiled.run(call);
  for (std::int64_t row = 0; row < 5; ++row) {
    for (std::int64_t column = 0; column < 50; ++column) {
      ASSERT_EQ(y[static_cast<std::size_t>(row * 50 + column)], (std::int64_t{1} << 40) - 1000 * row + 7 * column);
    }
  }
}

TEST(CpuAccesses, ResultsDoNotDependOnPositionChunksOrAlignment) {
  // sin takes its narrow, wide and library paths here; neighbours must not influence a lane.
  for (const Op op : {Op::sin, Op::exp, Op::log, Op::tanh, Op::erfc, Op::tan}) {
    const CompiledKernel kernel(operation_kernel(op, 1, DType::f32, DType::f32));
    Random random(5);
    const std::size_t n = 999;
    std::vector<float> storage(n + 20), reference(n), single(n);
    for (std::size_t k = 0; k < n; ++k) {
      const std::uint32_t bits = static_cast<std::uint32_t>(random()) & 0x7fffffffu;
      std::memcpy(&storage[k], &bits, 4);
    }
    CallArguments call;
    call.pointers = {storage.data(), reference.data()};
    call.extents = {static_cast<std::int64_t>(n)};
    kernel.run(call);
    for (std::size_t k = 0; k < n; ++k) {  // alone, in a tail of one
      call.pointers = {&storage[k], &single[k]};
      kernel.run(kernel.block(call), 0, 1);
    }
    EXPECT_EQ(std::memcmp(single.data(), reference.data(), n * 4), 0);
    std::vector<unsigned char> odd_in(n * 4 + 1), odd_out(n * 4 + 3);
    std::memcpy(&odd_in[1], storage.data(), n * 4);
    call.pointers = {&odd_in[1], &odd_out[3]};
    Kernel packed = operation_kernel(op, 1, DType::f32, DType::f32);
    CompiledKernel(packed).run(call);  // alignment 1
    EXPECT_EQ(std::memcmp(&odd_out[3], reference.data(), n * 4), 0);
  }
}

}  // namespace
}  // namespace kiln::test
