// codegen/emit/llvm_builder.cpp -- text of vector instructions and constants.
#include "codegen/emit/llvm_builder.h"

#include <bit>

#include "support/check.h"

namespace kiln::codegen {

Lane lane_of(DType type) {
  switch (type) {
    case DType::b1:
      return Lane::i1;
    case DType::i8:
    case DType::u8:
      return Lane::i8;
    case DType::i16:
    case DType::u16:
    case DType::f16:
    case DType::bf16:
      return Lane::i16;
    case DType::i32:
    case DType::u32:
      return Lane::i32;
    case DType::i64:
    case DType::u64:
      return Lane::i64;
    case DType::f32:
    case DType::c64:
      return Lane::f32;
    default:
      return Lane::f64;
  }
}

int bytes_of(Lane lane) {
  constexpr int bytes[] = {1, 1, 2, 4, 8, 4, 8};
  return bytes[static_cast<int>(lane)];
}

const char* name_of(Lane lane) {
  constexpr const char* names[] = {"i1", "i8", "i16", "i32", "i64", "float", "double"};
  return names[static_cast<int>(lane)];
}

CpuFeatures parse_cpu_features(std::string_view text) {
  const auto has = [&](std::string_view word) {
    for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
      const auto edge = [](char c) { return c == ',' || c == ' '; };
      const std::size_t end = at + word.size();
      if ((at == 0 || edge(text[at - 1])) && (end == text.size() || edge(text[end]))) return true;
    }
    return false;
  };
  CpuFeatures features;
  if (text.starts_with("aarch64")) return {.fma = true, .f16c = true, .rounding = true, .vector_bits = 128};
  features.fma = has("fma");
  features.f16c = has("f16c");
  features.rounding = has("sse4.1") || has("avx") || has("avx2");
  features.vector_bits = has("avx512f") && has("avx512bw") && has("avx512dq") && has("avx512vl") ? 512
                         : has("avx2")                                                           ? 256
                                                                                                 : 128;
  return features;
}

std::string IrBuilder::type(Lane lane) const { return fmt::format("<{} x {}>", width_, name_of(lane)); }

std::string IrBuilder::suffix(Lane lane) const {
  constexpr const char* names[] = {"i1", "i8", "i16", "i32", "i64", "f32", "f64"};
  return fmt::format("v{}{}", width_, names[static_cast<int>(lane)]);
}

std::string IrBuilder::fresh(std::string_view stem) { return fmt::format("%{}{}", stem, next_++); }

void IrBuilder::line(std::string_view instruction) {
  text_ += "  ";
  text_ += instruction;
  text_ += '\n';
}

void IrBuilder::label(std::string_view name) {
  block_ = name;
  text_ += name;
  text_ += ":\n";
}

IrValue IrBuilder::emit(Lane lane, std::string_view instruction) { return value(lane, emit_scalar(instruction)); }

std::string IrBuilder::emit_scalar(std::string_view instruction) {
  std::string name = fresh();
  line(fmt::format("{} = {}", name, instruction));
  return name;
}

std::string float_text(Lane lane, double value) {
  if (lane == Lane::f32) value = static_cast<float>(value);
  return fmt::format("0x{:016X}", std::bit_cast<std::uint64_t>(value));
}

IrValue IrBuilder::bits(Lane lane, std::uint64_t bits) {
  std::string scalar;
  if (lane == Lane::f64) {
    scalar = fmt::format("0x{:016X}", bits);
  } else if (lane == Lane::f32) {
    // A signalling NaN would become quiet on its way through a double in C++, so the widening is done on the bits.
    const std::uint32_t b = static_cast<std::uint32_t>(bits);
    const bool nan = (b & 0x7fffffffu) > 0x7f800000u;
    const std::uint64_t wide =
        nan ? (std::uint64_t{b >> 31} << 63) | 0x7ff0000000000000u | (std::uint64_t{b & 0x7fffffu} << 29)
            : std::bit_cast<std::uint64_t>(static_cast<double>(std::bit_cast<float>(b)));
    scalar = fmt::format("0x{:016X}", wide);
  } else if (lane == Lane::i1) {
    scalar = bits ? "true" : "false";
  } else {
    const int unused = 64 - 8 * bytes_of(lane);
    scalar = fmt::format("{}", static_cast<std::int64_t>(bits << unused) >> unused);
  }
  return value(lane, fmt::format("splat ({} {})", name_of(lane), scalar));
}

IrValue IrBuilder::number(Lane lane, double v) {
  if (is_float(lane)) return value(lane, fmt::format("splat ({} {})", name_of(lane), float_text(lane, v)));
  return bits(lane, static_cast<std::uint64_t>(static_cast<std::int64_t>(v)));
}

IrValue IrBuilder::splat(Lane lane, std::string_view scalar) {
  const IrValue one =
      emit(lane, fmt::format("insertelement {} poison, {} {}, i32 0", type(lane), name_of(lane), scalar));
  return emit(lane, fmt::format("shufflevector {0} {1}, {0} poison, {2} zeroinitializer", type(lane), one.text,
                                type(Lane::i32)));
}

IrValue IrBuilder::lane_numbers(Lane lane) {
  std::string text = "<";
  for (int i = 0; i < width_; ++i) text += fmt::format("{}{} {}", i ? ", " : "", name_of(lane), i);
  return value(lane, text + ">");
}

IrValue IrBuilder::binary(std::string_view opcode, const IrValue& a, const IrValue& b) {
  return emit(a.lane, fmt::format("{} {} {}, {}", opcode, type(a.lane), a.text, b.text));
}

