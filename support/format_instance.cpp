// support/format_instance.cpp -- the one compiled copy of fmt 9: header-only use would cost every other file three
// seconds.
//
// Distributions ship fmt's headers and a shared library that target machines may lack; this is its out-of-line part.
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {
template FMT_API auto thousands_sep_impl<char>(locale_ref) -> thousands_sep_result<char>;
template FMT_API auto decimal_point_impl(locale_ref) -> char;
}  // namespace detail
FMT_END_NAMESPACE
