// runtime/compile_report.h -- reading what a CUDA compiler says: resources of a kernel, place of the first error. Pure
// functions.
#pragma once

#include <string>
#include <string_view>

#include "runtime/runtime.h"

namespace kiln::runtime {

/// Fills registers, spills, shared and local bytes of `entry` from ptxas -v output; leaves them when the log says
/// nothing.
void read_resources(std::string_view log, std::string_view entry, Binary& binary);

/// The log without the resource report and without trailing NULs: what a person wants to read.
std::string readable_log(std::string_view log);

/// The names of the functions that a source declares `__global__`, between commas: for messages.
std::string global_functions(std::string_view source);

/// The lines around the first error of the log, numbered, the faulty one marked with '>'; empty if the log names no
/// line of this source. `#line` directives of the source are followed.
std::string source_excerpt(std::string_view source, std::string_view source_name, std::string_view log);

}  // namespace kiln::runtime
