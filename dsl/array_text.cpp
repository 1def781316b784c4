// dsl/array_text.cpp -- what std::cout << array prints: elements in brackets, of large arrays those at the ends.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <kiln/detail/raw_arguments.h>
#include <kiln/print.h>

#include "dsl/array_memory.h"
#include "dsl/out_of_memory.h"
#include "dsl/shapes.h"
#include "dsl/specializations.h"

namespace kiln::dsl {
namespace {

constexpr std::int64_t most_elements = 1000;  ///< printed in full, as NumPy does
constexpr std::int64_t edge = 3;              ///< at both ends of each axis of larger arrays
constexpr std::size_t line_width = 78;

template <class T>
T element(const unsigned char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

/// A NaN has no sign: 0 / 0 is a negative one on some processors.
template <class T>
T shown(T value) {
  return std::isnan(value) ? std::numeric_limits<T>::quiet_NaN() : value;
}

/// The fewest digits that read back as the same 16 bits.
std::string short_text(float value, std::uint16_t bits, std::uint16_t (*to_bits)(float)) {
  if (std::isnan(value)) return "nan";
  float back = value;
  for (int digits = 1; digits <= 9; ++digits) {
    const std::string text = fmt::format("{:.{}g}", value, digits);
    std::from_chars(text.data(), text.data() + text.size(), back);
    if (to_bits(back) == bits) break;
  }
  return fmt::format("{}", back);
}

template <class T>
std::string complex_text(const unsigned char* at) {
  const T real = element<T>(at), imaginary = element<T>(at + sizeof(T));
  return fmt::format("{}{:+}j", shown(real), shown(imaginary));
}

std::string element_text(DType type, const unsigned char* at) {
  switch (type) {
    case DType::b1:
      return *at ? "true" : "false";
    case DType::i8:
      return fmt::format("{}", element<std::int8_t>(at));
    case DType::i16:
      return fmt::format("{}", element<std::int16_t>(at));
    case DType::i32:
      return fmt::format("{}", element<std::int32_t>(at));
    case DType::i64:
      return fmt::format("{}", element<std::int64_t>(at));
    case DType::u8:
      return fmt::format("{}", *at);
    case DType::u16:
      return fmt::format("{}", element<std::uint16_t>(at));
    case DType::u32:
      return fmt::format("{}", element<std::uint32_t>(at));
    case DType::u64:
      return fmt::format("{}", element<std::uint64_t>(at));
    case DType::f16:
      return short_text(detail::f16_bits_to_f32(element<std::uint16_t>(at)), element<std::uint16_t>(at),
                        detail::f32_to_f16_bits);
    case DType::bf16:
      return short_text(detail::bf16_bits_to_f32(element<std::uint16_t>(at)), element<std::uint16_t>(at),
                        detail::f32_to_bf16_bits);
    case DType::f32:
      return fmt::format("{}", shown(element<float>(at)));
    case DType::f64:
      return fmt::format("{}", shown(element<double>(at)));
    case DType::c64:
      return complex_text<float>(at);
    case DType::c128:
      return complex_text<double>(at);
  }
  return "?";
}

/// The elements that are printed, in C order, and along which axes others lie between the first and the last three.
struct Sample {
  Shape shape;
  std::array<bool, max_rank> elided = {};
  std::vector<std::string> texts;
};

/// Copies elements [first, first + count) of the last axis, at these coordinates of the others, to `to`.
void fetch_run(const detail::Handle& h, const std::array<std::int64_t, max_rank>& at, std::int64_t first,
               std::int64_t count, unsigned char* to, detail::Where where) {
  std::vector<std::int64_t> items;
  for (int axis = 0; axis + 1 < h.layout->rank; ++axis)
    items.insert(items.end(), {detail::slice_is_index | detail::slice_has_start, at[axis], 0, 1});
  items.insert(items.end(), {detail::slice_has_start | detail::slice_has_stop, first, first + count, 1});
  const detail::Handle run = detail::view_of(h, static_cast<int>(detail::ViewKind::slice), items.data(),
                                             static_cast<unsigned>(items.size()), where);
  copy_to_host(run, to, where);
}

/// Advances coordinates of `extents` but for the last axis; false after the last ones.
bool advance(std::array<std::int64_t, max_rank>& at, const Shape& extents) {
  for (int axis = extents.rank - 2; axis >= 0; --axis) {
    if (++at[axis] < extents.extents[axis]) return true;
    at[axis] = 0;
  }
  return false;
}

Sample sample_of(const detail::Handle& h, detail::Where where) {
  const detail::Layout& layout = *h.layout;
  const std::size_t bytes = size_of(layout.dtype);
  Sample sample;
  sample.shape = shape_of(layout);
  std::vector<unsigned char> values;
  if (layout.size <= most_elements) {
    values.resize(static_cast<std::size_t>(layout.size) * bytes);
    if (layout.size > 0) copy_to_host(h, values.data(), where);
  } else {
    std::int64_t count = 1;
    for (int axis = 0; axis < layout.rank; ++axis) {
      sample.elided[axis] = layout.shape[axis] > 2 * edge;
      if (sample.elided[axis]) sample.shape.extents[axis] = 2 * edge;
      count *= sample.shape.extents[axis];
    }
    values.resize(static_cast<std::size_t>(count) * bytes);
    unsigned char* to = values.data();
    std::array<std::int64_t, max_rank> at = {};
    const int last = layout.rank - 1;
    const auto fetch = [&](std::int64_t first, std::int64_t length) {
      std::array<std::int64_t, max_rank> place = at;
      for (int axis = 0; axis < last; ++axis)
        if (sample.elided[axis] && place[axis] >= edge) place[axis] += layout.shape[axis] - 2 * edge;
      fetch_run(h, place, first, length, to, where);
      to += static_cast<std::size_t>(length) * bytes;
    };
    do {
      fetch(0, sample.elided[last] ? edge : layout.shape[last]);
      if (sample.elided[last]) fetch(layout.shape[last] - edge, edge);
    } while (advance(at, sample.shape));
  }
  for (std::size_t i = 0; i < values.size(); i += bytes)
    sample.texts.push_back(element_text(layout.dtype, values.data() + i));
  return sample;
}

/// One row in brackets, broken into lines; `indent` brackets are open before it.
std::string row_text(const Sample& sample, std::size_t first, std::size_t width, std::size_t indent) {
  const auto count = static_cast<std::size_t>(sample.shape.extents[sample.shape.rank - 1]);
  std::string text = "[";
  std::size_t column = indent + 1;
  const auto add = [&](const std::string& item, bool is_last) {
    if (column + item.size() + 1 > line_width && column > indent + 1) {
      text += '\n' + std::string(indent + 1, ' ');
      column = indent + 1;
    } else if (text.size() > 1) {
      text += ' ';
      ++column;
    }
    text += item + (is_last ? "" : ",");
    column += item.size() + 1;
  };
  for (std::size_t i = 0; i < count; ++i) {
    if (sample.elided[sample.shape.rank - 1] && i == edge) add("...", false);
    add(fmt::format("{:>{}}", sample.texts[first + i], width), i + 1 == count);
  }
  return text + "]";
}

std::string brackets_text(const Sample& sample) {
  std::size_t width = 0;
  for (const std::string& each : sample.texts) width = std::max(width, each.size());
  const auto rank = static_cast<std::size_t>(sample.shape.rank);
  const auto row = static_cast<std::size_t>(sample.shape.extents[rank - 1]);
  std::string text(rank - 1, '[');
  std::array<std::int64_t, max_rank> at = {};
  for (std::size_t first = 0;; first += row) {
    text += row_text(sample, first, width, rank - 1);
    const std::array<std::int64_t, max_rank> before = at;
    if (!advance(at, sample.shape)) break;
    std::size_t axis = 0;  // the outermost that moved on; those within begin anew
    while (at[axis] == before[axis]) ++axis;
    const std::size_t closed = rank - 2 - axis;
    text += std::string(closed, ']') + "," + std::string(closed + 1, '\n');
    if (sample.elided[axis] && at[axis] == edge)
      text += std::string(axis + 1, ' ') + "...," + std::string(closed + 1, '\n');
    text += std::string(axis + 1, ' ') + std::string(closed, '[');
  }
  return text + std::string(rank - 1, ']');
}

std::string text_of(const detail::Handle& h, detail::Where where) {
  if (!h.layout) return "[] (never assigned to, or moved from)";
  const Sample sample = sample_of(h, where);
  const std::string elements = h.layout->rank == 0   ? sample.texts[0]
                               : h.layout->size == 0 ? "[]"
                                                     : brackets_text(sample);
  return fmt::format("{} {} {} on {}", elements, name_of(h.layout->dtype), to_text(shape_of(*h.layout)),
                     device_text(device_of(*h.layout)));
}

}  // namespace
}  // namespace kiln::dsl

namespace kiln::detail {

char* array_text(const Handle& h, Where where) try {
  const std::string text = dsl::text_of(h, where);
  return copy_text(text.data(), text.size());
} catch (const std::bad_alloc&) {
  dsl::fail_without_memory("print an array", where);
}

}  // namespace kiln::detail
