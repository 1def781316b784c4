// dsl/raw_signature.cpp -- reads parameter lists: of a demangled name, or of a declaration in CUDA text.
#include "dsl/raw_signature.h"

#include <cxxabi.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <iterator>
#include <memory>

namespace kiln::dsl {
namespace {

struct NamedType {
  std::string_view name;
  DType type;
  int lanes = 1;
};

constexpr NamedType named_types[] = {
    {"float", DType::f32},
    {"double", DType::f64},
    {"int", DType::i32},
    {"signed", DType::i32},
    {"signed int", DType::i32},
    {"int32_t", DType::i32},
    {"unsigned", DType::u32},
    {"unsigned int", DType::u32},
    {"uint32_t", DType::u32},
    {"long", DType::i64},
    {"long int", DType::i64},
    {"long long", DType::i64},
    {"long long int", DType::i64},
    {"int64_t", DType::i64},
    {"ptrdiff_t", DType::i64},
    {"unsigned long", DType::u64},
    {"unsigned long int", DType::u64},
    {"unsigned long long", DType::u64},
    {"unsigned long long int", DType::u64},
    {"uint64_t", DType::u64},
    {"size_t", DType::u64},
    {"short", DType::i16},
    {"short int", DType::i16},
    {"int16_t", DType::i16},
    {"unsigned short", DType::u16},
    {"unsigned short int", DType::u16},
    {"uint16_t", DType::u16},
    {"__half", DType::f16},
    {"half", DType::f16},
    {"__half2", DType::f16, 2},
    {"half2", DType::f16, 2},
    {"__nv_bfloat16", DType::bf16},
    {"nv_bfloat16", DType::bf16},
    {"__nv_bfloat162", DType::bf16, 2},
    {"nv_bfloat162", DType::bf16, 2},
    {"float2", DType::f32, 2},
    {"float3", DType::f32, 3},
    {"float4", DType::f32, 4},
    {"double2", DType::f64, 2},
    {"double4", DType::f64, 4},
    {"cuFloatComplex", DType::c64},
    {"cuComplex", DType::c64},
    {"cuDoubleComplex", DType::c128},
    {"thrust::complex<float>", DType::c64},
    {"thrust::complex<double>", DType::c128},
    {"cuda::std::complex<float>", DType::c64},
    {"cuda::std::complex<double>", DType::c128},
    // Bytes, and integer vectors that carry any type in wide accesses.
    {"void", DType::u8, 0},
    {"char", DType::i8, 0},
    {"signed char", DType::i8, 0},
    {"int8_t", DType::i8, 0},
    {"unsigned char", DType::u8, 0},
    {"uint8_t", DType::u8, 0},
    {"int2", DType::i32, 0},
    {"int4", DType::i32, 0},
    {"uint2", DType::u32, 0},
    {"uint4", DType::u32, 0},
    {"longlong2", DType::i64, 0},
    {"ulonglong2", DType::u64, 0},
    {"bool", DType::b1},
};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == ':'; }

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") + 1 - first);
}

/// Words and single other characters; template arguments stay with their word.
std::vector<std::string> tokens_of(std::string_view text) {
  std::vector<std::string> tokens;
  for (std::size_t i = 0; i < text.size();) {
    if (std::isspace(static_cast<unsigned char>(text[i]))) {
      ++i;
      continue;
    }
    std::size_t end = i + 1;
    if (is_word(text[i])) {
      while (end < text.size() && is_word(text[end])) ++end;
      if (end < text.size() && text[end] == '<') end = std::min(text.find('>', end) + 1, text.size());
      if (end <= i) end = text.size();  // no '>' follows
    }
    tokens.emplace_back(text.substr(i, end - i));
    i = end;
  }
  return tokens;
}

bool is_qualifier(std::string_view word) {
  constexpr std::string_view qualifiers[] = {"const",      "volatile", "__restrict__",     "__restrict",
                                             "__restrict", "restrict", "__grid_constant__"};
  return std::find(std::begin(qualifiers), std::end(qualifiers), word) != std::end(qualifiers);
}

const NamedType* find_type(std::string_view name) {
  for (const std::string_view space : {"std::", "cuda::std::", "::"})
    if (name.starts_with(space) && name.find('<') == std::string_view::npos) name.remove_prefix(space.size());
  const auto* const found = std::find_if(std::begin(named_types), std::end(named_types),
                                         [&](const NamedType& type) { return type.name == name; });
  return found == std::end(named_types) ? nullptr : found;
}

/// The type that words spell, in any order of "unsigned", "long", "int" that C++ writers use.
const NamedType* type_of(const std::vector<std::string>& words) {
  std::string name;
  for (const std::string& word : words) name += (name.empty() ? "" : " ") + word;
  return find_type(name);
}

DeclaredParameter parse(std::string_view declaration, bool has_name) {
  DeclaredParameter parameter;
  parameter.text = trimmed(declaration);
  declaration = declaration.substr(0, declaration.find('='));
  std::vector<std::string> words;
  int stars = 0;
  for (const std::string& token : tokens_of(declaration)) {
    if (is_qualifier(token)) continue;
    if (token == "*" || token == "[") {
      ++stars;
    } else if (is_word(token[0])) {
      if (stars == 0) words.push_back(token);  // what follows a star is the name
    } else if (token != "]") {
      return parameter;  // references, functions, attributes
    }
  }
  const NamedType* type = type_of(words);
  if (!type && has_name && words.size() > 1) {
    words.pop_back();
    type = type_of(words);
  }
  if (!type || stars > 1) return parameter;
  parameter.kind = stars == 1 ? DeclaredParameter::pointer : DeclaredParameter::value;
  parameter.type = type->type;
  parameter.lanes = type->lanes;
  return parameter;
}

