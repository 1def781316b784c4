// tests/fuzz/reference.cpp -- evaluates programs and compares elements.
#include "tests/fuzz/reference.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "tests/fuzz/random.h"

namespace fuzz {
namespace {

using Real = long double;

/// A value with few significant bits, so that most operations on it are exact.
double float_value(Random& random, bool special) {
  static const std::vector<double> specials = {0.0,
                                               -0.0,
                                               std::numeric_limits<double>::infinity(),
                                               -std::numeric_limits<double>::infinity(),
                                               std::nan(""),
                                               1.0,
                                               60000.0,
                                               1e-7};
  if (special && random.chance(3)) return random.pick(specials);
  if (random.chance(4)) {  // half way between two neighbours in f16 or bf16
    const int digits = random.chance(50) ? 11 : 8;
    const double odd = (1 << digits) + 2 * random.below(1 << (digits - 1)) + 1;
    return std::ldexp(random.chance(50) ? odd : -odd, -digits - random.below(3));
  }
  if (random.chance(40)) {
    const int eighths = random.below(65) - 32;
    return eighths == 0 && random.chance(50) ? -0.0 : eighths / 8.0;
  }
  return random.signed_unit() * 3;
}

std::int64_t integer_value(Random& random, DType type, bool special) {
  const bool is_signed = kiln::is_signed_integer(type);
  const int width = static_cast<int>(8 * kiln::size_of(type));
  if (special && random.chance(6)) {  // any pattern, and those at the ends
    const std::uint64_t top = std::uint64_t{1} << (width - 1);
    return wrap(random.pick(std::vector<std::uint64_t>{random.next(), random.next(), top, top - 1, ~std::uint64_t{0}}),
                type);
  }
  return is_signed ? random.below(21) - 10 : random.below(21);
}

template <class T>
T get(const unsigned char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

Number put_element(std::vector<unsigned char>& bytes, DType type, Random& random, bool special) {
  Number n;
  if (kiln::is_complex(type)) {
    const double x = float_value(random, special);
    return put_complex(bytes, type, x, float_value(random, special));
  }
  if (kiln::is_floating(type)) {
    n.x = nearest(float_value(random, special), type);
    n.sign = true;
    const std::uint64_t bits = encoded(n.x, type);
    const auto at = bytes.size();
    bytes.resize(at + kiln::size_of(type));
    std::memcpy(&bytes[at], &bits, kiln::size_of(type));  // little endian
    return n;
  }
  n.i = type == DType::b1 ? random.below(2) : integer_value(random, type, special);
  const auto at = bytes.size();
  bytes.resize(at + kiln::size_of(type));
  std::memcpy(&bytes[at], &n.i, kiln::size_of(type));  // little endian
  return n;
}

Real element_real(DType type, const unsigned char* bytes) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, bytes, kiln::size_of(type));
  return decoded(bits, type);
}

std::int64_t element_integer(DType type, const unsigned char* bytes) {
  switch (type) {
    case DType::i8:
      return get<std::int8_t>(bytes);
    case DType::i16:
      return get<std::int16_t>(bytes);
    case DType::i32:
      return get<std::int32_t>(bytes);
    case DType::u8:
    case DType::b1:
      return get<std::uint8_t>(bytes);
    case DType::u16:
      return get<std::uint16_t>(bytes);
    case DType::u32:
      return get<std::uint32_t>(bytes);
    default:
      return get<std::int64_t>(bytes);
  }
}

Real largest(DType type) {
  switch (type) {
    case DType::f16:
      return 65504;
    case DType::bf16:
      return 0x1.fep127L;
    case DType::f32:
      return std::numeric_limits<float>::max();
    default:
      return std::numeric_limits<double>::max();
  }
}

Real least(DType type) {
  return type == DType::f16 ? 0x1p-24L : type == DType::bf16 ? 0x1p-133L : type == DType::f32 ? 0x1p-149L : 0x1p-1074L;
}

class Evaluator {
 public:
  explicit Evaluator(const Program& program) : program_(program) {}
  std::vector<Values> run() {
    for (const Operand& operand : program_.operands) {
      std::vector<unsigned char> bytes;
      bases_.push_back(operand.memory >= 0 ? bases_[static_cast<std::size_t>(operand.memory)]
                                           : operand_values(operand, bytes));
    }
    for (const Node& node : program_.nodes) values_.push_back(evaluate(node));
    return std::move(values_);
  }

