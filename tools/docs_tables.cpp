// tools/docs_tables.cpp -- prints the tables of docs/reference.md and docs/semantics.md from the tables of the code.
#include <cstdio>
#include <cstring>
#include <iterator>
#include <string>
#include <string_view>

#include <kiln/detail/reduction_rules.h>
#include <kiln/detail/rules.h>
#include <kiln/dtype.h>
#include <kiln/op.h>

namespace {

using kiln::DType;
using kiln::dtype_count;
using kiln::detail::ResultRule;

struct Row {
  const char* name;
  int arity;
  const char* domain;
  ResultRule result;
  const char* doc;
};
constexpr Row rows[] = {
#define KILN_OP(id, arity, domain, result, cuda, llvm, doc) {#id, arity, domain, ResultRule::result, doc},
#include <kiln/ops.def>
#undef KILN_OP
};

/// How the user writes an operation: an operator where there is one.
std::string spelling(const Row& row) {
  static constexpr struct {
    const char *name, *text;
  } operators[] = {{"add", "a + b"},          {"sub", "a - b"},
                   {"mul", "a * b"},          {"div", "a / b"},
                   {"mod", "a % b"},          {"neg", "-a"},
                   {"eq", "a == b"},          {"ne", "a != b"},
                   {"lt", "a < b"},           {"le", "a <= b"},
                   {"gt", "a > b"},           {"ge", "a >= b"},
                   {"logical_and", "a && b"}, {"logical_or", "a \\|\\| b"},
                   {"logical_not", "!a"},     {"bit_and", "a & b"},
                   {"bit_or", "a \\| b"},     {"bit_xor", "a ^ b"},
                   {"bit_not", "~a"},         {"shl", "a << b"},
                   {"shr", "a >> b"}};
  for (const auto& each : operators)
    if (std::strcmp(each.name, row.name) == 0) return each.text;
  static constexpr const char* operands[] = {"", "a", "a, b", "a, b, c"};
  return "kl::" + std::string(row.name) + "(" + operands[row.arity] + ")";
}

std::string accepted(std::string_view domain) {
  std::string text;
  for (const char kind : domain) {
    if (!text.empty()) text += ", ";
    text += kind == 'B' ? "bool" : kind == 'I' ? "integer" : kind == 'F' ? "float" : "complex";
  }
  return text;
}

const char* result_text(ResultRule rule) {
  switch (rule) {
    case ResultRule::same:
      return "common type";
    case ResultRule::boolean:
      return "b1";
    case ResultRule::floating:
      return "common type, f64 for integers";
    case ResultRule::real:
      return "common type, real for complex";
    case ResultRule::realfloat:
      return "real, f64 for integers";
    case ResultRule::select:
      return "common type of a and b";
  }
  return "";
}

/// A bar inside a cell ends it unless it is escaped.
std::string cell(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '|') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

void operations() {
  std::puts("| written | takes | gives | meaning |\n|---|---|---|---|");
  for (const Row& row : rows)
    std::printf("| `%s` | %s | %s | %s |\n", spelling(row).c_str(), accepted(row.domain).c_str(),
                result_text(row.result), cell(row.doc).c_str());
}

void promotion() {
  std::printf("| |");
  for (int b = 0; b < dtype_count; ++b) std::printf(" %s |", kiln::name_of(static_cast<DType>(b)));
  std::printf("\n|---|");
  for (int b = 0; b < dtype_count; ++b) std::printf("---|");
  std::puts("");
  for (int a = 0; a < dtype_count; ++a) {
    std::printf("| **%s** |", kiln::name_of(static_cast<DType>(a)));
    for (int b = 0; b < dtype_count; ++b)
      std::printf(" %s |", kiln::name_of(kiln::promote(static_cast<DType>(a), static_cast<DType>(b))));
    std::puts("");
  }
}

void types() {
  static constexpr const char* elements[] = {
      "bool",         "std::int8_t",   "std::int16_t",  "std::int32_t",        "std::int64_t",
      "std::uint8_t", "std::uint16_t", "std::uint32_t", "std::uint64_t",       "kl::half",
      "kl::bfloat16", "float",         "double",        "std::complex<float>", "std::complex<double>"};
  static_assert(std::size(elements) == dtype_count);
  std::puts("| name | C++ element type | bytes | summed as | mean and roots as |\n|---|---|---|---|---|");
  for (int t = 0; t < dtype_count; ++t) {
    const DType type = static_cast<DType>(t);
    std::printf("| `%s` | `%s` | %zu | %s | %s |\n", kiln::name_of(type), elements[t], kiln::size_of(type),
                kiln::name_of(kiln::detail::sum_type(type)), kiln::name_of(kiln::detail::floating_type(type)));
  }
}

void weak_numbers() {
  using kiln::Kind;
  std::puts("| array | with `true` | with `2` | with `2.5` | with `std::complex(1.0, 2.0)` |\n|---|---|---|---|---|");
  for (int a = 0; a < dtype_count; ++a) {
    const DType type = static_cast<DType>(a);
    std::printf("| **%s** |", kiln::name_of(type));
    for (const Kind kind : {Kind::boolean, Kind::integer, Kind::floating, Kind::complex})
      std::printf(" %s |", kiln::name_of(kiln::detail::adopt(type, kind)));
    std::puts("");
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view which = argc == 2 ? argv[1] : "";
  if (which == "operations") {
    operations();
  } else if (which == "promotion") {
    promotion();
  } else if (which == "types") {
    types();
  } else if (which == "weak_numbers") {
    weak_numbers();
  } else {
    std::fputs("usage: docs_tables operations | promotion | types | weak_numbers\n", stderr);
    return 2;
  }
  return 0;
}
