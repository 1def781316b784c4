// dsl/npy_header.h -- the header of NumPy's .npy files, versions 1.0 to 3.0, as text to data and back.
#pragma once

#include <string>
#include <string_view>

#include "dsl/shapes.h"

namespace kiln::dsl {

struct NpyHeader {
  DType type = DType::f32;
  bool byte_swapped = false;   ///< big-endian elements
  bool fortran_order = false;  ///< the first axis is the fastest
  Shape shape;
  std::string descr;  ///< as written in the file, for messages
};

/// Bytes of the fixed part: magic, version and the widest length field.
inline constexpr std::size_t npy_preamble = 12;
/// Where the header text lies. Throws IoError for a wrong magic, an unknown version or fewer bytes than the fixed part
/// needs.
struct NpyExtent {
  std::size_t begin = 0, end = 0;  ///< end is where the elements begin
};
NpyExtent npy_header_extent(std::string_view first_bytes, std::string_view path, Where where);

/// Parses the dictionary. Keys in any order, any white space, a trailing comma or none, Python 2's long integers.
/// Throws IoError for anything else, TypeError for element types that kiln has not, ShapeError for more than 8 axes.
NpyHeader parse_npy_header(std::string_view text, std::string_view path, Where where);

/// Everything before the elements: version 1.0, little-endian, padded to 64 bytes as NumPy does.
std::string format_npy_header(DType type, const Shape& shape, bool fortran_order);

}  // namespace kiln::dsl
