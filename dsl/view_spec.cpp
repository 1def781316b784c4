// dsl/view_spec.cpp -- views as data: decoding the bridge's numbers and applying them to layouts and to bare shapes.
#include <algorithm>

#include "dsl/shapes.h"
#include "support/check.h"

namespace kiln::dsl {
namespace {

using Kind = ViewSpec::Kind;

Kind checked_kind(int kind) {
  KILN_INTERNAL_CHECK(kind >= 0 && kind <= static_cast<int>(Kind::shift), "view kind {}", kind);
  return static_cast<Kind>(kind);
}

/// Numbers that are not read are zeroed, so that equal views are equal data.
ViewSpec::Item decode_item(const std::int64_t* numbers) {
  ViewSpec::Item item;
  item.is_index = (numbers[0] & slice_is_index) != 0;
  item.has_start = !item.is_index && (numbers[0] & slice_has_start) != 0;
  item.has_stop = !item.is_index && (numbers[0] & slice_has_stop) != 0;
  item.start = item.is_index || item.has_start ? numbers[1] : 0;
  item.stop = item.has_stop ? numbers[2] : 0;
  item.step = item.is_index ? 1 : numbers[3];
  return item;
}

std::optional<Strided> apply_numbers(const Strided& view, Kind kind, std::span<const std::int64_t> numbers,
                                     Where where) {
  switch (kind) {
    case Kind::transpose:
      return transpose(view, numbers, where);
    case Kind::reshape:
      return reshape(view, numbers, where);
    case Kind::broadcast_to:
      return broadcast_to("broadcast_to", view, make_shape("broadcast_to", numbers, where), where);
    case Kind::squeeze:
      return squeeze(view, numbers, where);
    case Kind::unsqueeze:
      return unsqueeze(view, numbers, where);
    case Kind::flip:
      return flip(view, numbers, where);
    case Kind::slice:
    case Kind::shift:
      break;
  }
  KILN_INTERNAL_CHECK(false, "{} is no layout given by numbers", name_of(kind));
  return std::nullopt;
}

}  // namespace

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::transpose:
      return "transpose";
    case Kind::reshape:
      return "reshape";
    case Kind::broadcast_to:
      return "broadcast_to";
    case Kind::squeeze:
      return "squeeze";
    case Kind::unsqueeze:
      return "unsqueeze";
    case Kind::flip:
      return "flip";
    case Kind::slice:
      return "slice";
    case Kind::shift:
      return "shift";
  }
  return "view";
}

ViewSpec make_view_spec(int kind, const std::int64_t* numbers, unsigned count) {
  ViewSpec spec;
  spec.kind = checked_kind(kind);
  if (spec.kind != Kind::slice) {
    spec.numbers.assign(numbers, numbers + count);
    return spec;
  }
  KILN_INTERNAL_CHECK(count % 4 == 0, "{} numbers in a slice", count);
  spec.items.reserve(count / 4);
  for (unsigned i = 0; i < count; i += 4) spec.items.push_back(decode_item(numbers + i));
  return spec;
}

std::optional<Strided> apply_view(const Strided& view, const ViewSpec& spec, Where where) {
  if (spec.kind == Kind::slice) return slice(view, spec.items, where);
  return apply_numbers(view, spec.kind, spec.numbers, where);
}

std::optional<Strided> apply_view(const Strided& view, int kind, const std::int64_t* numbers, unsigned count,
                                  Where where) {
  if (checked_kind(kind) != Kind::slice) return apply_numbers(view, checked_kind(kind), {numbers, count}, where);
  KILN_INTERNAL_CHECK(count % 4 == 0, "{} numbers in a slice", count);
  std::array<ViewSpec::Item, max_rank + 1> items;  // one too many is reported by slice()
  const unsigned item_count = std::min(count / 4, static_cast<unsigned>(items.size()));
  for (unsigned i = 0; i < item_count; ++i) items[i] = decode_item(numbers + 4 * i);
  return slice(view, {items.data(), item_count}, where);
}

Shape viewed_shape(const Shape& shape, const ViewSpec& spec, Where where) {
  if (spec.kind == Kind::shift) {
    if (spec.numbers.size() == static_cast<std::size_t>(shape.rank) + 1) return shape;
    const std::span<const std::int64_t> by = std::span(spec.numbers).subspan(1);
    fail<ShapeError>("kl::shift by {} of an array of shape {}{}; give one displacement per axis, 0 for those that stay",
                     to_text(by), to_text(shape), place(where));
  }
  // Strides of 0 everywhere merge in every reshape and never overflow, so only the shape rules are left.
  const std::optional<Strided> viewed = apply_view(constant(shape), spec, where);
  KILN_INTERNAL_CHECK(viewed.has_value(), "{} of shape {}", name_of(spec.kind), to_text(shape));
  return viewed->shape;
}

}  // namespace kiln::dsl
