// tests/golden/reduction_run.h -- runs an emitted reduction on arrays of the host and compares with the reference.
#pragma once

#include <memory>
#include <numeric>

#include "codegen/schedule/divisor.h"
#include "tests/golden/emulation.h"
#include "tests/golden/reduction_cases.h"
#include "tests/golden/reference.h"

namespace kiln::golden {

inline double read_value(DType type, const void* from) {
  const auto as = [&]<class T>(T) {
    T value;
    std::memcpy(&value, from, sizeof(T));
    return value;
  };
  switch (type) {
    case DType::b1:
    case DType::u8:
      return as(std::uint8_t{});
    case DType::i8:
      return as(std::int8_t{});
    case DType::i16:
      return as(std::int16_t{});
    case DType::i32:
      return as(std::int32_t{});
    case DType::i64:
      return static_cast<double>(as(std::int64_t{}));
    case DType::bf16:
      return static_cast<double>(static_cast<float>(as(bfloat16{})));
    case DType::f32:
      return static_cast<double>(as(float{}));
    case DType::f64:
      return as(double{});
    default:
      ADD_FAILURE() << "no such type in these tests";
      return 0;
  }
}

inline void write_value(DType type, void* to, double value) {
  const auto as = [&](auto typed) { std::memcpy(to, &typed, sizeof(typed)); };
  switch (type) {
    case DType::u8:
      return as(static_cast<std::uint8_t>(std::fabs(value * 20)));
    case DType::i8:
      return as(static_cast<std::int8_t>(value * 20));
    case DType::i16:
      return as(static_cast<std::int16_t>(value * 20));
    case DType::bf16:
      return as(bfloat16(static_cast<float>(value)));
    case DType::f32:
      return as(static_cast<float>(value));
    case DType::f64:
      return as(value);
    default:
      ADD_FAILURE() << "no such type in these tests";
  }
}

/// The elements of one access: contiguous axis first, other axes with gaps, at the least alignment that it promises.
struct Elements {
  Elements(const codegen::Access& access, const std::vector<std::int64_t>& extents)
      : type(access.type), strides(extents.size(), 0) {
    const auto size = static_cast<std::int64_t>(size_of(type));
    const std::int64_t multiple = std::max<std::int64_t>(1, access.alignment / size);
    std::int64_t reach = 1;
    const auto place = [&](std::size_t axis, std::int64_t step) {
      strides[axis] = step;
      reach = step * std::max<std::int64_t>(extents[axis], 1);
    };
    for (std::size_t axis = extents.size(); axis-- > 0;) {
      if (access.axes[axis] == codegen::AxisClass::contiguous) place(axis, 1);
    }
    for (std::size_t axis = extents.size(); axis-- > 0;) {
      if (access.axes[axis] != codegen::AxisClass::strided) continue;
      const std::int64_t step = (reach + multiple - 1) / multiple * multiple;
      place(axis, step > 1 ? step : 3);
    }
    offset = access.alignment % 16;
    bytes.assign(static_cast<std::size_t>(offset + reach * size), 0xcd);
    memory = std::shared_ptr<std::uint8_t[]>(
        static_cast<std::uint8_t*>(::operator new(bytes.size(), std::align_val_t{16})),
        [](std::uint8_t* storage) { ::operator delete(storage, std::align_val_t{16}); });
    std::copy(bytes.begin(), bytes.end(), memory.get());
  }
  std::size_t place(const std::vector<std::int64_t>& coordinates) const {
    const std::int64_t element =
        std::inner_product(coordinates.begin(), coordinates.end(), strides.begin(), std::int64_t{0});
    return static_cast<std::size_t>(offset + element * static_cast<std::int64_t>(size_of(type)));
  }
  std::uint8_t* at(const std::vector<std::int64_t>& coordinates) const { return memory.get() + place(coordinates); }
  DType type;
  std::vector<std::int64_t> strides;
  std::int64_t offset = 0;
  std::vector<std::uint8_t> bytes;  ///< what the memory should hold
  std::shared_ptr<std::uint8_t[]> memory;
};

/// Coordinates of position `index` among `extents` from axis `first` on.
inline void decode(std::int64_t index, const std::vector<std::int64_t>& extents, std::size_t first, std::size_t end,
                   std::vector<std::int64_t>& coordinates) {
  for (std::size_t axis = end; axis-- > first;) {
    coordinates[axis] = index % extents[axis];
    index /= extents[axis];
  }
}

/// One call of `kernel` by `call`: arrays made for `extents`, arguments placed as the launcher does.
class ReductionRun {
 public:
  ReductionRun(const codegen::Kernel& kernel, std::vector<std::int64_t> extents);
  /// Fills the loads with value(i) of a running number.
  void fill(const std::function<double(std::size_t)>& value);
  /// Fills load `a` with value(row, element).
  void fill_rows(std::size_t a, const std::function<double(std::int64_t, std::int64_t)>& value);
  /// Output `o` is written over load `a`, which has the same strides.
  void write_over(std::size_t o, std::size_t a) { elements_[kernel_.first_store() + o].memory = elements_[a].memory; }
  /// The value of output `o` of a row.
  double result(std::size_t o, std::int64_t row, std::int64_t element = 0) const;
  void launch(const codegen::Schedule& schedule, void (*call)(const void*), std::size_t argument_bytes,
              const std::vector<double>& parameters, std::uint64_t order);
  /// Compares every output, and that nothing else changed. `tolerance`: relative to 1 + |expected|.
  void expect(const std::vector<double>& parameters, double tolerance) const;
  /// Bytes of all outputs.
  std::vector<std::uint8_t> results() const;
  std::int64_t length() const;

 private:
  double operand(std::size_t a, const std::vector<std::int64_t>& coordinates) const;

  const codegen::Kernel& kernel_;
  std::vector<std::int64_t> extents_;
  std::vector<Elements> elements_;  ///< of loads and stores; iotas hold no memory
  std::size_t kept_;
};

}  // namespace kiln::golden
