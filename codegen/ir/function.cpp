// codegen/ir/function.cpp -- identity of user functions: what makes two of them one in generated source.
#include "codegen/ir/function.h"

#include <fmt/format.h>

#include "support/hash.h"

namespace kiln::codegen {
namespace {

std::uint64_t hash_of(std::uint64_t seed, const std::string& text) {
  std::uint64_t hash = mix(seed, text.size());
  for (const char c : text) hash = mix(hash, static_cast<unsigned char>(c));
  return hash;
}

}  // namespace

bool same_text(const Function& a, const Function& b) {
  return a.result == b.result && a.parameters == b.parameters && a.name == b.name && a.text == b.text &&
         a.preamble == b.preamble && a.parameter_names == b.parameter_names && a.component == b.component &&
         (a.loop == nullptr) == (b.loop == nullptr);
}

std::string signature_text(const Function& function) {
  std::string text = fmt::format("{} {}(", name_of(function.result), function.name);
  for (std::size_t i = 0; i < function.parameters.size(); ++i)
    text += fmt::format("{}{} {}", i ? ", " : "", name_of(function.parameters[i]), function.parameter_names[i]);
  return text + ")";
}

std::string loop_name(const Function& function) { return fmt::format("repeat_{:016x}", hash_of(1, function.text)); }

std::uint64_t text_hash(const Function& function) {
  return hash_of(hash_of(hash_of(1, signature_text(function)), function.text), function.preamble);
}

std::string cuda_namespace(const Function& function) {
  return fmt::format("{}_{:016x}", function.name, text_hash(function));
}

}  // namespace kiln::codegen
