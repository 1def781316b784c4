// dsl/scalar_fault.h -- scalars of a call that do not fit: the message names what they are for.
#pragma once

#include <kiln/detail/bridge.h>

namespace kiln::dsl {

/// TypeError: the scalar does not fit; the call's trace tells what it is for.
[[noreturn]] void fail_conversion(const detail::Call& call, std::uint32_t slot, DType to, detail::Where where);
/// TypeError: the same of a number given for a kl::Const parameter of the type.
[[noreturn]] void fail_constant(const detail::ScalarArgument& number, DType to, detail::Where where);

}  // namespace kiln::dsl