IrValue IrBuilder::compare(std::string_view predicate, const IrValue& a, const IrValue& b) {
  return emit(Lane::i1, fmt::format("{} {} {}, {}", predicate, type(a.lane), a.text, b.text));
}

IrValue IrBuilder::convert(std::string_view opcode, const IrValue& a, Lane to) {
  return emit(to, fmt::format("{} {} {} to {}", opcode, type(a.lane), a.text, type(to)));
}

IrValue IrBuilder::select(const IrValue& condition, const IrValue& a, const IrValue& b) {
  return emit(a.lane, fmt::format("select {} {}, {} {}, {} {}", type(Lane::i1), condition.text, type(a.lane), a.text,
                                  type(b.lane), b.text));
}

IrValue IrBuilder::intrinsic(std::string_view name, std::initializer_list<IrValue> operands) {
  const Lane lane = operands.begin()->lane;
  std::string text = fmt::format("call {} @llvm.{}.{}(", type(lane), name, suffix(lane));
  for (const IrValue& operand : operands) {
    if (&operand != operands.begin()) text += ", ";
    text += fmt::format("{} {}", type(operand.lane), operand.text);
  }
  return emit(lane, text + ")");
}

IrValue IrBuilder::negate(const IrValue& a) {
  if (is_float(a.lane)) return emit(a.lane, fmt::format("fneg {} {}", type(a.lane), a.text));
  return binary("sub", bits(a.lane, 0), a);
}

IrValue IrBuilder::mad(const IrValue& a, const IrValue& b, const IrValue& c) {
  if (features_.fma) return intrinsic("fma", {a, b, c});
  return a * b + c;
}

namespace {
IrValue arithmetic(const char* integer, const char* floating, const IrValue& a, const IrValue& b) {
  return a.builder->binary(is_float(a.lane) ? floating : integer, a, b);
}
}  // namespace

IrValue operator+(const IrValue& a, const IrValue& b) { return arithmetic("add", "fadd", a, b); }
IrValue operator-(const IrValue& a, const IrValue& b) { return arithmetic("sub", "fsub", a, b); }
IrValue operator*(const IrValue& a, const IrValue& b) { return arithmetic("mul", "fmul", a, b); }
IrValue operator/(const IrValue& a, const IrValue& b) { return a.builder->binary("fdiv", a, b); }
IrValue operator-(const IrValue& a) { return a.builder->negate(a); }
IrValue operator&(const IrValue& a, const IrValue& b) { return a.builder->binary("and", a, b); }
IrValue operator|(const IrValue& a, const IrValue& b) { return a.builder->binary("or", a, b); }
IrValue operator^(const IrValue& a, const IrValue& b) { return a.builder->binary("xor", a, b); }
IrValue operator<<(const IrValue& a, int count) { return a.builder->binary("shl", a, number_like(a, count)); }
IrValue operator>>(const IrValue& a, int count) { return a.builder->binary("lshr", a, number_like(a, count)); }
IrValue shift_arithmetic(const IrValue& a, int count) { return a.builder->binary("ashr", a, number_like(a, count)); }
IrValue operator!(const IrValue& a) { return a ^ a.builder->bits(Lane::i1, 1); }
IrValue operator<(const IrValue& a, const IrValue& b) {
  return a.builder->compare(is_float(a.lane) ? "fcmp olt" : "icmp slt", a, b);
}
IrValue operator>(const IrValue& a, const IrValue& b) {
  return a.builder->compare(is_float(a.lane) ? "fcmp ogt" : "icmp sgt", a, b);
}
IrValue operator<=(const IrValue& a, const IrValue& b) {
  return a.builder->compare(is_float(a.lane) ? "fcmp ole" : "icmp sle", a, b);
}
IrValue operator>=(const IrValue& a, const IrValue& b) {
  return a.builder->compare(is_float(a.lane) ? "fcmp oge" : "icmp sge", a, b);
}
IrValue equal(const IrValue& a, const IrValue& b) {
  return a.builder->compare(is_float(a.lane) ? "fcmp oeq" : "icmp eq", a, b);
}

IrValue absolute(const IrValue& a) { return a.builder->intrinsic("fabs", {a}); }
IrValue square_root(const IrValue& a) { return a.builder->intrinsic("sqrt", {a}); }

IrValue round_even(const IrValue& a) {
  if (a.builder->features().rounding) return a.builder->intrinsic("rint", {a});
  // Adding 1.5 * 2^(mantissa bits) leaves the integer in the low bits; the default rounding mode is to nearest even.
  const double magic = a.lane == Lane::f32 ? 12582912.0 : 6755399441055744.0;
  return (a + magic) - magic;
}

IrValue copy_sign(const IrValue& magnitude, const IrValue& sign) {
  return magnitude.builder->intrinsic("copysign", {magnitude, sign});
}

IrValue unordered(const IrValue& a, const IrValue& b) { return a.builder->compare("fcmp uno", a, b); }
IrValue is_nan(const IrValue& a) { return a.builder->compare("fcmp uno", a, a); }
IrValue to_f64(const IrValue& a) { return a.builder->convert("fpext", a, Lane::f64); }
IrValue to_f32(const IrValue& a) { return a.builder->convert("fptrunc", a, Lane::f32); }
IrValue bitcast(const IrValue& a, Lane to) { return a.builder->convert("bitcast", a, to); }

IrValue polynomial(const IrValue& x, std::initializer_list<double> coefficients) {
  IrValue sum = number_like(x, *coefficients.begin());
  for (const double* c = coefficients.begin() + 1; c != coefficients.end(); ++c) sum = mad(sum, x, *c);
  return sum;
}

}  // namespace kiln::codegen
