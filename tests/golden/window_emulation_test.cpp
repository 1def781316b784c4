// tests/golden/window_emulation_test.cpp -- stencils compiled for the CPU: every element from its neighbours, by
// definition, whatever the shape, and nothing read or written beyond the memory.
#include <gtest/gtest.h>

#include "codegen/schedule/divisor.h"
#include "codegen/schedule/window.h"
#include "tests/golden/emulation.h"
#include "tests/golden/window_cases.h"
#include "tests/support/shifts.h"

namespace kiln::emulation {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include "window_cases.inc"
#pragma GCC diagnostic pop
}  // namespace kiln::emulation

namespace kiln::golden {
namespace {

using codegen::ArgumentKind;
using Numbers = std::vector<std::int64_t>;

shifts::Beyond beyond(codegen::Fold fold) {
  switch (fold) {
    case codegen::Fold::wrap:
      return shifts::Beyond::wrap;
    case codegen::Fold::reflect:
      return shifts::Beyond::reflect;
    case codegen::Fold::symmetric:
      return shifts::Beyond::symmetric;
    default:
      return shifts::Beyond::clamp;
  }
}

void write(DType type, char* to, int value) {
  const auto as = [&](auto number) { std::memcpy(to, &number, sizeof number); };
  switch (type) {
    case DType::f32:
      return as(static_cast<float>(value));
    case DType::f64:
      return as(static_cast<double>(value));
    case DType::bf16:
      return as(bfloat16(static_cast<float>(value)).bits);
    case DType::u8:
      return as(static_cast<std::uint8_t>(value));
    default:
      return as(static_cast<std::int16_t>(value));
  }
}

/// The bytes that a result of this value has.
std::string stored(DType type, int value) {
  std::string bytes(size_of(type), '\0');
  write(type, bytes.data(), value);
  return bytes;
}

/// One operand: exactly the elements from `low` to `high` along each axis, rows at a multiple of the alignment.
class Operand {
 public:
  Operand(const codegen::Access& access, Numbers low, Numbers high, std::int64_t behind)
      : access_(access),
        bytes_(static_cast<std::int64_t>(size_of(access.type))),
        low_(std::move(low)),
        high_(std::move(high)) {
    const std::int64_t rows_at = std::max<std::int64_t>(1, access.row_alignment / bytes_);
    std::int64_t step = 1;
    strides_.resize(low_.size());
    for (std::size_t axis = low_.size(); axis-- > 0;) {
      if (access.axes[axis] == codegen::AxisClass::broadcast) continue;
      strides_[axis] = step;
      step *= high_[axis] - low_[axis] + 1;
      if (axis + 1 == low_.size()) step = (step + rows_at - 1) / rows_at * rows_at;
    }
    // `behind`: elements by which coordinate 0 of the innermost axis lies behind a multiple of the alignment.
    const std::int64_t inner = access.axes.back() == codegen::AxisClass::contiguous ? low_.back() : 0;
    const std::int64_t before = ((behind + inner) % rows_at + rows_at) % rows_at;
    std::int64_t last = 0;
    for (std::size_t axis = 0; axis < low_.size(); ++axis) last += strides_[axis] * (high_[axis] - low_[axis]);
    memory_ = std::make_unique<std::vector<char>>(static_cast<std::size_t>((before + last + 1) * bytes_ + 16), '\x55');
    const auto start = reinterpret_cast<std::uintptr_t>(memory_->data());
    first_ = memory_->data() + (16 - start % 16) % 16 + before * bytes_;
  }
  /// Of coordinates; those that do not move it are ignored.
  char* at(const Numbers& place) const {
    std::int64_t offset = 0;
    for (std::size_t axis = 0; axis < place.size(); ++axis)
      if (strides_[axis] != 0) offset += strides_[axis] * (place[axis] - low_[axis]);
    return first_ + offset * bytes_;
  }
  char* origin() const { return at(Numbers(low_.size(), 0)); }
  std::int64_t stride(std::size_t axis) const { return strides_[axis]; }
  template <class F>
  void each(F f) const {
    Numbers place = low_;
    for (;;) {
      f(place);
      std::size_t axis = place.size();
      while (axis-- > 0 && (strides_[axis] == 0 || place[axis] == high_[axis])) place[axis] = low_[axis];
      if (axis == static_cast<std::size_t>(-1)) return;
      ++place[axis];
    }
  }
  const std::vector<char>& memory() const { return *memory_; }
  std::int64_t length(std::size_t axis) const { return high_[axis] - low_[axis] + 1; }

