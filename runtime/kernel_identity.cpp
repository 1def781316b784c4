// runtime/kernel_identity.cpp -- one labelled, length-prefixed field per thing that makes a kernel another one.
#include "runtime/kernel_identity.h"

#include <fmt/format.h>

#include "runtime/key_fields.h"

namespace kiln::runtime {
namespace {

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
  append_field(text, "version", fmt::format("{}", kernel_identity_version));
  append_field(text, "language", source.language == Language::cuda ? "cuda" : "llvm");
  if (source.language == Language::llvm_ir) append_field(text, "libm", cpu_interface);
  append_options(text, source, options);
  append_field(text, "kernel", source.expression);
  for (const auto& [name, header] : source.headers) append_field(text, "header " + name, header);
  append_field(text, "source", source.text);
  return blake3(text);
}

}  // namespace kiln::runtime
