// codegen/emit/cuda_function.cpp -- the user's text inside a function, with line numbers that lead back to it.
#include "codegen/emit/cuda_function.h"

#include <algorithm>

#include <fmt/format.h>

#include "codegen/emit/cuda_types.h"

namespace kiln::codegen::cuda {
namespace {

/// User text as lines of its own, the first of which is line 1 of `file`.
std::string numbered(const std::string& file, const std::string& text) {
  return fmt::format("#line 1 \"{}\"\n{}{}", file, text, text.ends_with('\n') ? "" : "\n");
}

/// Not the function's own name, which may be that of a CUDA function that the text calls.
std::string inner_name(const Function& function) { return function.name + "_text"; }

}  // namespace

std::string function_definition(const Function& function, std::size_t line, const std::string& file) {
  std::string parameters;
  for (std::size_t i = 0; i < function.parameters.size(); ++i)
    parameters +=
        fmt::format("{}{} {}", i ? ", " : "", value_type(function.parameters[i]), function.parameter_names[i]);
  std::string text = fmt::format("namespace {} {{\n", cuda_namespace(function));
  if (!function.preamble.empty()) text += numbered("preamble of kl::function " + function.name, function.preamble);
  text += "#pragma nv_diag_error 940\n";  // a path without return: a warning that nobody would see
  text +=
      fmt::format("DEVICE {} {}({}) {{\n", value_type(compute_type(function.result)), inner_name(function), parameters);
  text += numbered("kl::function " + function.name, function.text);
  text += "}\n#pragma nv_diag_default 940\n";
  const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  // One line for the directive itself, which numbers the line behind it.
  return text + fmt::format("#line {} \"{}\"\n}}\n\n", line + lines + 1, file);
}

std::string call_text(const Function& function, std::span<const std::string> operands) {
  std::string arguments;
  for (const std::string& operand : operands) arguments += (arguments.empty() ? "" : ", ") + operand;
  return fmt::format("{}::{}({})", cuda_namespace(function), inner_name(function), arguments);
}

}  // namespace kiln::codegen::cuda
