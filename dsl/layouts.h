// dsl/layouts.h -- interned layouts: one immutable object per (type, device, shape, strides), never freed.
#pragma once

#include <kiln/detail/bridge.h>

#include "dsl/shapes.h"
#include "runtime/runtime.h"

namespace kiln::dsl {

/// The unique layout of these values; equal arguments give equal addresses for the life of the process. `view.offset`
/// plays no part. Throws ShapeError when the byte range does not fit 63 bits. A hit takes no lock.
const detail::Layout* intern(DType type, runtime::DeviceId device, const Strided& view, const char* operation = "array",
                             Where where = {});

/// Shape and strides of a layout, offset 0.
Strided strided_of(const detail::Layout& layout);
inline Shape shape_of(const detail::Layout& layout) { return strided_of(layout).shape; }
inline runtime::DeviceId device_of(const detail::Layout& layout) {
  return {static_cast<runtime::DeviceKind>(layout.device_kind), layout.device_index};
}
/// Number of layouts interned so far; for tests and `explain`.
std::size_t interned_layouts();

}  // namespace kiln::dsl
