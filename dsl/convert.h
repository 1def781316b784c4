// dsl/convert.h -- run-time scalars: from the type the user passed to the type the kernel takes.
#pragma once

#include <string_view>

#include <kiln/detail/bridge.h>

namespace kiln::dsl {

/// Converts `from` as api.md section 4 says for weak scalars and writes the argument-block form of `to`: f16 and bf16
/// are rounded and then widened to f32, b1 is one byte. False when an integer result cannot hold the value.
bool convert_scalar(const detail::ScalarArgument& from, DType to, unsigned char* out);

/// True when the value is an integer below zero.
bool is_negative(const detail::ScalarArgument& scalar);

/// "300 (i32)", for messages.
const char* scalar_text(const detail::ScalarArgument& scalar, char* buffer, unsigned size);

/// TypeError: the value does not fit. `operation`: what it is for, "kl::add: ", or "".
[[noreturn]] void fail_conversion(std::string_view operation, const detail::ScalarArgument& scalar, DType to,
                                  detail::Where where);

}  // namespace kiln::dsl
