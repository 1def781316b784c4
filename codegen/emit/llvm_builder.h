// codegen/emit/llvm_builder.h -- writes LLVM IR text for vectors of one width: values with C++ operators, blocks,
// functions.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include <kiln/dtype.h>

namespace kiln::codegen {

/// Type of one vector lane. f16 and bf16 values travel as their bits in i16.
enum class Lane : std::uint8_t { i1, i8, i16, i32, i64, f32, f64 };

Lane lane_of(DType type);
int bytes_of(Lane lane);
const char* name_of(Lane lane);
inline bool is_float(Lane lane) { return lane >= Lane::f32; }

/// What the target can do, read from the feature list of the architecture string ("x86-64 avx2,fma,f16c").
struct CpuFeatures {
  bool fma = false, f16c = false, rounding = false;  ///< rounding: SSE4.1 or NEON round instructions
  int vector_bits = 128;
};
CpuFeatures parse_cpu_features(std::string_view text);

class IrBuilder;

/// A vector of the builder's width, by the name of its register or as a constant.
struct IrValue {
  IrBuilder* builder = nullptr;
  Lane lane = Lane::f32;
  std::string text;
};

class IrBuilder {
 public:
  IrBuilder(int width, CpuFeatures features) : width_(width), features_(features) {}

  int width() const { return width_; }
  const CpuFeatures& features() const { return features_; }
  std::string& text() { return text_; }
  const std::string& text() const { return text_; }

  std::string type(Lane lane) const;    ///< "<16 x float>"
  std::string suffix(Lane lane) const;  ///< "v16f32", for names of intrinsics
  std::string fresh(std::string_view stem = "t");
  void line(std::string_view instruction);
  void label(std::string_view name);                   ///< starts a block
  const std::string& block() const { return block_; }  ///< the block being written

  /// Appends `%new = instruction` and returns the new value.
  IrValue emit(Lane lane, std::string_view instruction);
  std::string emit_scalar(std::string_view instruction);
  IrValue value(Lane lane, std::string name) { return {this, lane, static_cast<std::string&&>(name)}; }
  /// Every lane the same constant, given by its bits or rounded from a double (integers: exact).
  IrValue bits(Lane lane, std::uint64_t bits);
  IrValue number(Lane lane, double value);
  IrValue splat(Lane lane, std::string_view scalar);     ///< of a scalar value, by two instructions
  IrValue repeated(Lane lane, std::string_view scalar);  ///< of a scalar constant: <s, s, s, ...>
  IrValue lane_numbers(Lane lane);                       ///< <0, 1, 2, ...>

  IrValue binary(std::string_view opcode, const IrValue& a, const IrValue& b);
  IrValue compare(std::string_view predicate, const IrValue& a, const IrValue& b);  ///< "fcmp olt", "icmp ult"
  IrValue convert(std::string_view opcode, const IrValue& a, Lane to);
  IrValue select(const IrValue& condition, const IrValue& a, const IrValue& b);
  IrValue intrinsic(std::string_view name, std::initializer_list<IrValue> operands);
  IrValue negate(const IrValue& a);
  /// a * b + c: one rounding where the target has FMA, two elsewhere; the formulas in the maths hold for both.
  IrValue mad(const IrValue& a, const IrValue& b, const IrValue& c);

 private:
  int width_;
  CpuFeatures features_;
  std::string text_;
  std::string block_ = "entry";
  int next_ = 0;
};

/// Bits of a float literal as LLVM spells them: always the double's sixteen hexadecimal digits.
std::string float_text(Lane lane, double value);

// Arithmetic by the lane type (integers wrap); a C++ number becomes a constant of the other operand's lane type.
IrValue operator+(const IrValue& a, const IrValue& b);
IrValue operator-(const IrValue& a, const IrValue& b);
IrValue operator*(const IrValue& a, const IrValue& b);
IrValue operator/(const IrValue& a, const IrValue& b);  ///< floats only
IrValue operator-(const IrValue& a);
IrValue operator&(const IrValue& a, const IrValue& b);
IrValue operator|(const IrValue& a, const IrValue& b);
IrValue operator^(const IrValue& a, const IrValue& b);
IrValue operator<<(const IrValue& a, int count);
IrValue operator>>(const IrValue& a, int count);  ///< logical
IrValue operator!(const IrValue& a);              ///< of i1
IrValue shift_arithmetic(const IrValue& a, int count);
// Comparisons: floats ordered (false for NaN), integers signed.
IrValue operator<(const IrValue& a, const IrValue& b);
IrValue operator>(const IrValue& a, const IrValue& b);
IrValue operator<=(const IrValue& a, const IrValue& b);
IrValue operator>=(const IrValue& a, const IrValue& b);
IrValue equal(const IrValue& a, const IrValue& b);
inline IrValue number_like(const IrValue& a, double value) { return a.builder->number(a.lane, value); }
inline IrValue operator+(const IrValue& a, double b) { return a + number_like(a, b); }
inline IrValue operator-(const IrValue& a, double b) { return a - number_like(a, b); }
inline IrValue operator*(const IrValue& a, double b) { return a * number_like(a, b); }
inline IrValue operator+(double a, const IrValue& b) { return number_like(b, a) + b; }
inline IrValue operator-(double a, const IrValue& b) { return number_like(b, a) - b; }
inline IrValue operator*(double a, const IrValue& b) { return number_like(b, a) * b; }
inline IrValue operator/(double a, const IrValue& b) { return number_like(b, a) / b; }
inline IrValue operator<(const IrValue& a, double b) { return a < number_like(a, b); }
inline IrValue operator>(const IrValue& a, double b) { return a > number_like(a, b); }
inline IrValue operator<=(const IrValue& a, double b) { return a <= number_like(a, b); }
inline IrValue operator>=(const IrValue& a, double b) { return a >= number_like(a, b); }
inline IrValue equal(const IrValue& a, double b) { return equal(a, number_like(a, b)); }

// Shorthand for the maths.
inline IrValue select(const IrValue& c, const IrValue& a, const IrValue& b) { return c.builder->select(c, a, b); }
inline IrValue mad(const IrValue& a, const IrValue& b, const IrValue& c) { return a.builder->mad(a, b, c); }
inline IrValue mad(const IrValue& a, double b, const IrValue& c) { return mad(a, number_like(a, b), c); }
inline IrValue mad(const IrValue& a, const IrValue& b, double c) { return mad(a, b, number_like(a, c)); }
IrValue absolute(const IrValue& a);
IrValue square_root(const IrValue& a);
IrValue round_even(const IrValue& a);  ///< to an integral float; |a| < 2^22 (f32) or 2^51 (f64)
IrValue copy_sign(const IrValue& magnitude, const IrValue& sign);
IrValue is_nan(const IrValue& a);
IrValue unordered(const IrValue& a, const IrValue& b);  ///< either is NaN
/// The smaller or larger operand; the second one when either is NaN.
inline IrValue least(const IrValue& a, const IrValue& b) { return select(a < b, a, b); }
inline IrValue most(const IrValue& a, const IrValue& b) { return select(a > b, a, b); }
inline IrValue infinity_like(const IrValue& a) { return number_like(a, __builtin_inf()); }
inline IrValue nan_like(const IrValue& a) { return number_like(a, __builtin_nan("")); }
IrValue to_f64(const IrValue& a);
IrValue to_f32(const IrValue& a);
IrValue bitcast(const IrValue& a, Lane to);
/// Horner's rule, highest coefficient first.
IrValue polynomial(const IrValue& x, std::initializer_list<double> coefficients);

}  // namespace kiln::codegen
