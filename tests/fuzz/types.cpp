// tests/fuzz/types.cpp -- the types of results, by the table of the interface.
#include "tests/fuzz/program.h"

namespace fuzz {

DType sum_type(DType type) {
  if (kiln::is_floating(type) || kiln::is_complex(type)) return type;
  return kiln::is_unsigned_integer(type) ? DType::u64 : DType::i64;
}

DType result_of(Function function, DType type) {
  const bool floating = kiln::is_floating(type);
  const bool spreads = function == Function::var || function == Function::std_ || function == Function::norm;
  if (kiln::is_complex(type) && spreads) return kiln::real_of(type);
  if (kiln::is_complex(type) && function == Function::mean) return type;
  switch (function) {
    case Function::sum:
    case Function::prod:
      return sum_type(type);
    case Function::max:
    case Function::min:
      return type;
    case Function::any:
    case Function::all:
      return DType::b1;
    case Function::argmax:
    case Function::argmin:
    case Function::count_nonzero:
      return DType::i64;
    default:
      return floating ? type : DType::f64;
  }
}

}  // namespace fuzz
