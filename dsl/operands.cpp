// dsl/operands.cpp -- shapes and views of expressions, index operands, and the checks behind the public headers.
#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <vector>

#include <kiln/detail/structure.h>
#include <kiln/shape.h>

#include "dsl/fragment.h"
#include "dsl/gather.h"
#include "dsl/infer.h"
#include "dsl/out_of_memory.h"
#include "dsl/recorder.h"
#include "dsl/shapes.h"
#include "support/check.h"

namespace kiln::dsl {
namespace {

using detail::Fragment;
using detail::Handle;
using detail::Instruction;
using detail::Parts;
using detail::Slot;

template <class Visit>
void each_operand(const Instruction* code, const Slot* slots, std::size_t size, Visit visit) {
  for (std::size_t i = 0; i < size; ++i) {
    if (is_operand(code[i].kind)) visit(i, handle_of(slots[i]));
  }
}

/// Layouts of every array below the expression; ShapeError for arrays without elements.
std::vector<const detail::Layout*> layouts_of(const Parts& parts, Where where) {
  std::vector<const detail::Layout*> layouts;
  const auto add = [&](std::size_t, const Handle& h) {
    if (!h.layout)
      fail<ShapeError>(
          "an array in an expression has no elements{}: it was default-constructed or moved from; give it a shape or "
          "assign to it first",
          place(where));
    layouts.push_back(h.layout);
  };
  each_operand(parts.code, parts.slots, parts.size, add);
  for (const Fragment* f : fragments_below(&parts, 1)) {
    each_operand(f->program->data(), f->slots.data(), f->slots.size(), add);
  }
  return layouts;
}

/// True when a view of the value is not the value of viewed operands.
bool mixes_elements(const Fragment& f) {
  return detail::mixes_elements(f.program->data(), static_cast<unsigned>(f.program->size()));
}

/// True when the shape is not that of all operands together.
bool mixes_elements(const Parts& parts) {
  if (detail::mixes_elements(parts.code, parts.size)) return true;
  const std::vector<Fragment*> fragments = fragments_below(&parts, 1);
  return std::any_of(fragments.begin(), fragments.end(), [](const Fragment* f) { return mixes_elements(*f); });
}

/// The shape of any expression: records it.
int traced_shape(const Parts& parts, std::int64_t* shape, Where where) {
  const Gathered gathered(&parts, 1, where);
  detail::Call call;
  gathered.fill(call);
  std::vector<int> ranks;
  std::vector<Shape> shapes;
  for (unsigned i = 0; i < call.input_count; ++i) {
    const detail::Layout& layout = *call.inputs[i].layout;
    ranks.push_back(layout.rank);
    shapes.push_back(make_shape("shape", {layout.shape, static_cast<std::size_t>(layout.rank)}, where));
  }
  detail::Recorder recorder(std::move(ranks), call.scalar_count);
  detail::TracedArgument traced;
  gathered.record(recorder, &traced);
  const Shape result = infer_shapes(recorder.graph(), shapes)[traced.node];
  std::copy_n(result.extents.begin(), result.rank, shape);
  return result.rank;
}

/// A program in the making. Owns nothing.
struct Program {
  std::vector<Instruction> code;
  std::vector<Slot> slots;

  Parts parts() const { return {code.data(), slots.data(), static_cast<unsigned>(slots.size())}; }
  /// Appends a view of the value so far, or of the last two: a shift and what it fills with.
  void view(detail::ViewKind kind, const std::int64_t* numbers, unsigned count, Where where, unsigned arity = 1) {
    const DType type = code.back().type;
    const auto structure = [&](std::uint64_t first, std::uint64_t second) {
      code.push_back({.kind = Instruction::structure});
      slots.push_back({nullptr, {first, second}});
    };
    structure(static_cast<std::uint64_t>(kind), count);
    for (unsigned i = 0; i < count; i += 2) {
      structure(static_cast<std::uint64_t>(numbers[i]), i + 1 < count ? static_cast<std::uint64_t>(numbers[i + 1]) : 0);
    }
    code.push_back({.kind = Instruction::viewed, .type = type, .arity = static_cast<std::uint8_t>(arity)});
    slots.push_back({nullptr, {reinterpret_cast<std::uintptr_t>(where.file), where.line}});
  }
};

/// One view of an expression of known shape, applied operand by operand.
class Viewing {
 public:
  Viewing(const Parts& parts, detail::ViewKind kind, const std::int64_t* numbers, unsigned count, Where where)
      : kind_(kind), numbers_(numbers, numbers + count), where_(where) {
    shape_.rank = detail::shape_of(parts, shape_.extents.data(), where);
    viewed_shape(shape_, make_view_spec(static_cast<int>(kind), numbers, count), where);  // throws if it does not fit
    if (kind_ != detail::ViewKind::squeeze || count != 0) return;
    for (int axis = 0; axis < shape_.rank; ++axis) {  // by name: traces do not know extents
      if (shape_.extents[axis] == 1) numbers_.push_back(axis);
    }
  }

