// tests/embed/c_operations.cpp -- every operation of ops.def through the C interface: the bits of the C++ interface,
// and what a reference in long double or exact integers says.
#include <cmath>
#include <complex>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <kiln/detail/rules.h>
#include <kiln/kiln.h>
#include <kiln/kiln_c.h>

#include "tests/support/devices.h"
#include "tests/support/reference.h"

namespace {

using kl::Op;
using reference::Int;
using reference::Real;

constexpr int element_count = 301;  // not a multiple of any vector

// ------------------------------------------------------------------ the reference: a row per operation
// Of reals: x, y, z are operands as long double, unrounded results; `T` is their type. Of integers: exact.
constexpr Real pi = 3.141592653589793238462643383279502884L;
Real gelu(Real x) { return 0.5L * x * std::erfc(-x / std::sqrt(2.0L)); }
Real gelu_tanh(Real x) { return 0.5L * x * (1 + std::tanh(std::sqrt(2 / pi) * (x + 0.044715L * x * x * x))); }

/// The value of a real operation; NaN where ops.def has no such operation on reals.
Real real_value(Op op, Real x, Real y, Real z) {
  switch (op) {
#define KILN_REAL(id, value) \
  case Op::id:               \
    return value;
    // clang-format off
    KILN_REAL(add, x + y) KILN_REAL(sub, x - y) KILN_REAL(mul, x * y) KILN_REAL(div, x / y) KILN_REAL(neg, -x)
    KILN_REAL(fmod, std::fmod(x, y)) KILN_REAL(true_divide, x / y) KILN_REAL(pow, std::pow(x, y))
    KILN_REAL(floor_divide, reference::python_floor_divide(x, y)) KILN_REAL(remainder, reference::python_mod(x, y))
    KILN_REAL(fma, std::fma(x, y, z)) KILN_REAL(hypot, std::hypot(x, y)) KILN_REAL(abs, std::fabs(x))
    KILN_REAL(sign, reference::sign(x)) KILN_REAL(copysign, std::copysign(x, y))
    KILN_REAL(eq, x == y) KILN_REAL(ne, x != y) KILN_REAL(lt, x < y) KILN_REAL(le, x <= y) KILN_REAL(gt, x > y)
    KILN_REAL(ge, x >= y) KILN_REAL(logical_and, x != 0 && y != 0) KILN_REAL(logical_or, x != 0 || y != 0)
    KILN_REAL(logical_not, x == 0) KILN_REAL(where, x != 0 ? y : z) KILN_REAL(minimum, reference::minimum(x, y))
    KILN_REAL(maximum, reference::maximum(x, y)) KILN_REAL(fmin, std::fmin(x, y)) KILN_REAL(fmax, std::fmax(x, y))
    KILN_REAL(clip, reference::minimum(reference::maximum(x, y), z)) KILN_REAL(sqrt, std::sqrt(x))
    KILN_REAL(rsqrt, 1 / std::sqrt(x)) KILN_REAL(cbrt, std::cbrt(x)) KILN_REAL(exp, std::exp(x))
    KILN_REAL(exp2, std::exp2(x)) KILN_REAL(expm1, std::expm1(x)) KILN_REAL(log, std::log(x))
    KILN_REAL(log2, std::log2(x)) KILN_REAL(log10, std::log10(x)) KILN_REAL(log1p, std::log1p(x))
    KILN_REAL(sin, std::sin(x)) KILN_REAL(cos, std::cos(x)) KILN_REAL(tan, std::tan(x)) KILN_REAL(asin, std::asin(x))
    KILN_REAL(acos, std::acos(x)) KILN_REAL(atan, std::atan(x)) KILN_REAL(atan2, std::atan2(x, y))
    KILN_REAL(sinh, std::sinh(x)) KILN_REAL(cosh, std::cosh(x)) KILN_REAL(tanh, std::tanh(x))
    KILN_REAL(asinh, std::asinh(x)) KILN_REAL(acosh, std::acosh(x)) KILN_REAL(atanh, std::atanh(x))
    KILN_REAL(erf, std::erf(x)) KILN_REAL(erfc, std::erfc(x)) KILN_REAL(lgamma, std::lgamma(x))
    KILN_REAL(tgamma, std::tgamma(x)) KILN_REAL(floor, std::floor(x)) KILN_REAL(ceil, std::ceil(x))
    KILN_REAL(round, reference::round_half_even(x)) KILN_REAL(trunc, std::trunc(x)) KILN_REAL(isnan, std::isnan(x))
    KILN_REAL(isinf, std::isinf(x)) KILN_REAL(isfinite, std::isfinite(x)) KILN_REAL(real, x) KILN_REAL(imag, 0)
    KILN_REAL(conj, x) KILN_REAL(arg, std::signbit(x) ? pi : 0) KILN_REAL(sigmoid, 1 / (1 + std::exp(-x)))
    KILN_REAL(relu, reference::maximum(x, 0)) KILN_REAL(gelu, gelu(x)) KILN_REAL(gelu_tanh, gelu_tanh(x))
    KILN_REAL(silu, x / (1 + std::exp(-x))) KILN_REAL(softplus, std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x))))
    // clang-format on
