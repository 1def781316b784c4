// runtime/key_fields.cpp -- fields that the cache's key and the identity in bundles have in common.
#include "runtime/key_fields.h"

#include <iterator>

#include <fmt/format.h>

namespace kiln::runtime {

void append_field(std::string& text, std::string_view label, std::string_view value) {
  fmt::format_to(std::back_inserter(text), "{} {}:{}\n", label, value.size(), value);
}

void append_options(std::string& text, const KernelSource& source, const CompileOptions& options) {
  append_field(
      text, "flags",
      fmt::format("contract={} fast_math={} lineinfo={}", options.contract, options.fast_math, options.lineinfo));
  for (const std::string& option : options.extra) append_field(text, "option", option);
  append_field(text, "entry", source.entry);
  append_field(text, "arguments", fmt::format("{} bytes, {} threads", source.argument_bytes, source.max_threads));
}

}  // namespace kiln::runtime
