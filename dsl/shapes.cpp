// dsl/shapes.cpp -- sizes, ranges and broadcasting, in 64-bit arithmetic that is checked.
#include "dsl/shapes.h"

#include <algorithm>
#include <string_view>

#include "support/check.h"

namespace kiln::dsl {
namespace {

/// The last component of a path: users know their files by it, and messages do not depend on the build directory.
std::string_view base_name(std::string_view path) {
  const std::size_t slash = path.find_last_of('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

bool multiply(std::int64_t a, std::int64_t b, std::int64_t& product) { return !__builtin_mul_overflow(a, b, &product); }
bool add(std::int64_t a, std::int64_t b, std::int64_t& sum) { return !__builtin_add_overflow(a, b, &sum); }

[[noreturn]] void fail_mismatch(const char* operation, std::span<const Shape> shapes, std::size_t first,
                                std::size_t second, int axis, Where where) {
  const Shape& a = shapes[first];
  const Shape& b = shapes[second];
  fail<ShapeError>(
      "[{}] shapes {} and {} do not broadcast{}: axis {} from the end has {} and {} elements. Extents must be equal or "
      "1; "
      "use reshape, unsqueeze or a slice to make them agree",
      operation, to_text(a), to_text(b), place(where), -1 - axis, a.extents[a.rank - 1 - axis],
      b.extents[b.rank - 1 - axis]);
}

}  // namespace

std::string to_text(std::span<const std::int64_t> extents) {
  if (extents.size() == 1) return fmt::format("({},)", extents[0]);
  return fmt::format("({})", fmt::join(extents.begin(), extents.end(), ", "));
}

std::string place(Where where) {
  if (!where.file) return {};
  return fmt::format(" ({}:{}{})", base_name(where.file), where.line,
                     is_of_the_cpp_library(where) ? " of the C++ library" : "");
}

bool is_of_the_cpp_library(Where where) {
  return where.file && std::string_view(where.file).find("/c++/") != std::string_view::npos;
}
bool is_of_kiln(Where where) {
  const std::string_view file = where.file ? where.file : "";
  return file.find("/kiln/detail/") != file.npos || file.ends_with("/kiln/jit.h");
}

std::string place(const detail::Call& call) { return place(call.where.file ? call.where : call.definition); }

Shape make_shape(const char* operation, std::span<const std::int64_t> extents, Where where) {
  if (extents.size() > static_cast<std::size_t>(max_rank)) {
    fail<ShapeError>(
        "[{}] shape {} has {} axes{}; kiln arrays have at most {}. Reshape so that neighbouring axes are merged",
        operation, to_text(extents), extents.size(), place(where), max_rank);
  }
  Shape shape;
  shape.rank = static_cast<int>(extents.size());
  for (int i = 0; i < shape.rank; ++i) {
    if (extents[i] < 0) {
      fail<ShapeError>("[{}] shape {} has a negative extent {} at axis {}{}; extents must be 0 or more", operation,
                       to_text(extents), extents[i], i, place(where));
    }
    shape.extents[i] = extents[i];
  }
  return shape;
}

std::int64_t element_count(const char* operation, const Shape& shape, Where where) {
  const auto extents = shape.span();
  if (std::find(extents.begin(), extents.end(), 0) != extents.end()) return 0;
  std::int64_t count = 1;
  for (const std::int64_t extent : extents) {
    if (!multiply(count, extent, count)) {
      fail<ShapeError>("[{}] shape {} has more than 2^63 elements{}; use smaller extents", operation, to_text(shape),
                       place(where));
    }
  }
  return count;
}

int checked_axis(const char* operation, std::int64_t axis, const Shape& shape, Where where) {
  const std::int64_t positive = axis < 0 ? axis + shape.rank : axis;
  if (positive < 0 || positive >= shape.rank) {
    if (shape.rank == 0) {
      fail<ShapeError>("[{}] axis {} is out of range{}: a value of shape () has no axes", operation, axis,
                       place(where));
    }
    fail<ShapeError>("[{}] axis {} is out of range for shape {}{}; use {} to {}", operation, axis, to_text(shape),
                     place(where), -shape.rank, shape.rank - 1);
  }
  return static_cast<int>(positive);
}

Strided contiguous(const char* operation, const Shape& shape, Where where) {
  Strided view;
  view.shape = shape;
  const bool empty = element_count(operation, shape, where) == 0;
  std::int64_t stride = 1;
  for (int i = shape.rank - 1; i >= 0; --i) {
    view.strides[i] = stride;
    // The extents beside a 0 are not bounded by the size.
    const std::int64_t extent = std::max<std::int64_t>(shape.extents[i], 1);
    if (!multiply(stride, extent, stride)) {
      KILN_INTERNAL_CHECK(empty, "strides of shape {}", to_text(shape));
      stride = 1;
    }
  }
  return view;
}

Strided constant(const Shape& shape) {
  Strided view;
  view.shape = shape;
  return view;
}

bool is_contiguous(const Strided& view) {
  const auto extents = view.shape.span();
  if (std::find(extents.begin(), extents.end(), 0) != extents.end()) return true;
  std::int64_t stride = 1;
  for (int i = view.shape.rank - 1; i >= 0; --i) {
    if (view.shape.extents[i] == 1) continue;
    if (view.strides[i] != stride) return false;
    if (!multiply(stride, view.shape.extents[i], stride)) return false;
  }
  return true;
}

ElementRange element_range(const char* operation, const Strided& view, std::int64_t element_bytes, Where where) {
  ElementRange range;
  if (element_count(operation, view.shape, where) == 0) return range;
  range.high = 1;
  bool fits = true;
  for (int i = 0; i < view.shape.rank && fits; ++i) {
    std::int64_t reach = 0;
    fits = multiply(view.shape.extents[i] - 1, view.strides[i], reach);
    std::int64_t& bound = reach < 0 ? range.low : range.high;
    fits = fits && add(bound, reach, bound);
  }
  std::int64_t bytes = 0;
  fits = fits && multiply(range.low, element_bytes, bytes) && multiply(range.high, element_bytes, bytes);
  if (!fits) {
    fail<ShapeError>("[{}] shape {} with strides {} reaches beyond 2^63 bytes{}; use smaller extents or strides",
                     operation, to_text(view.shape),
                     to_text({view.strides.data(), static_cast<std::size_t>(view.shape.rank)}), place(where));
  }
  return range;
}

Shape broadcast(const char* operation, std::span<const Shape> shapes, Where where) {
  Shape result;
  for (const Shape& shape : shapes) result.rank = std::max(result.rank, shape.rank);
  for (int axis = 0; axis < result.rank; ++axis) {  // counted from the last axis
    std::int64_t extent = 1;
    std::size_t decided_by = 0;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      if (axis >= shapes[i].rank) continue;
      const std::int64_t own = shapes[i].extents[shapes[i].rank - 1 - axis];
      if (own == 1 || own == extent) continue;
      if (extent != 1) fail_mismatch(operation, shapes, decided_by, i, axis, where);
      extent = own;
      decided_by = i;
    }
    result.extents[result.rank - 1 - axis] = extent;
  }
  return result;
}

Strided broadcast_to(const char* operation, const Strided& view, const Shape& shape, Where where) {
  const int added = shape.rank - view.shape.rank;
  Strided result;
  result.shape = shape;
  result.offset = view.offset;
  bool fits = added >= 0;
  for (int i = 0; i < view.shape.rank && fits; ++i) {
    const std::int64_t from = view.shape.extents[i];
    const std::int64_t to = shape.extents[i + added];
    fits = from == to || from == 1;
    result.strides[i + added] = from == to ? view.strides[i] : 0;
  }
  if (!fits) {
    fail<ShapeError>(
        "[{}] shape {} does not broadcast to {}{}: aligned at the last axis, every extent must be equal or 1{}",
        operation, to_text(view.shape), to_text(shape), place(where),
        added < 0 ? ", and axes cannot be dropped; squeeze or index them away" : "");
  }
  return result;
}

}  // namespace kiln::dsl
