// dsl/raw_signature.h -- what a __global__ function's declaration says about its parameters' types, as far as it is
// simple.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <kiln/dtype.h>

namespace kiln::dsl {

/// A declared parameter. What is not understood (typedefs, structures, macros) is `unknown` and never refused.
struct DeclaredParameter {
  enum Kind : std::uint8_t { unknown, value, pointer };
  std::string text;  ///< as declared: "const float* in"
  Kind kind = unknown;
  DType type = DType::f32;  ///< of the value, or of what the pointer points at; of one element of a vector type
  int lanes = 0;            ///< elements of a vector type (float4: 4), 1 for others; 0: bytes, of any type
};

/// The parameters of the kernel with this lowered name: from the name itself, which spells the types of a C++ function,
/// or from the only declaration of an extern "C" function in `source`. Nothing where neither says.
std::optional<std::vector<DeclaredParameter>> declared_parameters(std::string_view source,
                                                                  const std::string& lowered_name);

/// False where an array of `type` cannot be what the kernel declares: another element type, or no pointer. Structures
/// of several elements (float4) and integers of the same size are fine.
bool accepts_array(const DeclaredParameter& parameter, DType type);
/// False where a number of `type` is not what the kernel declares: an integer for a float, or the reverse, or for a
/// pointer.
bool accepts_number(const DeclaredParameter& parameter, DType type);

}  // namespace kiln::dsl
