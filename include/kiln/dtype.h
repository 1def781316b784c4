// kiln/dtype.h -- element types: the DType enumeration, half and bfloat16, and NumPy 2's promotion table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <kiln/detail/compiler.h>

#if defined(__GNUC__)
#define KILN_API __attribute__((visibility("default")))
#else
#define KILN_API
#endif

namespace kiln {

/// Element type of an array. The order is the order of promotion within each kind.
enum class DType : std::uint8_t { b1, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, c64, c128 };

inline constexpr int dtype_count = 15;

/// The kinds order weak scalars: bool < integer < floating < complex (NumPy 2, NEP 50).
enum class Kind : std::uint8_t { boolean, integer, floating, complex };

constexpr bool is_signed_integer(DType t) { return t >= DType::i8 && t <= DType::i64; }
constexpr bool is_unsigned_integer(DType t) { return t >= DType::u8 && t <= DType::u64; }
constexpr bool is_integer(DType t) { return t >= DType::i8 && t <= DType::u64; }
constexpr bool is_floating(DType t) { return t >= DType::f16 && t <= DType::f64; }
constexpr bool is_complex(DType t) { return t >= DType::c64; }
constexpr Kind kind_of(DType t) {
  return t == DType::b1   ? Kind::boolean
         : is_integer(t)  ? Kind::integer
         : is_floating(t) ? Kind::floating
                          : Kind::complex;
}

/// Bytes per element.
constexpr std::size_t size_of(DType t) {
  constexpr unsigned char bytes[dtype_count] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16};
  return bytes[static_cast<int>(t)];
}

/// Short name, as in api.md: "f32", "bf16", ...
constexpr const char* name_of(DType t) {
  constexpr const char* names[dtype_count] = {"b1",  "i8",  "i16",  "i32", "i64", "u8",  "u16", "u32",
                                              "u64", "f16", "bf16", "f32", "f64", "c64", "c128"};
  return names[static_cast<int>(t)];
}

namespace detail {

constexpr DType signed_of_size(std::size_t bytes) {
  return bytes == 1 ? DType::i8 : bytes == 2 ? DType::i16 : bytes == 4 ? DType::i32 : DType::i64;
}

constexpr DType promote_integers(DType a, DType b) {
  if (is_signed_integer(a) == is_signed_integer(b)) return size_of(a) >= size_of(b) ? a : b;
  const DType s = is_signed_integer(a) ? a : b;
  const DType u = is_signed_integer(a) ? b : a;
  if (size_of(s) > size_of(u)) return s;
  return size_of(u) == 8 ? DType::f64 : signed_of_size(2 * size_of(u));
}

constexpr DType promote_floats(DType a, DType b) {
  if (a == b) return a;
  if (a == DType::f64 || b == DType::f64) return DType::f64;
  return DType::f32;  // f16 with bf16, or either with f32
}

/// The smallest float that an integer type promotes to beside `f` (NumPy: i8 with f16 is f16, i16 is f32, wider is
/// f64).
constexpr DType promote_integer_float(DType i, DType f) {
  const DType needed = size_of(i) == 1 ? f : size_of(i) == 2 ? DType::f32 : DType::f64;
  return promote_floats(needed, f);
}

}  // namespace detail

/// The complex type whose parts can hold `t`: f64 and wide integers give c128, everything else c64 (as NumPy).
constexpr DType complex_of(DType t) {
  if (is_complex(t)) return t;
  if (t == DType::f64 || (is_integer(t) && size_of(t) >= 4)) return DType::c128;
  return DType::c64;
}

/// The type of the parts of a complex type; other types are their own parts.
constexpr DType real_of(DType t) { return t == DType::c64 ? DType::f32 : t == DType::c128 ? DType::f64 : t; }

/// Array-with-array promotion, NumPy 2 / Array API table; bf16 follows ml_dtypes, bf16 with f16 is f32.
constexpr DType promote(DType a, DType b) {
  if (a == b || b == DType::b1) return a;
  if (a == DType::b1) return b;
  if (is_complex(a) || is_complex(b)) {
    const DType x = complex_of(a), y = complex_of(b);
    return x == DType::c128 || y == DType::c128 ? DType::c128 : DType::c64;
  }
  if (is_integer(a) && is_integer(b)) return detail::promote_integers(a, b);
  if (is_integer(a)) return detail::promote_integer_float(a, b);
  if (is_integer(b)) return detail::promote_integer_float(b, a);
  return detail::promote_floats(a, b);
}

/// The type in which an expression of type `t` is computed: f16 and bf16 are storage types and compute in f32.
constexpr DType compute_type(DType t) { return t == DType::f16 || t == DType::bf16 ? DType::f32 : t; }

