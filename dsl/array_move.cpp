// dsl/array_move.cpp -- Array = Array&&: an exchange of handles, and a copy while a capture records.
//
// A graph knows memory, not C++ variables. Were `b = f(a)` to give b other memory inside a capture, what the graph
// reads as b at the next launch would still be the former memory.
#include <utility>

#include "dsl/array_memory.h"
#include "dsl/recorded_assignment.h"
#include "dsl/session.h"
#include "dsl/shapes.h"
#include "runtime/recording.h"
#include "support/check.h"

namespace kiln::dsl {
namespace {

using detail::Handle;

/// True where nothing is left to do.
[[gnu::cold]] bool moved_while_recording(runtime::Recording& recording, const Handle& to, const Handle& from) noexcept {
  try {
    const runtime::DeviceId device = device_of(*to.layout);
    if (!recording.takes(runtime::backend(device), current_stream(device))) return false;
    if (recording.work().owns(*storage_of(to))) return false;  // the graph wrote it before it reads it
    const bool fits = device_of(*from.layout) == device && from.layout->dtype == to.layout->dtype &&
                      shape_of(*from.layout) == shape_of(*to.layout);
    if (!fits) {
      check_replaced(recording, to, *from.layout, detail::Where{});
      return false;
    }
    copy_by_kernel(from, to, detail::Where{});
  } catch (...) {
    recording.fail_at_end(std::current_exception());
  }
  return true;
}

}  // namespace

void check_replaced(const runtime::Recording& recording, const Handle& array, const detail::Layout& by,
                    detail::Where where) {
  const runtime::Storage* const storage = storage_of(array);
  if (!storage || !recording.work().keeps(*storage)) return;
  const std::string capture = recording.place, here = place(where);
  fail<ShapeError>(
      "inside kl::capture{} an array of shape {}, whose memory the graph already uses, would get other memory for "
      "shape "
      "{}{}: later launches would still use the former. Assign to another array, or to a slice: b(kl::range(n)) = ...",
      capture == here ? "" : capture, to_text(shape_of(*array.layout)), to_text(shape_of(by)), here);
}

}  // namespace kiln::dsl

namespace kiln::detail {

void move_array(Handle& to, Handle& from) noexcept {
  runtime::Recording* const recording = runtime::recording;
  if (recording && to.layout && from.layout && to.storage != from.storage) [[unlikely]]
    if (dsl::moved_while_recording(*recording, to, from)) return;
  std::swap(to, from);
}

}  // namespace kiln::detail
