// kiln/detail/refusals.h -- what is refused in one sentence: functions whose header kiln.h leaves out, and changes of
// expressions.
#pragma once
// g++ leaves the notes about macros out in what it takes for a header of the system: half of each message.
#pragma GCC system_header

#include <kiln/array.h>

namespace kiln {

// ------------------------------------------------------------------ the header is named where it is missing
// Over packs, so that the function itself, a template, is chosen wherever its header is included; with an ellipsis
// those whose arguments convert.
template <class X = void>
void set_kernel_limit(...) {
  static_assert(!std::is_void_v<X>, "kiln: kl::set_kernel_limit(kernels) needs #include <kiln/kernel_limit.h>");
}
template <class X = void>
void set_allocator(...) {
  static_assert(!std::is_void_v<X>, "kiln: kl::set_allocator(kind, allocator) needs #include <kiln/host.h>");
}
namespace random {
template <class T = float, class... A>
Sym<T> uniform_at(const A&...) {
  static_assert(sizeof...(A) > 99, "kiln: kl::random::uniform_at(counter, seed) needs #include <kiln/random_at.h>");
  __builtin_unreachable();
}
template <class T = float, class... A>
Sym<T> normal_at(const A&...) {
  static_assert(sizeof...(A) > 99, "kiln: kl::random::normal_at(counter, seed) needs #include <kiln/random_at.h>");
  __builtin_unreachable();
}
}  // namespace random
template <class N, class S, class... A>
S repeat(const N&, const S& states, const A&...) {
  static_assert(sizeof...(A) > 99, "kiln: kl::repeat(turns, states, body) needs #include <kiln/repeat.h>");
  return states;
}
template <class C, class S, class... A>
S break_if(const C&, const S& states, const A&...) {
  static_assert(sizeof...(A) > 99, "kiln: kl::break_if(condition, states) needs #include <kiln/repeat.h>");
  return states;
}
template <class... A>
const char* profile(const A&...) {
  static_assert(sizeof...(A) > 99, "kiln: kl::profile(function) needs #include <kiln/profile.h>");
  return "";
}
template <class T, class... A>
View<T> from_dlpack(const A&...) {
  static_assert(sizeof...(A) > 99, "kiln: kl::from_dlpack<T>(tensor) needs #include <kiln/dlpack.h>");
  __builtin_unreachable();
}

// ------------------------------------------------------------------ (x + y) += y
#define KILN_REFUSE(symbol)                                                                                          \
  template <class S, class R>                                                                                        \
  const Expression<S>& operator symbol(const Expression<S>& e, const R&) {                                           \
    static_assert(detail::no_dtype<S>::value,                                                                        \
                  "kiln: an expression has no elements that could be changed; e + 1 is another one, and arrays and " \
                  "views of them are changed: x(kl::range(0, 2)) += 1");                                             \
    return e;                                                                                                        \
  }
KILN_REFUSE(+=)
KILN_REFUSE(-=)
KILN_REFUSE(*=)
KILN_REFUSE(/=)
KILN_REFUSE(%=)
KILN_REFUSE(&=)
KILN_REFUSE(|=)
KILN_REFUSE(^=)
KILN_REFUSE(<<=)
KILN_REFUSE(>>=)
#undef KILN_REFUSE

}  // namespace kiln
