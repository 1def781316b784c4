// codegen/emit/llvm_declarations.cpp -- declarations of the intrinsics that a module calls; LLVM before 19 asks for
// them.
#include "codegen/emit/llvm_declarations.h"

#include <set>

#include <fmt/format.h>

namespace kiln::codegen {
namespace {

/// The end of the type that `text` begins with: a vector up to its bracket, else one word.
std::size_t end_of_type(std::string_view text) {
  if (!text.starts_with('<')) return text.find_first_of(" ,)");
  return text.find('>') + 1;
}

/// The types of the arguments of a call, from after its parenthesis on.
std::string argument_types(std::string_view arguments) {
  std::string types;
  int depth = 0;
  bool at_type = true;
  for (std::size_t i = 0; i < arguments.size() && depth >= 0; ++i) {
    const char c = arguments[i];
    if (at_type && c != ' ' && c != ')') {
      const std::size_t length = end_of_type(arguments.substr(i));
      types += fmt::format("{}{}", types.empty() ? "" : ", ", arguments.substr(i, length));
      i += length - 1;
      at_type = false;
      continue;
    }
    if (c == '(' || c == '<') ++depth;
    if (c == ')' || c == '>') --depth;
    if (c == ',' && depth == 0) at_type = true;
  }
  return types;
}

}  // namespace

std::string intrinsic_declarations(std::string_view text) {
  std::set<std::string> names;
  std::string declarations;
  constexpr std::string_view prefix = "@llvm.";
  for (std::size_t at = text.find(prefix); at != text.npos; at = text.find(prefix, at + 1)) {
    const std::size_t open = text.find('(', at);
    const std::size_t call = text.rfind("call ", at), line = text.rfind('\n', at);
    if (open == text.npos || call == text.npos || (line != text.npos && call < line)) continue;
    const std::string_view name = text.substr(at, open - at);
    if (!names.emplace(name).second) continue;
    // Fast-math flags may stand before the type, which is the last word, or the last bracketed one.
    std::string_view result = text.substr(call + 5, at - call - 6);
    const std::size_t start = result.ends_with('>') ? result.rfind('<') : result.rfind(' ') + 1;
    declarations +=
        fmt::format("declare {} {}({})\n", result.substr(start), name, argument_types(text.substr(open + 1)));
  }
  return declarations;
}

}  // namespace kiln::codegen
