// tests/unit/cpu/reduction_operands.h -- operands of kernels with reduced axes: random strides, values, guard bytes.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <random>
#include <stdexcept>
#include <vector>

#include "tests/unit/cpu/kernel_runner.h"

namespace kiln::test {

using Random = std::mt19937_64;

/// One operand in a buffer of its own with guard bytes, any strides and signs.
struct Operand {
  std::vector<std::int64_t> strides;
  std::vector<unsigned char> buffer;
  std::int64_t base = 0;  // bytes

  std::int64_t at(const std::vector<std::int64_t>& point, std::size_t size) const {
    std::int64_t element = 0;
    for (std::size_t d = 0; d < point.size(); ++d) element += strides[d] * point[d];
    return base + element * static_cast<std::int64_t>(size);
  }
};

/// `columns`: the last kept axis is the contiguous one, where there is one.
inline Operand place(Access& a, const std::vector<std::int64_t>& extents, int kept, bool per_element, bool columns,
                     Random& random) {
  const std::size_t rank = extents.size(), first_reduced = static_cast<std::size_t>(kept);
  std::vector<std::size_t> order;  // from the fastest axis to the slowest
  for (std::size_t d = rank; d-- > 0;) order.push_back(d);
  if (columns && kept > 0) {
    std::erase(order, first_reduced - 1);
    order.insert(order.begin(), first_reduced - 1);
  }
  Operand operand;
  operand.strides.assign(rank, 0);
  a.axes.assign(rank, AxisClass::broadcast);
  std::int64_t span = 1, low = 0, high = 0;
  for (const std::size_t d : order) {
    if (!per_element && d >= first_reduced) continue;
    if (!a.store && random() % 5 == 0 && !(d == rank - 1 && per_element)) continue;
    const bool dense = span == 1 && random() % 4 != 0 && (d == rank - 1 || d + 1 == first_reduced);
    std::int64_t stride = dense ? 1 : span + static_cast<std::int64_t>(random() % 3);
    if (!dense && random() % 4 == 0) stride = -stride;
    a.axes[d] = dense ? AxisClass::contiguous : AxisClass::strided;
    operand.strides[d] = stride;
    const std::int64_t reach = stride * std::max<std::int64_t>(0, extents[d] - 1);
    span += std::abs(reach);
    (stride < 0 ? low : high) += reach;
  }
  const auto size = static_cast<std::int64_t>(size_of(a.type));
  operand.base = 64 + static_cast<std::int64_t>(random() % 16) - low * size;
  operand.buffer.assign(static_cast<std::size_t>(operand.base + (high + 1) * size + 64), 0xa5);
  return operand;
}

inline double read(DType type, const unsigned char* at) {
  const auto as = [&](auto value) {
    std::memcpy(&value, at, sizeof value);
    return static_cast<double>(value);
  };
  switch (type) {
    case DType::f32:
      return as(0.0f);
    case DType::f64:
      return as(0.0);
    case DType::i8:
      return as(std::int8_t{});
    case DType::b1:
      return as(std::uint8_t{});
    case DType::i64:
      return as(std::int64_t{});
    case DType::f16: {
      _Float16 value;
      std::memcpy(&value, at, 2);
      return static_cast<double>(value);
    }
    case DType::bf16: {
      std::uint16_t bits;
      std::memcpy(&bits, at, 2);
      return std::bit_cast<float>(std::uint32_t{bits} << 16);
    }
    default:
      throw std::logic_error("no such operand in these programs");
  }
}

inline void fill(DType type, unsigned char* at, Random& random) {
  const double value = static_cast<double>(static_cast<std::int64_t>(random() % 8001) - 4000) / 1000.0;
  const auto put = [&](auto v) { std::memcpy(at, &v, sizeof v); };
  if (type == DType::f32) put(static_cast<float>(value));
  if (type == DType::f64) put(value);
  if (type == DType::i8) put(static_cast<std::int8_t>(random()));
  if (type == DType::f16) put(static_cast<_Float16>(value));
  if (type == DType::bf16)
    put(static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 16));
}

inline void advance(std::vector<std::int64_t>& point, const std::vector<std::int64_t>& extents, std::size_t first,
                    std::size_t last) {
  for (std::size_t d = last; d-- > first;) {
    if (++point[d] < extents[d]) return;
    point[d] = 0;
  }
}

}  // namespace kiln::test