#undef KILN_REAL
                                                                                        default : return NAN;
  }
}

/// Integer operations whose result is of the operands' type; false for others.
template <class T>
bool integer_value(Op op, T x, T y, T z, T& result) {
  const Int a = x, b = y, c = z;
  switch (op) {
#define KILN_INTEGER(id, value)              \
  case Op::id:                               \
    result = reference::wrap<T>(Int{value}); \
    return true;
    // clang-format off
    KILN_INTEGER(add, a + b) KILN_INTEGER(sub, a - b) KILN_INTEGER(mul, a * b) KILN_INTEGER(neg, -a)
    KILN_INTEGER(div, reference::truncate_divide(a, b)) KILN_INTEGER(mod, reference::truncate_modulo(a, b))
    KILN_INTEGER(fmod, reference::truncate_modulo(a, b)) KILN_INTEGER(floor_divide, reference::floor_divide(a, b))
    KILN_INTEGER(remainder, reference::remainder(a, b)) KILN_INTEGER(pow, reference::integer_power<T>(x, y))
    KILN_INTEGER(fma, a * b + c) KILN_INTEGER(abs, a < 0 ? -a : a) KILN_INTEGER(sign, (a > 0) - (a < 0))
    KILN_INTEGER(bit_and, a & b) KILN_INTEGER(bit_or, a | b) KILN_INTEGER(bit_xor, a ^ b) KILN_INTEGER(bit_not, ~a)
    KILN_INTEGER(shl, reference::shift_left<T>(x, y)) KILN_INTEGER(shr, reference::shift_right<T>(x, y))
    KILN_INTEGER(where, a != 0 ? b : c) KILN_INTEGER(minimum, a < b ? a : b) KILN_INTEGER(fmin, a < b ? a : b)
    KILN_INTEGER(maximum, a > b ? a : b) KILN_INTEGER(fmax, a > b ? a : b)
    KILN_INTEGER(clip, std::min(std::max(a, b), c)) KILN_INTEGER(relu, a > 0 ? a : 0) KILN_INTEGER(floor, a)
    KILN_INTEGER(ceil, a) KILN_INTEGER(round, a) KILN_INTEGER(trunc, a) KILN_INTEGER(real, a) KILN_INTEGER(conj, a)
    KILN_INTEGER(imag, 0)
    // clang-format on
#undef KILN_INTEGER
                                                    default : return false;
  }
}

// ------------------------------------------------------------------ both interfaces
/// The operation as its name is called.
template <Op O, class X, class... Y>
auto call(const X& x, const Y&... y) {
#define KILN_OP(id, arity, domain, result, cuda, llvm, doc) \
  if constexpr (O == Op::id) return kl::id(x, y...);
#include <kiln/ops.def>
#undef KILN_OP
}

void ok(kiln_status status) { ASSERT_EQ(status, KILN_OK) << kiln_last_error(); }