  Handle operator()(const Handle& h) const {
    const Handle whole =
        detail::view_of(h, static_cast<int>(detail::ViewKind::broadcast_to), shape_.extents.data(), rank(), where_);
    return detail::view_of(whole, static_cast<int>(kind_), numbers_.data(), count(), where_);
  }
  /// The view of `program`, which has the shape of the expression.
  void append(Program& program) const {
    if (kind_ == detail::ViewKind::squeeze && numbers_.empty()) return;
    program.view(kind_, numbers_.data(), count(), where_);
  }
  /// The view of a fragment's value.
  Program whole(const Fragment& fragment) const {
    Program program{{{.kind = Instruction::fragment, .type = fragment.program->back().type}},
                    {slot_of(const_cast<Fragment*>(&fragment))}};
    Shape own;
    own.rank = detail::shape_of(program.parts(), own.extents.data(), where_);
    if (!(own == shape_)) program.view(detail::ViewKind::broadcast_to, shape_.extents.data(), rank(), where_);
    append(program);
    return program;
  }

 private:
  unsigned rank() const { return static_cast<unsigned>(shape_.rank); }
  unsigned count() const { return static_cast<unsigned>(numbers_.size()); }

  detail::ViewKind kind_;
  std::vector<std::int64_t> numbers_;
  Where where_;
  Shape shape_;
};

/// The distinct fragments that a view reaches: those below one that mixes elements stay as they are.
std::vector<Fragment*> reached_fragments(const Parts& parts) {
  std::vector<Fragment*> found;
  const auto visit = [&](const Instruction* code, const Slot* slots, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) {
      if (code[i].kind != Instruction::fragment) continue;
      Fragment* const f = fragment_of(slots[i]);
      if (std::find(found.begin(), found.end(), f) == found.end()) found.push_back(f);
    }
  };
  visit(parts.code, parts.slots, parts.size);
  for (std::size_t next = 0; next < found.size(); ++next) {
    const Fragment& f = *found[next];
    if (!mixes_elements(f)) visit(f.program->data(), f.slots.data(), f.slots.size());
  }
  return found;
}

/// Copies with every operand viewed; those that mix elements are viewed as a whole. References to other fragments still
/// point at the originals.
std::vector<Fragment*> viewed_fragments(const std::vector<Fragment*>& fragments, const Viewing& view) {
  std::vector<Program> programs;
  for (const Fragment* f : fragments) {
    if (mixes_elements(*f)) {
      programs.push_back(view.whole(*f));
      continue;
    }
    programs.push_back({*f->program, f->slots});
    each_operand(f->program->data(), f->slots.data(), f->slots.size(),
                 [&](std::size_t i, const Handle& h) { programs.back().slots[i] = __builtin_bit_cast(Slot, view(h)); });
  }
  std::vector<Fragment*> copies;  // nothing throws ShapeError from here on
  for (const Program& program : programs) copies.push_back(fragment_of(detail::make_fragment(program.parts())));
  return copies;
}

class Replacement {
 public:
  Replacement(const std::vector<Fragment*>& from, const std::vector<Fragment*>& to) {
    for (std::size_t i = 0; i < from.size(); ++i) to_.emplace(from[i], to[i]);
  }
  /// Points `slot` at the replacement of its fragment.
  void apply(Slot& slot) const {
    Slot replaced = slot_of(to_.at(fragment_of(slot)));
    Slot held;
    detail::copy_slots(&held, &replaced, 1);
    detail::release_slots(&slot, 1);
    slot = held;
  }
  void apply(const Instruction* code, Slot* slots, std::size_t size) const {
    for (std::size_t i = 0; i < size; ++i) {
      if (code[i].kind == Instruction::fragment) apply(slots[i]);
    }
  }