/// The texts between commas outside brackets.
std::vector<std::string_view> split(std::string_view list) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i <= list.size(); ++i) {
    const char c = i < list.size() ? list[i] : ',';
    if (c == '(' || c == '<' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == '>' || c == ']' || c == '}') --depth;
    if (c != ',' || (depth > 0 && i < list.size())) continue;
    parts.push_back(list.substr(start, i - start));
    start = i + 1;
  }
  if (parts.size() == 1 && (trimmed(parts[0]).empty() || trimmed(parts[0]) == "void")) parts.clear();
  return parts;
}

/// The position behind the bracket that closes the one at `open`; npos where none does.
std::size_t closing(std::string_view text, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')' && --depth == 0) return i;
  }
  return std::string_view::npos;
}

/// Comments become blanks.
std::string without_comments(std::string_view source) {
  std::string text(source);
  for (std::size_t at = text.find('/'); at != std::string::npos; at = text.find('/', at + 1)) {
    const bool line = text.compare(at, 2, "//") == 0, block = text.compare(at, 2, "/*") == 0;
    if (!line && !block) continue;
    const std::size_t found = text.find(line ? "\n" : "*/", at + 2);
    const std::size_t end = found == std::string::npos ? text.size() : line ? found : found + 2;
    std::fill(text.begin() + static_cast<std::ptrdiff_t>(at), text.begin() + static_cast<std::ptrdiff_t>(end), ' ');
    at = end - 1;
  }
  return text;
}

/// The parameter list of the only `__global__ ... name(...)` in the text, or of several that are equal.
std::optional<std::string> declaration_of(const std::string& text, const std::string& name) {
  std::optional<std::string> list;
  for (std::size_t at = text.find("__global__"); at != std::string::npos; at = text.find("__global__", at + 1)) {
    const std::size_t end = std::min(text.find_first_of("{;", at), text.size());
    std::size_t found = text.find(name, at);
    while (found < end && (is_word(text[found - 1]) || is_word(text[found + name.size()])))
      found = text.find(name, found + 1);
    if (found >= end) continue;
    const std::size_t open = text.find_first_not_of(" \t\r\n", found + name.size());
    if (open >= end || text[open] != '(') continue;
    const std::size_t close = closing(text, open);
    if (close == std::string::npos) return std::nullopt;
    const std::string parameters = text.substr(open + 1, close - open - 1);
    if (parameters.find('#') != std::string::npos || (list && *list != parameters)) return std::nullopt;
    list = parameters;
  }
  return list;
}

/// "void ns::scale<float, 4>(float*, int)" of a mangled name; nothing for a plain one.
std::optional<std::string> demangled(const std::string& name) {
  if (!name.starts_with("_Z")) return std::nullopt;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                         &std::free);
  return status == 0 && text ? std::optional<std::string>(text.get()) : std::nullopt;
}

bool is_carrier(DType declared, DType given) {
  return is_integer(declared) && size_of(declared) == size_of(given) &&
         (is_integer(given) || size_of(given) <= 2);  // 16-bit floats are often handled as their bits
}

}  // namespace

std::optional<std::vector<DeclaredParameter>> declared_parameters(std::string_view source,
                                                                  const std::string& lowered_name) {
  std::string list;
  const std::optional<std::string> spelled = demangled(lowered_name);
  if (spelled) {
    const std::size_t end = spelled->rfind(')');
    if (end == std::string::npos) return std::nullopt;
    std::size_t open = end;
    for (int depth = 1; depth > 0 && open-- > 0;) depth += ((*spelled)[open] == ')') - ((*spelled)[open] == '(');
    if (open >= end) return std::nullopt;
    list = spelled->substr(open + 1, end - open - 1);
  } else if (const auto declaration = declaration_of(without_comments(source), lowered_name)) {
    list = *declaration;
  } else {
    return std::nullopt;
  }
  std::vector<DeclaredParameter> parameters;
  for (const std::string_view part : split(list)) parameters.push_back(parse(part, !spelled));
  return parameters;
}

bool accepts_array(const DeclaredParameter& parameter, DType type) {
  if (parameter.kind == DeclaredParameter::unknown) return true;
  if (parameter.kind == DeclaredParameter::value) return false;
  if (parameter.lanes == 0 || parameter.type == type) return true;
  if (is_complex(type) && parameter.type == real_of(type)) return true;
  if (parameter.type == DType::b1) return size_of(type) == 1;
  return parameter.lanes == 1 && is_carrier(parameter.type, type);
}

bool accepts_number(const DeclaredParameter& parameter, DType type) {
  if (parameter.kind == DeclaredParameter::unknown) return true;
  if (parameter.kind == DeclaredParameter::pointer) return false;
  if (is_complex(type)) return parameter.type == type || parameter.lanes == 2;
  if (parameter.lanes > 1) return false;
  return is_floating(parameter.type) == is_floating(type);
}

}  // namespace kiln::dsl
