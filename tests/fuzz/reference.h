// tests/fuzz/reference.h -- evaluates a program node by node: long double with error bounds, exact integers.
#pragma once

#include <optional>
#include <vector>

#include "tests/fuzz/program.h"

namespace fuzz {

/// One element. Floating: kiln's value must be within `error` of `x`, complex: of (x, y) in the plane. Integers and
/// truth values: `i`, exactly (unsigned 64-bit values by their bits). `unknown`: errors of the operands leave more than
/// one right answer.
struct Number {
  long double x = 0, y = 0;
  long double error = 0;
  std::int64_t i = 0;
  bool unknown = false;
  bool sign = false;      ///< of a real zero: IEEE fixes it, and it is that of `x`
  bool infinite = false;  ///< unknown, but some part of a complex number is infinite
};
using Values = std::vector<Number>;

/// A value of which nothing is said.
inline Number unknown() {
  Number n;
  n.unknown = true;
  return n;
}

inline Number truth(bool value) {
  Number n;
  n.i = value ? 1 : 0;
  return n;
}

/// Contents of an operand's base array, as values and as bytes to upload.
Values operand_values(const Operand& operand, std::vector<unsigned char>& bytes);
/// Values of every node, before they are stored.
std::vector<Values> evaluate(const Program& program);
/// Nearest value of a floating type, ties to even, infinite beyond the range: by the definition, not by kiln's types.
long double nearest(long double x, DType type);
/// The bits of an element of a floating type nearest to x, and the value of such bits.
std::uint64_t encoded(long double x, DType type);
long double decoded(std::uint64_t bits, DType type);
/// What is left of a value when an element of `type` holds it.
Number stored(const Number& value, DType type);
/// Does the element at `bytes` agree?
bool agrees(const Number& expected, DType type, const unsigned char* bytes);
std::string to_text(const Number& value, DType type);
std::string element_text(DType type, const unsigned char* bytes);

// reference_ops.cpp
Number apply_operation(Op op, DType operand_type, DType result_type, const Number* operands);
Number convert(const Number& value, DType from, DType to);
/// A computed floating value: `error` from the operands, `units` roundings of the operation itself.
Number computed(DType type, long double x, long double error, long double units);
/// Keeps the low bits of an integer type, as its 64-bit value.
std::int64_t wrap(std::uint64_t bits, DType type);
// reference_zeros.cpp
Number with_zeros(Op op, const Number* operands, Number n);
// reference_functions.cpp: the rarer operations; none: it is another one
std::optional<Number> rarer_floating(Op op, DType type, const Number* operands);
std::optional<Number> rarer_integer(Op op, DType type, const Number* operands);
// reference_complex.cpp
Number complex_operation(Op op, DType operand_type, DType result_type, const Number* operands);
/// To a complex type.
Number complex_conversion(const Number& value, DType from, DType to);
Number complex_stored(const Number& value, DType type);
Number complex_reduction(Function function, const Values& values, DType type, int ddof);
Number put_complex(std::vector<unsigned char>& bytes, DType type, double x, double y);
bool complex_agrees(const Number& expected, DType type, const unsigned char* bytes);
Number complex_element(DType type, const unsigned char* bytes);
// reference_reductions.cpp
Number reduce(Function function, const Values& values, DType type, int ddof);
/// Sums and products of one element after the other, whose order is free.
class RunningSum {
 public:
  void add(const Number& v);
  Number value(DType type, bool one_by_one = false) const;  ///< one_by_one: not by a tree
 private:
  long double total_ = 0, positive_ = 0, negative_ = 0, error_ = 0;
  std::size_t count_ = 0;
  bool zeros_ = true, negative_zeros_ = true;  ///< all are exact zeros, negative ones
};
class RunningProduct {
 public:
  void add(const Number& v, DType type);
  Number value(DType type) const;

 private:
  long double up_ = 0, down_ = 0, total_ = 1, high_ = 1;
  bool has_nan_ = false, has_infinity_ = false, has_zero_ = false, may_be_zero_ = false, is_negative_ = false,
       signs_ = true;
};
/// The larger, or smaller, of two: NaN stays.
Number extreme_of(const Number& a, const Number& b, bool larger);
// reference_scans.cpp
void scan(Function function, Values& values, DType type);
/// Rows that a user's function joins: rows[k] holds component k of the elements. A component of the result, or of all
/// running ones.
Number join(const Node& node, const std::vector<Values>& rows, const std::vector<DType>& types);
Values join_running(const Node& node, const std::vector<Values>& rows, const std::vector<DType>& types);

/// Half the spacing of `type` relative to a value; computed values of f16 and bf16 are f32.
long double unit_roundoff(DType type);
DType computing_type(DType type);

}  // namespace fuzz
