// dsl/c/tables.h -- the numbers of the C interface beside the enumerations and names that they stand for.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <kiln/detail/bridge.h>

#include "dsl/c/program.h"

namespace kiln::dsl::c {

/// KILN_ERROR_ARGUMENT for a number that is none.
DType checked_dtype(std::int32_t number);
Op op_of(std::int32_t number);
std::int32_t number_of(Op op);

/// One number of an enumeration, and its name in texts of graphs.
struct Named {
  std::int32_t number;
  const char* name;
};
std::span<const Named> reduction_names();
std::span<const Named> scan_names();
std::span<const Named> random_names();
std::span<const Named> take_names();
std::span<const Named> outside_names();
std::span<const Named> beyond_names();
std::optional<std::int32_t> number_of(std::span<const Named> names, std::string_view name);
/// KILN_ERROR_ARGUMENT, naming the enumeration, for a number that is none of them.
const char* name_of(std::span<const Named> names, std::int32_t number, const char* enumeration);

detail::Reducing reducing_of(StepKind kind, std::int32_t number);

/// The steps that a word of a text stands for by itself: "input", "cast", "slice"; null for the others.
const char* word_of(StepKind kind);
std::optional<StepKind> kind_of_word(std::string_view word);
std::optional<DType> dtype_of_name(std::string_view name);
std::optional<Op> op_of_name(std::string_view name);

}  // namespace kiln::dsl::c