 private:
  std::unordered_map<const Fragment*, Fragment*> to_;
};

}  // namespace
}  // namespace kiln::dsl

namespace kiln::detail {

int shape_of(const Parts& parts, std::int64_t* shape, Where where) try {
  if (dsl::mixes_elements(parts)) return dsl::traced_shape(parts, shape, where);
  const std::vector<const Layout*> layouts = dsl::layouts_of(parts, where);
  return broadcast_shape(layouts.data(), static_cast<unsigned>(layouts.size()), shape, where);
} catch (const std::bad_alloc&) {
  dsl::fail_without_memory("find a shape", where);
}

void view_of(const Parts& parts, Slot* slots, ViewKind kind, const std::int64_t* numbers, unsigned count,
             Where where) try {
  const dsl::Viewing view(parts, kind, numbers, count, where);
  std::vector<Slot> result(slots, slots + parts.size);
  bool any = false;
  dsl::each_operand(parts.code, parts.slots, parts.size, [&](std::size_t i, const Handle& h) {
    result[i] = __builtin_bit_cast(Slot, view(h));
    any = true;
  });
  const std::vector<Fragment*> originals = dsl::reached_fragments(parts);
  if (!any && originals.empty()) {
    fail<ShapeError>("[{}] of an expression without arrays{}; make an array of it first, e.g. with kl::full",
                     dsl::name_of(static_cast<dsl::ViewSpec::Kind>(kind)), dsl::place(where));
  }
  const std::vector<Fragment*> copies = dsl::viewed_fragments(originals, view);
  for (unsigned i = 0; i < parts.size; ++i) slots[i] = result[i];
  if (copies.empty()) return;
  const dsl::Replacement replacement(originals, copies);
  for (std::size_t k = 0; k < copies.size(); ++k) {
    Fragment& f = *copies[k];
    if (!dsl::mixes_elements(*originals[k])) replacement.apply(f.program->data(), f.slots.data(), f.slots.size());
  }
  replacement.apply(parts.code, slots, parts.size);
  for (Fragment* f : copies) {  // the references held by `copies` itself
    Slot slot = dsl::slot_of(f);
    release_slots(&slot, 1);
  }
} catch (const std::bad_alloc&) {
  dsl::fail_without_memory("make a view", where);
}

Slot viewed_fragment(const Parts& parts, ViewKind kind, const std::int64_t* numbers, unsigned count, Where where) try {
  const dsl::Viewing view(parts, kind, numbers, count, where);
  dsl::Program program{{parts.code, parts.code + parts.size}, {parts.slots, parts.slots + parts.size}};
  view.append(program);
  return make_fragment(program.parts());
} catch (const std::bad_alloc&) {
  dsl::fail_without_memory("make a view", where);
}

Slot shifted_fragment(const Parts& parts, const Parts* fill, Beyond beyond, const std::int64_t* by, unsigned count,
                      Where where) try {
  std::vector<std::int64_t> numbers{static_cast<std::int64_t>(beyond)};
  numbers.insert(numbers.end(), by, by + count);
  dsl::Shape shape;
  shape.rank = shape_of(parts, shape.extents.data(), where);
  dsl::viewed_shape(shape, dsl::make_view_spec(static_cast<int>(ViewKind::shift), numbers.data(), count + 1), where);
  dsl::Program program{{parts.code, parts.code + parts.size}, {parts.slots, parts.slots + parts.size}};
  if (fill) {
    program.code.push_back(*fill->code);
    program.slots.push_back(*fill->slots);
  }
  program.view(ViewKind::shift, numbers.data(), count + 1, where, fill ? 2 : 1);
  return make_fragment(program.parts());
} catch (const std::bad_alloc&) {
  dsl::fail_without_memory("shift", where);
}

Handle index_operand(const Parts& parts, int axis, Where where) try {
  std::int64_t extents[max_rank] = {}, strides[max_rank] = {};
  const int rank = shape_of(parts, extents, where);
  const dsl::Shape shape = dsl::make_shape("index", {extents, static_cast<std::size_t>(rank)}, where);
  strides[dsl::checked_axis("index", axis, shape, where)] = 1;
  int kind = 0, index = 0;
  current_device(kind, index);
  return {nullptr, nullptr, intern(DType::i64, kind, index, extents, rank, strides)};
} catch (const std::bad_alloc&) {
  dsl::fail_without_memory("make an index", where);
}

Handle counter_operand(const std::int64_t* shape, int rank, Where where) try {
  int kind = 0, index = 0;
  current_device(kind, index);
  const dsl::Shape checked = dsl::make_shape("array", {shape, static_cast<std::size_t>(rank)}, where);
  dsl::element_count("array", checked, where);
  return {nullptr, nullptr, intern(DType::i64, kind, index, shape, rank, nullptr)};
} catch (const std::bad_alloc&) {
  dsl::fail_without_memory("make an index", where);
}

void check_count(std::int64_t count, const std::int64_t* shape, int rank, Where where) {
  const dsl::Shape wanted = dsl::make_shape("from_host", {shape, static_cast<std::size_t>(rank)}, where);
  const std::int64_t size = dsl::element_count("from_host", wanted, where);
  if (size == count) return;
  fail<ShapeError>(
      "[from_host] {} values do not fill shape {} of {} elements{}; the extents must multiply to the number of values",
      count, dsl::to_text(wanted), size, dsl::place(where));
}

std::int64_t arange_count(double start, double stop, double step, Where where) {
  const double count = std::ceil((stop - start) / step);
  if (step == 0 || !(count < 0x1p62)) {
    fail<ShapeError>("[arange] from {} to {} by {}{} is not a finite sequence; give a step other than 0", start, stop,
                     step, dsl::place(where));
  }
  return count > 0 ? static_cast<std::int64_t>(count) : 0;
}

std::int64_t arange_count(std::int64_t start, std::int64_t stop, std::int64_t step, Where where) {
  if (step == 0)
    fail<ShapeError>("[arange] from {} to {} by 0{} never ends; give a step other than 0", start, stop,
                     dsl::place(where));
  const __int128 distance = static_cast<__int128>(stop) - start;
  if ((distance > 0) != (step > 0) || distance == 0) return 0;
  const __int128 count = (distance + step - (step > 0 ? 1 : -1)) / step;
  if (count > INT64_MAX) {
    fail<ShapeError>("[arange] from {} to {} by {}{} has more than 2^63 elements", start, stop, step,
                     dsl::place(where));
  }
  return static_cast<std::int64_t>(count);
}

void stride_mismatch(int rank, int strides, Where where) {
  fail<ShapeError>("[view] a shape of {} axes with {} strides{}; give one stride, in elements, per axis", rank, strides,
                   dsl::place(where));
}

void check_single(const Layout* layout, Where where) {
  if (layout && layout->size == 1) return;
  const dsl::Shape shape = layout
                               ? dsl::make_shape("item", {layout->shape, static_cast<std::size_t>(layout->rank)}, where)
                               : dsl::Shape{.rank = 1};
  fail<ShapeError>(
      "[item] of shape {}{}: only an array of one element has an item; take one element, as in a(0, 0).item(), or use "
      "to_host()",
      dsl::to_text(shape), dsl::place(where));
}

void too_many_axes(std::size_t count, Where where) {
  fail<ShapeError>("a shape of {} or more axes{}; kiln arrays have at most {}: merge neighbouring axes", count,
                   dsl::place(where), max_rank);
}

void bad_axis_access(std::int64_t axis, int rank, Where where) {
  if (rank == 0) fail<ShapeError>("shape()[{}] of a shape without axes{}", axis, dsl::place(where));
  fail<ShapeError>("shape()[{}] of a shape of {} axes{}; use {} to {}", axis, rank, dsl::place(where), -rank, rank - 1);
}

}  // namespace kiln::detail
