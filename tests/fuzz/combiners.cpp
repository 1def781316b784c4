// tests/fuzz/combiners.cpp -- the functions, their identities and their text.
#include "tests/fuzz/combiners.h"

#include <limits>

namespace fuzz {
namespace {

/// a + b + a * b: modulo 2^n it is associative and commutative.
const Combiner twist = {1,
                        {{Op::add, {0, 1}, 0}, {Op::mul, {0, 1}, 0}, {Op::add, {2, 3}, 0}},
                        {4},
                        true,
                        "[](auto a, auto b) { return a + b + a * b; }"};
const Combiner larger = {1,
                         {{Op::lt, {0, 1}, 0, true}, {Op::where, {2, 1, 0}, 0}},
                         {3},
                         true,
                         "[](auto a, auto b) { return kl::where(a < b, b, a); }"};
const Combiner total = {1, {{Op::add, {0, 1}, 0}}, {2}, true, "[](auto a, auto b) { return a + b; }"};
/// Products of Gaussian integers.
const Combiner gaussian = {2,
                           {{Op::mul, {0, 2}, 0},
                            {Op::mul, {1, 3}, 0},
                            {Op::sub, {4, 5}, 0},
                            {Op::mul, {0, 3}, 0},
                            {Op::mul, {1, 2}, 0},
                            {Op::add, {7, 8}, 0}},
                           {6, 9},
                           true,
                           "[](auto a, auto b) {\n  auto [p, q] = a;\n  auto [r, s] = b;\n"
                           "  return std::tuple(p * r - q * s, p * s + q * r);\n}"};
/// x -> a x + b, the left one first: associative, and not commutative.
const Combiner affine = {2,
                         {{Op::mul, {0, 2}, 0}, {Op::mul, {2, 1}, 0}, {Op::add, {5, 3}, 0}},
                         {4, 6},
                         false,
                         "[](auto a, auto b) {\n  auto [p, q] = a;\n  auto [r, s] = b;\n"
                         "  return std::tuple(p * r, r * q + s);\n}"};
/// The largest value and its first position.
const Combiner best = {2,
                       {{Op::gt, {2, 0}, 0, true},
                        {Op::eq, {2, 0}, 0, true},
                        {Op::lt, {3, 1}, 1, true},
                        {Op::logical_and, {5, 6}, -1, true},
                        {Op::logical_or, {4, 7}, -1, true},
                        {Op::where, {8, 2, 0}, 0},
                        {Op::where, {8, 3, 1}, 1}},
                       {9, 10},
                       true,
                       "[](auto a, auto b) {\n  auto [x, i] = a;\n  auto [y, j] = b;\n"
                       "  auto later = y > x || (y == x && j < i);\n"
                       "  return std::tuple(kl::where(later, y, x), kl::where(later, j, i));\n}"};

/// Bits of the least value of a type, -inf of floating ones.
std::uint64_t lowest_bits(DType type) {
  switch (type) {
    case DType::f64:
      return 0xfff0000000000000u;
    case DType::f32:
      return 0xff800000u;
    case DType::f16:
      return 0xfc00u;
    case DType::bf16:
      return 0xff80u;
    default:
      return kiln::is_signed_integer(type) ? std::uint64_t{1} << (8 * kiln::size_of(type) - 1) : 0;
  }
}

}  // namespace

const Combiner& combiner_of(Joining joining) {
  switch (joining) {
    case Joining::twist:
      return twist;
    case Joining::larger:
      return larger;
    case Joining::gaussian:
      return gaussian;
    case Joining::affine:
      return affine;
    case Joining::best:
      return best;
    default:
      return total;
  }
}

std::uint64_t identity_bits(Joining joining, int component, DType type) {
  if (joining == Joining::larger || (joining == Joining::best && component == 0)) return lowest_bits(type);
  if (joining == Joining::best) return static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return (joining == Joining::gaussian || joining == Joining::affine) && component == 0 ? 1 : 0;
}

const char* identity_text(Joining joining, int component) {
  if (joining == Joining::larger || (joining == Joining::best && component == 0)) return "lowest";
  if (joining == Joining::best) return "INT64_MAX";
  return (joining == Joining::gaussian || joining == Joining::affine) && component == 0 ? "1" : "0";
}

}  // namespace fuzz
