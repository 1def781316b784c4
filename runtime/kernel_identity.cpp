// runtime/kernel_identity.cpp -- one labelled, length-prefixed field per thing that makes a kernel another one.
#include "runtime/kernel_identity.h"

#include <fmt/format.h>

namespace kiln::runtime {
namespace {

void field(std::string& text, std::string_view label, std::string_view value) {
  fmt::format_to(std::back_inserter(text), "{} {}:{}\n", label, value.size(), value);
}

/// Objects call libm through a table by position.
constexpr const char* cpu_interface =
#define KILN_LIBM(name, ...) #name " "
#include "support/libm.def"
#undef KILN_LIBM
    "";

}  // namespace

Digest kernel_identity(const KernelSource& source, const CompileOptions& options) {
  std::string text;
  text.reserve(source.text.size() + 1024);
  field(text, "version", fmt::format("{}", kernel_identity_version));
  field(text, "language", source.language == Language::cuda ? "cuda" : "llvm");
  if (source.language == Language::llvm_ir) field(text, "libm", cpu_interface);
  field(text, "flags",
        fmt::format("contract={} fast_math={} lineinfo={}", options.contract, options.fast_math, options.lineinfo));
  for (const std::string& option : options.extra) field(text, "option", option);
  field(text, "entry", source.entry);
  field(text, "arguments", fmt::format("{} bytes, {} threads", source.argument_bytes, source.max_threads));
  field(text, "kernel", source.expression);
  for (const auto& [name, header] : source.headers) field(text, "header " + name, header);
  field(text, "source", source.text);
  return blake3(text);
}

}  // namespace kiln::runtime
