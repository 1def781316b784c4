// runtime/key_fields.h -- the text that keys and identities of kernels are hashes of.
#pragma once

#include <string>
#include <string_view>

#include "runtime/runtime.h"

namespace kiln::runtime {

/// Appends a labelled, length-prefixed field: no two lists of fields make the same text.
void append_field(std::string& text, std::string_view label, std::string_view value);

/// Appends what compiles the same on every machine: the flags, the options in order, the entry and its arguments.
void append_options(std::string& text, const KernelSource& source, const CompileOptions& options);

}  // namespace kiln::runtime