 private:
  const Node& node(int n) const { return program_.nodes[static_cast<std::size_t>(n)]; }
  const Values& values(int n) const { return values_[static_cast<std::size_t>(n)]; }

  Values evaluate(const Node& n) const {
    switch (n.kind) {
      case NodeKind::operand: {
        Values result;
        const Values& base = bases_[static_cast<std::size_t>(n.slot)];
        for (const std::int64_t i : view_of(program_.operands[static_cast<std::size_t>(n.slot)]).source)
          result.push_back(base[static_cast<std::size_t>(i)]);
        return result;
      }
      case NodeKind::scalar:
      case NodeKind::literal: {
        Number number;
        number.sign = true;
        if (kiln::is_floating(n.type))
          number.x = n.value;
        else
          number.i = static_cast<std::int64_t>(n.value);
        return {number};
      }
      case NodeKind::operation:
        return operation(n);
      case NodeKind::cast: {
        Values result;
        for (const Number& v : values(n.inputs[0])) result.push_back(convert(v, node(n.inputs[0]).type, n.type));
        return result;
      }
      case NodeKind::view: {
        Values result;
        for (const std::int64_t i : apply_view(n.view, node(n.inputs[0]).shape).source)
          result.push_back(i < 0 ? values(n.inputs[1])[0] : values(n.inputs[0])[static_cast<std::size_t>(i)]);
        return result;
      }
      case NodeKind::index:
        return index(n);
      case NodeKind::reduce:
      case NodeKind::scan:
        return rows(n);
      case NodeKind::take:
        return take(n);
    }
    return {};
  }

  Values take(const Node& n) const {
    const Shape& shape = node(n.inputs[0]).shape;
    const auto axis = static_cast<std::size_t>(n.axes[0]);
    std::int64_t outer = 1, inner = 1;
    for (std::size_t a = 0; a < axis; ++a) outer *= shape[a];
    for (std::size_t a = axis + 1; a < shape.size(); ++a) inner *= shape[a];
    Values result;
    for (std::int64_t o = 0; o < outer; ++o) {
      for (const Number& index : values(n.inputs[1])) {
        std::int64_t at = index.i;
        if (n.mode == 1) at = std::clamp<std::int64_t>(at, 0, shape[axis] - 1);
        if (n.mode == 2) at = (at % shape[axis] + shape[axis]) % shape[axis];
        if (at < 0) at += shape[axis];
        for (std::int64_t c = 0; c < inner; ++c)
          result.push_back(values(n.inputs[0])[static_cast<std::size_t>((o * shape[axis] + at) * inner + c)]);
      }
    }
    return result;
  }

  Values operation(const Node& n) const {
    std::vector<std::vector<std::int64_t>> sources;
    for (const int input : n.inputs) sources.push_back(broadcast_source(node(input).shape, n.shape));
    const DType operand_type = node(n.inputs[n.op == Op::where ? 1 : 0]).type;
    Values result;
    for (std::int64_t i = 0; i < count(n.shape); ++i) {
      Number operands[3];
      for (std::size_t k = 0; k < n.inputs.size(); ++k)
        operands[k] = values(n.inputs[k])[static_cast<std::size_t>(sources[k][static_cast<std::size_t>(i)])];
      result.push_back(apply_operation(n.op, operand_type, n.type, operands));
    }
    return result;
  }

  static Values index(const Node& n) {
    std::int64_t inner = 1;
    const auto axis = static_cast<std::size_t>(n.axes[0]);
    for (std::size_t a = axis + 1; a < n.shape.size(); ++a) inner *= n.shape[a];
    Values result;
    for (std::int64_t i = 0; i < count(n.shape); ++i) {
      Number number;
      number.i = i / inner % n.shape[axis];
      result.push_back(number);
    }
    return result;
  }