 private:
  const codegen::Access& access_;
  std::int64_t bytes_;
  Numbers low_, high_, strides_;
  std::unique_ptr<std::vector<char>> memory_;
  char* first_;
};

int value_at(const Numbers& place, int seed) {
  std::int64_t value = seed;
  for (const std::int64_t coordinate : place) value = value * 31 + coordinate;
  return static_cast<int>(((value % 4) + 4) % 4);
}

/// Is the operand the one that is read at several places?
bool is_place(const codegen::Access& access) { return !access.displacement.empty(); }

struct Stencil {
  const ReductionCase& test;
  Numbers extents;
  Numbers starts;  ///< of the leader along folded axes

  void operator()() const;
  Operand operand(std::size_t a) const;
  std::vector<std::uint8_t> block(const std::vector<Operand>& operands) const;
  int expected(const std::vector<Operand>& operands, const Numbers& place) const;
};

Operand Stencil::operand(std::size_t a) const {
  const codegen::Access& access = test.kernel.accesses[a];
  Numbers low(extents.size()), high(extents.size());
  std::int64_t behind = access.phase;
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    high[axis] = extents[axis] - 1;
    if (access.window < 0 || access.is_folded(axis)) continue;  // cases that share nothing are folded
    for (const codegen::Access& other : test.kernel.accesses) {
      const std::int64_t by = codegen::displacement_of(other, static_cast<int>(axis));
      low[axis] = std::min(low[axis], by);
      high[axis] = std::max(high[axis], extents[axis] - 1 + by);
    }
  }
  if (access.is_folded(extents.size() - 1)) behind -= starts.back();
  return {access, low, high, behind};
}

std::vector<std::uint8_t> Stencil::block(const std::vector<Operand>& operands) const {
  const codegen::ArgumentLayout layout = codegen::argument_layout(test.kernel);
  const auto access_of = [&](const codegen::Argument& argument) -> const codegen::Access& {
    return test.kernel.accesses[argument.a];
  };
  std::vector<std::uint8_t> block(layout.size);
  for (const codegen::Argument& argument : layout.arguments) {
    std::int64_t value = 0;
    const auto axis = static_cast<std::size_t>(argument.axis);
    switch (argument.kind) {
      case ArgumentKind::pointer:
        value = reinterpret_cast<std::int64_t>(operands[argument.a].origin());
        break;
      case ArgumentKind::extent:
        value = extents[axis];
        break;
      case ArgumentKind::stride:
        value = operands[argument.a].stride(axis);
        break;
      case ArgumentKind::fold_start:
        value = starts[axis];
        if (access_of(argument).window < 0)
          value += codegen::displacement_of(access_of(argument), static_cast<int>(axis));
        break;
      case ArgumentKind::fold_length:
        value = operands[argument.a].length(axis);
        break;
      case ArgumentKind::divisor: {
        const auto divisor = codegen::divisor_of(static_cast<std::uint32_t>(extents[axis]));
        std::memcpy(&value, &divisor, 8);
        break;
      }
      default:
        break;
    }
    std::memcpy(block.data() + argument.offset, &value, argument.size);
  }
  return block;
}

int Stencil::expected(const std::vector<Operand>& operands, const Numbers& place) const {
  int sum = 0, weight = 1;
  for (std::size_t a = 0; a < test.kernel.first_store(); ++a, ++weight) {
    const codegen::Access& access = test.kernel.accesses[a];
    if (access.iota) {
      sum += weight * static_cast<int>(place.back());
      continue;
    }
    Numbers at = place;
    for (std::size_t axis = 0; axis < at.size(); ++axis) {
      at[axis] += codegen::displacement_of(access, static_cast<int>(axis));
      if (access.is_folded(axis))
        at[axis] = *shifts::source(beyond(access.folds[axis].kind), at[axis] + starts[axis], extents[axis]);
      if (operands[a].stride(axis) == 0 && access.axes[axis] == codegen::AxisClass::broadcast) at[axis] = 0;
    }
    sum += weight * value_at(at, is_place(access) ? 1 : static_cast<int>(a));
  }
  return sum;
}

void Stencil::operator()() const {
  const codegen::Kernel& kernel = test.kernel;
  const auto emitted = std::find_if(std::begin(emulation::emitted), std::end(emulation::emitted),
                                    [&](const emulation::Emitted& each) { return test.name == each.name; });
  ASSERT_NE(emitted, std::end(emulation::emitted));
  std::vector<Operand> operands;
  for (std::size_t a = 0; a < kernel.accesses.size(); ++a) {
    operands.push_back(operand(a));
    if (kernel.accesses[a].store || kernel.accesses[a].iota) continue;
    const int seed = is_place(kernel.accesses[a]) ? 1 : static_cast<int>(a);
    operands[a].each(
        [&](const Numbers& place) { write(kernel.accesses[a].type, operands[a].at(place), value_at(place, seed)); });
  }
  const std::vector<std::uint8_t> arguments = block(operands);
  ASSERT_EQ(arguments.size(), emitted->size);
  emulation::launch(codegen::launch_shape(kernel, test.schedule, {extents}), false,
                    [&] { emitted->call(arguments.data()); });
  Operand& result = operands.back();
  const DType type = kernel.accesses.back().type;
  result.each([&](const Numbers& place) {
    const std::string want = stored(type, expected(operands, place));
    ASSERT_EQ(std::string(result.at(place), size_of(type)), want) << testing::PrintToString(place);
  });
  result.each([&](const Numbers& place) { std::memset(result.at(place), 0x55, size_of(type)); });
  for (const char byte : result.memory()) ASSERT_EQ(byte, 0x55) << "something beside the result was written";
}

/// Starts of the leader such that every position stays within what one fold brings back; as if the leader were the
/// centre, or as far from it as may be. Empty where the axis is too short.
Numbers starts_of(const codegen::Kernel& kernel, const Numbers& extents, bool far) {
  Numbers starts(extents.size());
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    if (!kernel.accesses[0].is_folded(axis)) continue;
    int low = 0, high = 0;
    for (const codegen::Access& access : kernel.accesses) {
      low = std::min(low, codegen::displacement_of(access, static_cast<int>(axis)));
      high = std::max(high, codegen::displacement_of(access, static_cast<int>(axis)));
    }
    const codegen::Fold kind = kernel.accesses[0].folds[axis].kind;
    const std::int64_t n = extents[axis];
    const std::int64_t reach = kind == codegen::Fold::reflect || kind == codegen::Fold::wrap ? n - 1 : n;
    if (high - low > 2 * reach) return {};
    starts[axis] = std::clamp<std::int64_t>(far ? reach : -(low + high) / 2, -reach - low, reach - high);
  }
  return starts;
}

class Windows : public ::testing::TestWithParam<std::size_t> {};

TEST_P(Windows, ComputeEveryElementFromItsNeighbours) {
  const ReductionCase test = window_cases()[GetParam()];
  const auto rank = static_cast<std::size_t>(test.kernel.rank);
  for (const std::int64_t columns : {1, 2, 4, 7, 31, 32, 33, 64, 101}) {
    if (test.schedule.whole_vectors && columns % test.schedule.vector != 0) continue;
    for (const std::int64_t rows : {1, 2, 5, 8, 17, 33}) {
      Numbers extents(rank, 3);
      extents.back() = columns;
      if (rank > 1) extents[rank - 2] = rows;
      if (rank > 2) extents[0] = rows % 5 + 1;
      for (const bool far : {false, true}) {
        const Numbers starts = starts_of(test.kernel, extents, far);
        if (starts.empty()) continue;
        Stencil{test, extents, starts}();
        if (HasFatalFailure()) {
          FAIL() << "extents " << testing::PrintToString(extents) << " starts " << testing::PrintToString(starts);
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Windows, ::testing::Range<std::size_t>(0, window_cases().size()),
                         [](const auto& test) { return window_cases()[test.param].name; });

}  // namespace
}  // namespace kiln::golden
