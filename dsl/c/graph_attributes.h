// dsl/c/graph_attributes.h -- what stands behind the operands of a line of a graph's text: "axes=[0] keepdims".
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <kiln/dtype.h>

#include "dsl/c/line_reader.h"

namespace kiln::dsl::c {

/// What may stand behind the operands.
enum Attribute : std::uint32_t {
  has_type = 1,
  has_rank = 2,
  has_axis = 4,
  has_axes = 8,
  has_to = 16,
  has_by = 32,
  has_items = 64,
  has_bits = 128,
  has_accumulate = 256,
  has_ddof = 512,
  has_outside = 1024,
  has_beyond = 2048,
  has_strong = 4096,
  has_keepdims = 8192,
  has_function = 16384
};
inline constexpr const char* attribute_names[] = {"type",    "rank",   "axis",   "axes",       "to",
                                                  "by",      "items",  "bits",   "accumulate", "ddof",
                                                  "outside", "beyond", "strong", "keepdims",   "function"};

struct Attributes {
  std::uint32_t seen = 0;
  DType type = DType::f32, accumulate = DType::f32;
  std::int64_t number = 0;  ///< rank or axis
  std::int64_t ddof = 0;
  std::int64_t bits[2] = {0, 0};
  std::int32_t outside = 0, beyond = 0;
  std::vector<std::int64_t> list;  ///< axes, to, by or items
  std::string_view function;
};

/// Up to the end of the line or a function's brace; each at most once.
Attributes read_attributes(LineReader& line);

}  // namespace kiln::dsl::c
