// dsl/shapes.h -- shapes and views as pure functions: broadcasting, permuting, reshaping and slicing by NumPy's rules.
//
// Nothing here knows arrays, types or devices. A view of an expression is pushed down to its operands with the same
// functions: broadcast the operand to the shape of the expression, then apply the view to it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include <kiln/detail/bridge.h>

#include "codegen/ir/graph.h"

namespace kiln::dsl {

using codegen::ViewSpec;
using detail::max_rank;
using detail::Where;

using Extents = std::array<std::int64_t, max_rank>;

/// A shape of any rank up to 8; extents past `rank` are 0.
struct Shape {
  int rank = 0;
  Extents extents = {};
  std::span<const std::int64_t> span() const { return {extents.data(), static_cast<std::size_t>(rank)}; }
  friend bool operator==(const Shape&, const Shape&) = default;
};

/// Elements at `offset + sum(index[i] * strides[i])`, all in elements. Strides past `rank` are 0.
struct Strided {
  Shape shape;
  Extents strides = {};
  std::int64_t offset = 0;
  friend bool operator==(const Strided&, const Strided&) = default;
};

/// Encoding of one slice item in record_view and view_of: four numbers, namely these flags, start, stop, step.
/// An index item (`a(3, ...)`) keeps its index in `start`. Absent bounds are not read; step must not be 0.
using detail::slice_has_start;
using detail::slice_has_stop;
using detail::slice_is_index;

// ------------------------------------------------------------------ texts and sizes
/// "()", "(3,)", "(3, 4)".
std::string to_text(std::span<const std::int64_t> extents);
inline std::string to_text(const Shape& shape) { return to_text(shape.span()); }
/// " (file.cpp:12)", or nothing when the place is unknown. Appended to the first sentence of messages.
std::string place(Where where);
/// True of headers of the C++ library: the place of what a container or an algorithm did, not the user.
bool is_of_the_cpp_library(Where where);
/// True of kiln's own templates, which say nothing to a user.
bool is_of_kiln(Where where);
/// Of the call, else of the function that is called.
std::string place(const detail::Call& call);

/// Throws ShapeError for more than 8 axes or a negative extent.
Shape make_shape(const char* operation, std::span<const std::int64_t> extents, Where where);
/// Number of elements; ShapeError when it does not fit 63 bits. 1 for rank 0, 0 as soon as one extent is 0.
std::int64_t element_count(const char* operation, const Shape& shape, Where where);
/// Axis in [0, rank), negative counts from the end; ShapeError otherwise.
int checked_axis(const char* operation, std::int64_t axis, const Shape& shape, Where where);

// ------------------------------------------------------------------ layouts
/// C order from offset 0. ShapeError when the element count does not fit 63 bits.
Strided contiguous(const char* operation, const Shape& shape, Where where);
/// A single value seen with `shape`: every stride is 0.
Strided constant(const Shape& shape);
/// True when the elements lie in C order without gaps (axes of extent 1 do not matter; empty is contiguous).
bool is_contiguous(const Strided& view);
/// Lowest and one past the highest element touched, relative to `offset`: low <= 0 < high, or {0, 0} when empty.
/// ShapeError when a bound times `element_bytes` does not fit 63 bits.
struct ElementRange {
  std::int64_t low = 0, high = 0;
};
ElementRange element_range(const char* operation, const Strided& view, std::int64_t element_bytes, Where where);

// ------------------------------------------------------------------ broadcasting
/// The common shape by NumPy's rule; ShapeError names the operation, both shapes and the axis.
Shape broadcast(const char* operation, std::span<const Shape> shapes, Where where);
/// `view` seen with a larger shape: new axes in front and stretched axes get stride 0.
Strided broadcast_to(const char* operation, const Strided& view, const Shape& shape, Where where);

// ------------------------------------------------------------------ views
/// `axes` is a permutation (negative axes count from the end); empty reverses all axes.
Strided transpose(const Strided& view, std::span<const std::int64_t> axes, Where where);
/// The new shape with a single -1 extent filled in; ShapeError when the sizes differ.
Shape reshaped(const Shape& from, std::span<const std::int64_t> extents, Where where);
/// nullopt when the elements cannot be seen in the new shape without a copy.
std::optional<Strided> reshape(const Strided& view, std::span<const std::int64_t> extents, Where where);
/// Drops axes of extent 1; none named drops all such axes.
Strided squeeze(const Strided& view, std::span<const std::int64_t> axes, Where where);
/// Inserts axes of extent 1; each axis is a position in the *result*.
Strided unsqueeze(const Strided& view, std::span<const std::int64_t> axes, Where where);
/// Reverses axes; none named reverses all.
Strided flip(const Strided& view, std::span<const std::int64_t> axes, Where where);
/// NumPy's basic slicing; axes without an item are kept whole.
Strided slice(const Strided& view, std::span<const ViewSpec::Item> items, Where where);

/// Decodes the numbers of record_view and view_of. InternalError when they are not an encoding.
ViewSpec make_view_spec(int kind, const std::int64_t* numbers, unsigned count);
/// Applies any view; nullopt only for a reshape that needs a copy.
std::optional<Strided> apply_view(const Strided& view, const ViewSpec& spec, Where where);
/// The same from the bridge's numbers, without allocating.
std::optional<Strided> apply_view(const Strided& view, int kind, const std::int64_t* numbers, unsigned count,
                                  Where where);
/// The shape that `spec` makes of `shape`, for values that have no layout (expressions).
Shape viewed_shape(const Shape& shape, const ViewSpec& spec, Where where);
/// "transpose", "reshape", ...: the name messages use.
const char* name_of(ViewSpec::Kind kind);

}  // namespace kiln::dsl
