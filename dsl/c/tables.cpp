// dsl/c/tables.cpp -- every row of ops.def must have a number in kiln_c_types.h, or this does not compile.
#include "dsl/c/tables.h"

#include <array>

#include "dsl/c/fault.h"

namespace kiln::dsl::c {
namespace {

constexpr std::int32_t op_numbers[op_count] = {
#define KILN_OP(id, arity, domain, result, cuda, llvm, doc) KILN_OP_##id,
#include <kiln/ops.def>
#undef KILN_OP
};
constexpr std::int32_t highest_op = [] {
  std::int32_t highest = 0;
  for (const std::int32_t number : op_numbers) highest = number > highest ? number : highest;
  return highest;
}();
/// Positions in op_numbers, -1 for numbers that are none.
constexpr auto ops_by_number = [] {
  std::array<std::int16_t, static_cast<std::size_t>(highest_op) + 1> ops{};
  for (std::int16_t& op : ops) op = -1;
  for (int i = 0; i < op_count; ++i) ops[static_cast<std::size_t>(op_numbers[i])] = static_cast<std::int16_t>(i);
  return ops;
}();

constexpr Named reductions[] = {{KILN_REDUCE_sum, "sum"},
                                {KILN_REDUCE_prod, "prod"},
                                {KILN_REDUCE_max, "max"},
                                {KILN_REDUCE_min, "min"},
                                {KILN_REDUCE_mean, "mean"},
                                {KILN_REDUCE_var, "var"},
                                {KILN_REDUCE_std, "std"},
                                {KILN_REDUCE_any, "any"},
                                {KILN_REDUCE_all, "all"},
                                {KILN_REDUCE_argmax, "argmax"},
                                {KILN_REDUCE_argmin, "argmin"},
                                {KILN_REDUCE_norm, "norm"},
                                {KILN_REDUCE_logsumexp, "logsumexp"},
                                {KILN_REDUCE_count_nonzero, "count_nonzero"}};
constexpr Named scans[] = {{KILN_SCAN_cumsum, "cumsum"},
                           {KILN_SCAN_cumprod, "cumprod"},
                           {KILN_SCAN_cummax, "cummax"},
                           {KILN_SCAN_cummin, "cummin"}};
constexpr Named randoms[] = {{KILN_RANDOM_uniform, "uniform"}, {KILN_RANDOM_normal, "normal"}};
constexpr Named takes[] = {
    {KILN_TAKE_axis, "take"}, {KILN_TAKE_flat, "take_flat"}, {KILN_TAKE_along, "take_along_axis"}};
constexpr Named outsides[] = {
    {KILN_OUTSIDE_missing, "missing"}, {KILN_OUTSIDE_clip, "clip"}, {KILN_OUTSIDE_wrap, "wrap"}};
constexpr Named beyonds[] = {{KILN_BEYOND_clamp, "clamp"},
                             {KILN_BEYOND_wrap, "wrap"},
                             {KILN_BEYOND_reflect, "reflect"},
                             {KILN_BEYOND_symmetric, "symmetric"},
                             {KILN_BEYOND_fill, "fill"}};

// Steps by StepKind.
constexpr const char* words[] = {"input",     "scalar", "constant",  nullptr,   "cast",         "index",
                                 "extent",    nullptr,  nullptr,     nullptr,   "reduce_by",    "scan_by",
                                 nullptr,     "shift",  "transpose", "reshape", "broadcast_to", "squeeze",
                                 "unsqueeze", "flip",   "slice",     "call"};

}  // namespace

DType checked_dtype(std::int32_t number) {
  if (number < 0 || number >= dtype_count) [[unlikely]]
    fail_argument("{} is no element type; they are KILN_B1, 0, to KILN_C128, {}", number, dtype_count - 1);
  return static_cast<DType>(number);
}

Op op_of(std::int32_t number) {
  const bool known = number >= 0 && number <= highest_op && ops_by_number[static_cast<std::size_t>(number)] >= 0;
  if (!known) fail_argument("{} is no operation; they are KILN_OP_add, {}, and what follows it", number, KILN_OP_add);
  return static_cast<Op>(ops_by_number[static_cast<std::size_t>(number)]);
}
std::int32_t number_of(Op op) { return op_numbers[static_cast<int>(op)]; }

std::span<const Named> reduction_names() { return reductions; }
std::span<const Named> scan_names() { return scans; }
std::span<const Named> random_names() { return randoms; }
std::span<const Named> take_names() { return takes; }
std::span<const Named> outside_names() { return outsides; }
std::span<const Named> beyond_names() { return beyonds; }

std::optional<std::int32_t> number_of(std::span<const Named> names, std::string_view name) {
  for (const Named& named : names)
    if (name == named.name) return named.number;
  return std::nullopt;
}

const char* name_of(std::span<const Named> names, std::int32_t number, const char* enumeration) {
  for (const Named& named : names)
    if (number == named.number) return named.name;
  fail_argument("{} is none of {}...", number, enumeration);
}

detail::Reducing reducing_of(StepKind kind, std::int32_t number) {
  using detail::Reducing;
  if (kind == StepKind::reduce_by) return Reducing::reduce;
  if (kind == StepKind::scan_by) return Reducing::scan;
  if (kind == StepKind::scan) {
    name_of(scans, number, "KILN_SCAN_");
    return static_cast<Reducing>(static_cast<int>(Reducing::cumsum) + number - KILN_SCAN_cumsum);
  }
  name_of(reductions, number, "KILN_REDUCE_");
  return static_cast<Reducing>(static_cast<int>(Reducing::sum) + number - KILN_REDUCE_sum);
}
static_assert(static_cast<int>(detail::Reducing::count_nonzero) - static_cast<int>(detail::Reducing::sum) ==
              KILN_REDUCE_count_nonzero - KILN_REDUCE_sum);
static_assert(static_cast<int>(detail::Reducing::cummin) - static_cast<int>(detail::Reducing::cumsum) ==
              KILN_SCAN_cummin - KILN_SCAN_cumsum);

const char* word_of(StepKind kind) { return words[static_cast<int>(kind)]; }

std::optional<StepKind> kind_of_word(std::string_view word) {
  for (int kind = 0; kind <= static_cast<int>(StepKind::call); ++kind)
    if (words[kind] && word == words[kind]) return static_cast<StepKind>(kind);
  return std::nullopt;
}

std::optional<DType> dtype_of_name(std::string_view name) {
  for (int i = 0; i < dtype_count; ++i)
    if (name == kiln::name_of(static_cast<DType>(i))) return static_cast<DType>(i);
  return std::nullopt;
}

std::optional<Op> op_of_name(std::string_view name) {
  for (int i = 0; i < op_count; ++i)
    if (name == detail::op_info(static_cast<Op>(i)).name) return static_cast<Op>(i);
  return std::nullopt;
}

}  // namespace kiln::dsl::c

static_assert(KILN_B1 == static_cast<int>(kiln::DType::b1) && KILN_I8 == static_cast<int>(kiln::DType::i8) &&
              KILN_I64 == static_cast<int>(kiln::DType::i64) && KILN_U8 == static_cast<int>(kiln::DType::u8) &&
              KILN_U64 == static_cast<int>(kiln::DType::u64) && KILN_F16 == static_cast<int>(kiln::DType::f16) &&
              KILN_BF16 == static_cast<int>(kiln::DType::bf16) && KILN_F32 == static_cast<int>(kiln::DType::f32) &&
              KILN_F64 == static_cast<int>(kiln::DType::f64) && KILN_C64 == static_cast<int>(kiln::DType::c64) &&
              KILN_C128 == static_cast<int>(kiln::DType::c128));
static_assert(KILN_MAX_RANK == kiln::detail::max_rank && KILN_ALL_AXES == kiln::detail::all_axes);
static_assert(KILN_SLICE_INDEX == kiln::detail::slice_is_index &&
              KILN_SLICE_HAS_START == kiln::detail::slice_has_start &&
              KILN_SLICE_HAS_STOP == kiln::detail::slice_has_stop);
