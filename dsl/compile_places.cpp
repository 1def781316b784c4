// dsl/compile_places.cpp -- finds the user's texts behind the compiler's messages.
#include "dsl/compile_places.h"

#include <string_view>

namespace kiln::dsl {

void fail_with_places(const CompileError& error, const std::string& places) {
  const std::string_view text = error.what();
  std::size_t end = std::min(text.find('\n'), text.size());
  if (end > 0 && text[end - 1] == ':') --end;
  fail<CompileError>("{}{}{}", text.substr(0, end), places, text.substr(end));
}

std::string function_places(const codegen::Kernel& kernel, const CompileError& error) {
  const std::string_view message = error.what();
  std::string accused, all;
  for (const auto& function : kernel.body.functions()) {
    const std::string place_of_text = place({function->where.file, function->where.line});
    if (place_of_text.empty()) continue;
    const std::string text = fmt::format("; the text of kl::function {} was given at{}", function->name, place_of_text);
    all += text;
    // #line calls the text a file of the function's name: "smooth(2): error".
    if (message.find("\n" + function->name + "(") != message.npos) accused += text;
  }
  return accused.empty() ? all : accused;
}

}  // namespace kiln::dsl
