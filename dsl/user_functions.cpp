// dsl/user_functions.cpp -- kl::function: checks what the user gives, shares equal functions, records calls.
#include <cctype>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "dsl/fragment.h"
#include "dsl/out_of_memory.h"
#include "dsl/recorder.h"
#include "dsl/shapes.h"
#include "support/check.h"
#include "support/fork_safe.h"

namespace kiln::dsl {
namespace {

using FunctionPointer = std::shared_ptr<const codegen::Function>;

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_identifier(std::string_view text) {
  if (text.empty() || !is_letter(text[0])) return false;
  for (const char c : text)
    if (!is_letter(c) && std::isdigit(static_cast<unsigned char>(c)) == 0) return false;
  return true;
}

/// Words of C++17 and CUDA that name nothing of the user's.
constexpr std::string_view reserved_words =
    " alignas alignof and and_eq asm auto bitand bitor blockDim blockIdx bool break case catch char char16_t char32_t "
    "class compl const const_cast constexpr continue decltype default delete do double dynamic_cast else enum explicit "
    "export extern false float for friend goto gridDim if inline int long mutable namespace new noexcept not not_eq "
    "nullptr operator or or_eq private protected public register reinterpret_cast return short signed sizeof static "
    "static_assert static_cast struct switch template this thread_local threadIdx throw true try typedef typeid "
    "typename union unsigned using virtual void volatile warpSize wchar_t while xor xor_eq ";
bool is_reserved(std::string_view text) {
  return reserved_words.find(fmt::format(" {} ", text)) != reserved_words.npos;
}

void check_names(const codegen::Function& function, Where where) {
  if (!is_identifier(function.name)) {
    fail<TypeError>("kl::function: \"{}\" is no name of a C++ function{}; use letters, digits and _", function.name,
                    place(where));
  }
  if (is_reserved(function.name)) {
    fail<TypeError>("kl::function: \"{0}\" is a word of CUDA C++ itself{1}; choose another name, e.g. my_{0}",
                    function.name, place(where));
  }
  for (std::size_t i = 0; i < function.parameter_names.size(); ++i) {
    const std::string& name = function.parameter_names[i];
    if (!is_identifier(name)) {
      fail<TypeError>("kl::function {}: \"{}\" is no name of a C++ parameter{}; use letters, digits and _",
                      function.name, name, place(where));
    }
    if (is_reserved(name)) {
      fail<TypeError>(
          "kl::function {0}: the parameter name \"{1}\" is a word of CUDA C++ itself{2}; choose another name, "
          "e.g. {1}_",
          function.name, name, place(where));
    }
    for (std::size_t other = 0; other < i; ++other) {
      if (function.parameter_names[other] != name) continue;
      fail<TypeError>("kl::function {}: two parameters are called {}{}", function.name, name, place(where));
    }
  }
}

/// A single expression is what the function returns.
std::string with_return(std::string_view text, const std::string& name, Where where) {
  if (text.find_first_not_of(" \t\r\n") == text.npos)
    fail<TypeError>("kl::function {}: the text is empty{}; write CUDA C++ that returns the result", name, place(where));
  if (text.find("return") != text.npos) return std::string(text);
  if (text.find(';') == text.npos) return fmt::format("return {};", text);
  fail<TypeError>("kl::function {}: the text returns nothing{}; end it with `return ...;`", name, place(where));
}

detail::Slot function_slot(const FunctionPointer& function) {
  auto* const fragment = new detail::Fragment;
  fragment->keeps = function;
  detail::Slot slot = slot_of(fragment);
  slot.words[0] = reinterpret_cast<std::uintptr_t>(function.get());
  return slot;
}

const codegen::Function& function_of(const detail::Slot& slot) {
  return *reinterpret_cast<const codegen::Function*>(slot.words[0]);
}

/// Functions without state of their own: made anew at each call of the code around, they shall not be new keys.
FunctionPointer shared(std::shared_ptr<codegen::Function> function) {
  struct Known {
    ForkSafeMutex mutex;
    std::unordered_multimap<std::uint64_t, FunctionPointer> functions;  // by text_hash
  };
  static constinit Leaked<Known> all;
  Known& known = all.get();
  const std::uint64_t hash = codegen::text_hash(*function);
  const std::lock_guard lock(known.mutex);
  const auto [first, last] = known.functions.equal_range(hash);
  for (auto other = first; other != last; ++other)
    if (other->second->host == function->host && codegen::same_text(*other->second, *function)) return other->second;
  return known.functions.emplace(hash, std::move(function))->second;
}

}  // namespace
}  // namespace kiln::dsl

namespace kiln::detail {

Slot make_function(const FunctionText& given, Where where) try {
  // First, so that the state is freed whatever is wrong with the rest.
  std::shared_ptr<const void> owner;
  if (given.destroy) owner = std::shared_ptr<const void>(given.context, given.destroy);
  auto function = std::make_shared<codegen::Function>();
  function->owner = std::move(owner);
  function->host = {given.thunk, given.context};
  function->name = given.name;
  for (unsigned i = 0; i < given.count; ++i) {
    function->parameter_names.emplace_back(given.parameter_names[i]);
    function->parameters.push_back(compute_type(given.parameters[i]));
  }
  function->result = given.result;
  function->where = {where.file, where.line};
  dsl::check_names(*function, where);
  function->text = dsl::with_return(given.text, function->name, where);
  return dsl::function_slot(given.context ? dsl::FunctionPointer(function) : dsl::shared(std::move(function)));
} catch (const std::bad_alloc&) {
  dsl::fail_without_memory("make a function", where);
}

Slot with_preamble(const Slot& function, const char* preamble) try {
  const codegen::Function& old = dsl::function_of(function);
  auto copy = std::make_shared<codegen::Function>(old);
  copy->preamble = preamble;
  return dsl::function_slot(old.host.context ? dsl::FunctionPointer(copy) : dsl::shared(std::move(copy)));
} catch (const std::bad_alloc&) {
  dsl::fail_without_memory("make a function");
}

NodeId Recorder::call(const codegen::Function& function, const NodeId* operands, unsigned count, Where where) {
  std::vector<NodeId> converted;
  for (unsigned i = 0; i < count; ++i) {
    check_node(operands[i], function.name.c_str(), where);
    converted.push_back(widen(operands[i], function.parameters[i], where));
  }
  align(converted.data(), count, where);
  int rank = 0;
  for (const NodeId operand : converted) rank = std::max(rank, ranks_[operand]);
  return known(graph_.call(function.shared_from_this(), converted, {where.file, where.line}), rank);
}

NodeId record_call(Recorder& recorder, const Slot& function, const NodeId* operands, unsigned count, Where where) {
  return recorder.call(dsl::function_of(function), operands, count, where);
}

}  // namespace kiln::detail