namespace detail {

/// binary32 to binary16, round to nearest even, overflow to infinity (IEEE 754-2019 formatOf conversion).
constexpr std::uint16_t f32_to_f16_bits(float value) {
  const std::uint32_t x = __builtin_bit_cast(std::uint32_t, value);
  const std::uint16_t sign = static_cast<std::uint16_t>((x >> 16) & 0x8000u);
  const std::uint32_t a = x & 0x7fffffffu;
  if (a > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u | ((a >> 13) & 0x1ffu));
  if (a >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u);  // rounds to 2^16 or is infinite
  if (a < 0x33000001u) return sign;                                         // at most half of the least subnormal
  const int exponent = static_cast<int>(a >> 23);
  const std::uint32_t mantissa = exponent ? ((a & 0x7fffffu) | 0x800000u) : (a & 0x7fffffu);
  const int shift = exponent < 113 ? 126 - exponent : 13;  // bits dropped; more for subnormal results
  const std::uint32_t kept = mantissa >> shift;
  const std::uint32_t rest = mantissa & ((1u << shift) - 1u), half = 1u << (shift - 1);
  const std::uint32_t rounded = kept + ((rest > half || (rest == half && (kept & 1u))) ? 1u : 0u);
  const std::uint32_t biased = exponent < 113 ? rounded : rounded + (static_cast<std::uint32_t>(exponent - 113) << 10);
  return static_cast<std::uint16_t>(sign | biased);
}

constexpr float f16_bits_to_f32(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1fu, mantissa = bits & 0x3ffu;
  if (exponent == 31) return __builtin_bit_cast(float, sign | 0x7f800000u | (mantissa << 13));
  if (exponent) return __builtin_bit_cast(float, sign | ((exponent + 112u) << 23) | (mantissa << 13));
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
  return sign ? -magnitude : magnitude;
}

constexpr std::uint16_t f32_to_bf16_bits(float value) {
  const std::uint32_t x = __builtin_bit_cast(std::uint32_t, value);
  if ((x & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((x >> 16) | 0x40u);
  return static_cast<std::uint16_t>((x + 0x7fffu + ((x >> 16) & 1u)) >> 16);
}

constexpr float bf16_bits_to_f32(std::uint16_t bits) {
  return __builtin_bit_cast(float, static_cast<std::uint32_t>(bits) << 16);
}

}  // namespace detail

/// IEEE binary16 storage. Converts from float with round to nearest even; compute in float.
struct half {
  std::uint16_t bits = 0;
  half() = default;
  constexpr explicit half(float value) : bits(detail::f32_to_f16_bits(value)) {}
  constexpr operator float() const { return detail::f16_bits_to_f32(bits); }
  static constexpr half from_bits(std::uint16_t b) {
    half h;
    h.bits = b;
    return h;
  }
};

/// bfloat16 storage: the upper half of a binary32. Converts from float with round to nearest even.
struct bfloat16 {
  std::uint16_t bits = 0;
  bfloat16() = default;
  constexpr explicit bfloat16(float value) : bits(detail::f32_to_bf16_bits(value)) {}
  constexpr operator float() const { return detail::bf16_bits_to_f32(bits); }
  static constexpr bfloat16 from_bits(std::uint16_t b) {
    bfloat16 h;
    h.bits = b;
    return h;
  }
};

namespace detail {

/// True for std::complex and its look-alikes, recognised by shape so that <complex> need not be included here.
template <class T>
concept complex_like = std::is_class_v<T> && requires(const T& z) {
  typename T::value_type;
  z.real();
  z.imag();
} && (sizeof(T) == 2 * sizeof(typename T::value_type)) && std::is_floating_point_v<typename T::value_type>;

template <class T>
struct no_dtype : std::false_type {};

template <class T>
constexpr DType dtype_of_type() {
  using U = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<U, bool>) {
    return DType::b1;
  } else if constexpr (std::is_integral_v<U> && sizeof(U) <= 8) {  // __int128 is one in GNU mode
    constexpr int log2_size = sizeof(U) == 1 ? 0 : sizeof(U) == 2 ? 1 : sizeof(U) == 4 ? 2 : 3;
    return static_cast<DType>(static_cast<int>(std::is_signed_v<U> ? DType::i8 : DType::u8) + log2_size);
  } else if constexpr (std::is_same_v<U, half>) {
    return DType::f16;
  } else if constexpr (std::is_same_v<U, bfloat16>) {
    return DType::bf16;
  } else if constexpr (std::is_same_v<U, float>) {
    return DType::f32;
  } else if constexpr (std::is_same_v<U, double>) {
    return DType::f64;
  } else if constexpr (complex_like<U>) {
    return sizeof(U) == 8 ? DType::c64 : DType::c128;
  } else {
    static_assert(
        no_dtype<T>::value,
        "kiln: not an element type; use bool, a fixed-width integer, kl::half, kl::bfloat16, float, double or "
        "std::complex of float or double");
    return DType::b1;
  }
}

}  // namespace detail

/// The DType of a C++ element type.
template <class T>
inline constexpr DType dtype_of = detail::dtype_of_type<T>();

}  // namespace kiln