  /// Gathers each row of a reduction or scan in C order of the reduced axes.
  Values rows(const Node& n) const {
    const Shape& shape = node(n.inputs[0]).shape;
    Shape kept = shape;
    for (const int axis : n.axes) kept[static_cast<std::size_t>(axis)] = 1;
    const std::vector<std::int64_t> row_of = broadcast_source(kept, shape);
    const auto row_count = static_cast<std::size_t>(count(kept));
    std::vector<std::vector<Values>> gathered(row_count, std::vector<Values>(n.inputs.size()));  // by row and component
    std::vector<std::vector<std::size_t>> places(row_count);
    std::vector<DType> types;
    for (std::size_t k = 0; k < n.inputs.size(); ++k) {
      const Values& all = values(n.inputs[k]);
      const DType type = node(n.inputs[k]).type;
      types.push_back(n.accumulates ? n.type : type);
      for (std::size_t i = 0; i < all.size(); ++i)
        gathered[static_cast<std::size_t>(row_of[i])][k].push_back(n.accumulates ? convert(all[i], type, n.type)
                                                                                 : all[i]);
    }
    for (std::size_t i = 0; i < row_of.size(); ++i) places[static_cast<std::size_t>(row_of[i])].push_back(i);
    Values result;
    if (n.kind == NodeKind::reduce) {
      for (const std::vector<Values>& row : gathered)
        result.push_back(n.joining != Joining::none ? join(n, row, types) : reduced(n, row[0], types[0]));
      return result;
    }
    result.resize(row_of.size());
    for (std::size_t r = 0; r < row_count; ++r) {
      if (n.joining != Joining::none)
        gathered[r][0] = join_running(n, gathered[r], types);
      else
        scan(n.function, gathered[r][0], types[0]);
      for (std::size_t k = 0; k < places[r].size(); ++k) result[places[r][k]] = gathered[r][0][k];
    }
    return result;
  }

  static Number reduced(const Node& n, const Values& row, DType type) {
    Number result = reduce(n.function, row, type, n.ddof);
    if (n.accumulates && kiln::is_integer(n.type)) result.i = wrap(static_cast<std::uint64_t>(result.i), n.type);
    return result;
  }

  const Program& program_;
  std::vector<Values> bases_;
  std::vector<Values> values_;
};

}  // namespace

Values operand_values(const Operand& operand, std::vector<unsigned char>& bytes) {
  Random random(operand.seed);
  Values values;
  bytes.clear();
  for (std::int64_t i = 0; i < count(operand.base); ++i)
    values.push_back(put_element(bytes, operand.type, random, operand.special));
  return values;
}

std::vector<Values> evaluate(const Program& program) { return Evaluator(program).run(); }

Number stored(const Number& value, DType type) {
  Number n = value;
  if (kiln::is_complex(type)) return complex_stored(value, type);
  if (!kiln::is_floating(type) || value.unknown || !std::isfinite(value.x)) return n;
  if (value.error == 0) {  // what is known exactly rounds in one way
    n.x = nearest(value.x, type);
    n.sign = value.sign || value.x != 0;
    return n;
  }
  const Real most = largest(type);
  const Real reach = std::fabs(value.x);
  if (reach + value.error > most * (1 + unit_roundoff(type) / 2)) {
    n.unknown = reach - value.error <= most * (1 + 2 * unit_roundoff(type));
    n.x = std::copysign(std::numeric_limits<Real>::infinity(), value.x);
    n.error = 0;
    return n;
  }
  n.error += unit_roundoff(type) * (reach + value.error) + least(type);
  return n;
}

bool agrees(const Number& expected, DType type, const unsigned char* bytes) {
  if (type == DType::b1 && *bytes > 1) return false;  // truth values are 0 or 1 in memory
  if (kiln::is_complex(type)) return complex_agrees(expected, type, bytes);
  if (expected.unknown) return true;
  if (!kiln::is_floating(type)) return element_integer(type, bytes) == expected.i;
  const Real got = element_real(type, bytes);
  const Number want = stored(expected, type);
  if (want.unknown) return true;
  if (std::isnan(want.x)) return std::isnan(got);
  if (std::isinf(want.x)) return got == want.x;
  if (want.x == 0 && want.error == 0 && want.sign && std::signbit(got) != std::signbit(want.x)) return false;
  return std::fabs(got - want.x) <= want.error;
}

std::string to_text(const Number& value, DType type) {
  if (value.unknown) return value.infinite ? "infinite" : "open";
  if (kiln::is_complex(type)) return fmt::format("({:.9g}, {:.9g}) +- {:.3g}", value.x, value.y, value.error);
  if (!kiln::is_floating(type)) return fmt::format("{}", value.i);
  const Number want = stored(value, type);
  return fmt::format("{:.9g} +- {:.3g}{}", want.x, want.error, want.x == 0 && want.sign ? ", with this sign" : "");
}

std::string element_text(DType type, const unsigned char* bytes) {
  if (kiln::is_complex(type)) {
    const Number n = complex_element(type, bytes);
    return fmt::format("({:.9g}, {:.9g})", n.x, n.y);
  }
  if (!kiln::is_floating(type)) return fmt::format("{}", element_integer(type, bytes));
  return fmt::format("{:.9g}", element_real(type, bytes));
}

}  // namespace fuzz