template <class T>
kiln_dl_tensor tensor_of(const kl::Array<T>& array) {
  const kl::detail::Layout& layout = *array.handle().layout;
  constexpr std::uint8_t codes[] = {KILN_DL_BOOL,   KILN_DL_INT,   KILN_DL_INT,   KILN_DL_INT,     KILN_DL_INT,
                                    KILN_DL_UINT,   KILN_DL_UINT,  KILN_DL_UINT,  KILN_DL_UINT,    KILN_DL_FLOAT,
                                    KILN_DL_BFLOAT, KILN_DL_FLOAT, KILN_DL_FLOAT, KILN_DL_COMPLEX, KILN_DL_COMPLEX};
  kiln_dl_tensor tensor{};
  tensor.data = array.handle().data;
  tensor.device = {layout.device_kind == 0 ? KILN_DL_CPU : KILN_DL_CUDA, layout.device_index};
  tensor.ndim = layout.rank;
  tensor.dtype = {codes[static_cast<int>(kl::dtype_of<T>)], static_cast<std::uint8_t>(8 * sizeof(T)), 1};
  tensor.shape = const_cast<std::int64_t*>(layout.shape);
  return tensor;
}

/// One operation of a graph of the C interface on these arrays, written into `result`.
template <class R, class T>
void through_c(Op op, const std::vector<kl::Array<T>>& arrays, kl::Array<R>& result) {
  kiln_operation_info info{};
  info.struct_size = sizeof info;
  ok(kiln_operation_at(static_cast<std::size_t>(op), &info));
  kiln_graph* graph = nullptr;
  kiln_kernel* kernel = nullptr;
  ok(kiln_graph_create(&graph));
  std::vector<kiln_value> operands(arrays.size());
  for (kiln_value& operand : operands) {
    ok(kiln_graph_input(graph, static_cast<std::int32_t>(kl::dtype_of<T>), 1, &operand));
  }
  std::vector<kiln_value> used = operands;
  if (op == Op::where) ok(kiln_graph_cast(graph, used[0], KILN_B1, &used[0]));
  kiln_value value = 0;
  ok(kiln_graph_operation(graph, info.operation, used.data(), used.size(), &value));
  kiln_value_info known{};
  known.struct_size = sizeof known;
  ok(kiln_graph_get_value(graph, value, &known));
  EXPECT_EQ(known.dtype, static_cast<std::int32_t>(kl::dtype_of<R>)) << info.name;
  ok(kiln_graph_output(graph, value));
  ok(kiln_kernel_create(graph, nullptr, &kernel));
  std::vector<kiln_dl_tensor> tensors;
  std::vector<const kiln_dl_tensor*> inputs;
  for (const kl::Array<T>& array : arrays) tensors.push_back(tensor_of(array));
  for (const kiln_dl_tensor& tensor : tensors) inputs.push_back(&tensor);
  const kiln_dl_tensor to = tensor_of(result);
  const kiln_dl_tensor* const outputs[] = {&to};
  ok(kiln_launch(kernel, nullptr, inputs.data(), inputs.size(), nullptr, 0, outputs, 1));
  kiln_kernel_destroy(kernel);
  kiln_graph_destroy(graph);
}

/// Operands inside every domain: small, of both signs, some equal, some zero.
template <class T>
std::vector<T> operand(unsigned number) {
  std::mt19937_64 random(number + 1);
  std::vector<T> values;
  for (int i = 0; i < element_count; ++i) {
    const auto small = static_cast<int>(random() % 33) - 16;
    if constexpr (std::is_same_v<T, bool>) {
      values.push_back(small > 0);
    } else if constexpr (reference::is_complex<T>) {
      values.push_back(T(static_cast<float>(small) / 8, static_cast<float>(random() % 17) / 4 - 2));
    } else if constexpr (reference::is_float<T>) {
      values.push_back(static_cast<T>(static_cast<float>(small) / (i % 2 ? 8.0f : 17.0f)));
    } else {
      values.push_back(static_cast<T>(i % 5 ? small : static_cast<int>(random())));
    }
  }
  return values;
}

/// Where cancellation loses digits of the result, but not of the operand: gelu of negative numbers, lgamma near 1
/// and 2.
template <class R>
bool is_near(R got, Real expected, Real x) {
  const Real value = reference::widen(got);
  if (std::isnan(expected)) return std::isnan(value);
  if (std::isinf(expected) || std::isinf(value)) return reference::round_to<R>(expected) == value;
  const Real room = 16 * reference::ulp<R>(expected) + 8 * reference::ulp<R>(1.0L) * std::fmax(1.0L, std::fabs(x));
  return std::fabs(value - expected) <= room;
}

