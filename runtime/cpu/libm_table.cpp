// runtime/cpu/libm_table.cpp -- fills the table of C library functions.
#include "runtime/cpu/libm_table.h"

#include <math.h>

namespace kiln::runtime {
namespace {

double reentrant_lgamma(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}

/// f32 fma for CPUs without the instruction; the operands and the result are floats held in doubles.
double narrow_fma(double a, double b, double c) {
  return ::fmaf(static_cast<float>(a), static_cast<float>(b), static_cast<float>(c));
}

template <int arity>
struct Signature;
template <>
struct Signature<1> {
  using type = double (*)(double);
};
template <>
struct Signature<2> {
  using type = double (*)(double, double);
};
template <>
struct Signature<3> {
  using type = double (*)(double, double, double);
};

using Function = void (*)();

}  // namespace

const void* libm_table() {
  static const Function table[] = {
#define KILN_LIBM(name, arity, function) reinterpret_cast<Function>(static_cast<Signature<arity>::type>(function)),
#include "support/libm.def"
#undef KILN_LIBM
  };
  return table;
}

}  // namespace kiln::runtime
