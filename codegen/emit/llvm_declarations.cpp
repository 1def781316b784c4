// codegen/emit/llvm_declarations.cpp -- reads calls of intrinsics back from the text, where alone all of them meet.
#include "codegen/emit/llvm_declarations.h"

#include <map>

#include "support/check.h"

namespace kiln::codegen {
namespace {

/// Length of the type at the start: "<8 x float>", "i32", "ptr".
std::size_t type_length(std::string_view text) {
  return text[0] == '<' ? text.find('>') + 1 : text.find_first_of(" ,)");
}

/// The types of the operands "TYPE VALUE, TYPE VALUE)"; a value may be a constant vector, which has commas of its own.
std::string operand_types(std::string_view operands) {
  std::string types;
  std::size_t at = 0;
  while (true) {
    types += operands.substr(at, type_length(operands.substr(at)));
    at += type_length(operands.substr(at));
    for (int depth = 0; depth > 0 || (operands[at] != ',' && operands[at] != ')'); ++at) {
      if (operands[at] == '<') ++depth;
      if (operands[at] == '>') --depth;
    }
    if (operands[at] == ')') return types;
    types += ", ";
    at += 2;
  }
}

}  // namespace

std::string intrinsic_declarations(std::string_view text) {
  constexpr std::string_view prefix = " @llvm.", call = "call ";
  std::map<std::string_view, std::string> declarations;
  for (std::size_t at = text.find(prefix); at != text.npos; at = text.find(prefix, at + 1)) {
    const std::size_t open = text.find('(', at);
    const std::string_view name = text.substr(at + 1, open - at - 1);
    if (declarations.count(name)) continue;
    const std::size_t type = text.rfind(call, at);
    KILN_INTERNAL_CHECK(type != text.npos && open != text.npos, "{} stands outside of a call", name);
    const std::size_t begin = type + call.size();
    declarations[name] =
        fmt::format("declare {} {}({})\n", text.substr(begin, at - begin), name, operand_types(text.substr(open + 1)));
  }
  std::string lines;
  for (const auto& [name, line] : declarations) lines += line;
  return lines;
}

}  // namespace kiln::codegen
