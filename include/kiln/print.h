// kiln/print.h -- std::cout << array: the elements as NumPy writes them, with their type, shape and device.
#pragma once

#include <kiln/eval.h>

namespace kiln {
namespace detail {

/// A text that lives until free_text.
KILN_API char* array_text(const Handle& h, Where where);
KILN_API void free_text(char* text) noexcept;

template <class Stream>
concept character_stream = requires(Stream& s) { s.write("", 0L); };

}  // namespace detail

/// "f32".
template <detail::character_stream Stream>
Stream& operator<<(Stream& stream, DType type) {
  stream.write(name_of(type), static_cast<long>(__builtin_strlen(name_of(type))));
  return stream;
}
/// "cpu", "cuda:0".
template <detail::character_stream Stream>
Stream& operator<<(Stream& stream, const Device& device) {
  if (device.kind() == DeviceKind::cpu) {
    stream.write("cpu", 3L);
  } else {
    stream.write("cuda:", 5L);
    stream << device.index();
  }
  return stream;
}

/// Prints the type, the shape, the device and the elements in brackets, after the current stream's work. Of more than
/// 1000 elements the first and last three along each axis; only those are fetched. Expressions are evaluated first. The
/// stream's width and precision are not used: numbers have as many digits as tell them from their neighbours.
template <detail::character_stream Stream, class X>
  requires(detail::role_of<X> == detail::Role::array || detail::role_of<X> == detail::Role::traced)
Stream& operator<<(Stream& stream, const X& x) {
  static_assert(
      detail::role_of<X> == detail::Role::array,
      "kiln: a traced value has no value yet; print what the compiled function returns, or f.inspect(x).graph");
  if constexpr (requires { x.handle(); }) {
    char* const text = detail::array_text(x.handle(), {});
    stream.write(text, static_cast<long>(__builtin_strlen(text)));
    detail::free_text(text);
    return stream;
  } else if constexpr (detail::role_of<X> == detail::Role::array) {
    return stream << eval(x);
  } else {
    return stream;
  }
}

}  // namespace kiln