/// One element; complex operations are compared by random programs (tests/fuzz), here with the C++ interface alone.
template <class T, class R>
bool is_right(Op op, R got, T x, T y, T z) {
  if constexpr (reference::is_complex<T> || reference::is_complex<R>) {
    return true;
  } else if constexpr (reference::is_float<R>) {
    const auto real = [](T value) { return static_cast<Real>(reference::widen(value)); };
    return is_near(got, real_value(op, real(x), real(y), real(z)), real(x));
  } else {
    const auto real = [](T value) { return static_cast<Real>(reference::widen(value)); };
    if (std::is_same_v<T, bool> && op == Op::bit_not) return got != static_cast<R>(x);
    if constexpr (!reference::is_float<T>) {
      T expected{};
      if (integer_value<T>(op, x, y, z, expected)) return got == static_cast<R>(expected);
    }
    return got == static_cast<R>(real_value(op, real(x), real(y), real(z)) != 0);
  }
}

/// The operands here are all of one type, and no condition is complex.
template <Op O, class T>
constexpr bool is_defined() {
  const unsigned kind = 1u << static_cast<int>(kl::kind_of(kl::dtype_of<T>));
  return (kl::detail::type_rows[static_cast<int>(O)].domain & kind) != 0 &&
         !(O == Op::where && kl::is_complex(kl::dtype_of<T>));
}

template <Op O, class T, class... Operands>
void compare_arrays(const char* name, const std::vector<std::vector<T>>& in, const Operands&... arrays) {
  const auto expected = kl::eval(call<O>(arrays...));
  using R = typename std::remove_cvref_t<decltype(expected)>::value_type;
  kl::Array<R> got({element_count});
  through_c<R, T>(O, {arrays...}, got);
  const auto cpp = expected.to_host(), c = got.to_host();
  for (std::size_t i = 0; i < element_count; ++i) {
    const R one = cpp[i], other = c[i];
    ASSERT_EQ(std::memcmp(&one, &other, sizeof one), 0)
        << name << " of " << kl::name_of(kl::dtype_of<T>) << ", element " << i << ": other bits than through C++";
    const std::size_t last = in.size() - 1;
    const bool right = is_right<T, R>(O, other, in[0][i], in[std::min<std::size_t>(1, last)][i], in[last][i]);
    ASSERT_TRUE(right) << name << " of " << kl::name_of(kl::dtype_of<T>) << ", element " << i
                       << " is not what the reference says";
  }
}

template <Op O, class T>
void compare(const char* name) {
  if constexpr (is_defined<O, T>()) {
    constexpr unsigned arity = kl::detail::type_rows[static_cast<int>(O)].arity;
    std::vector<std::vector<T>> in;
    std::vector<kl::Array<T>> arrays;
    for (unsigned k = 0; k < arity; ++k) {
      in.push_back(operand<T>(k));
      arrays.push_back(kl::from_host(in.back()));
    }
    if constexpr (arity == 1) compare_arrays<O, T>(name, in, arrays[0]);
    if constexpr (arity == 2) compare_arrays<O, T>(name, in, arrays[0], arrays[1]);
    if constexpr (arity == 3) compare_arrays<O, T>(name, in, arrays[0], arrays[1], arrays[2]);
  }
}

class COperations : public OnEachDevice {};

template <class T>
void compare_all() {
#define KILN_OP(id, arity, domain, result, cuda, llvm, doc) \
  compare<Op::id, T>(#id);                                  \
  if (testing::Test::HasFatalFailure()) return;
#include <kiln/ops.def>
#undef KILN_OP
}

TEST_P(COperations, OfBool) { compare_all<bool>(); }
TEST_P(COperations, OfI32) { compare_all<std::int32_t>(); }
TEST_P(COperations, OfU16) { compare_all<std::uint16_t>(); }
TEST_P(COperations, OfF32) { compare_all<float>(); }
TEST_P(COperations, OfF64) { compare_all<double>(); }
TEST_P(COperations, OfBF16) { compare_all<kl::bfloat16>(); }
TEST_P(COperations, OfC64) { compare_all<std::complex<float>>(); }
KILN_ON_EACH_DEVICE(COperations);

}  // namespace
