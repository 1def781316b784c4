// tests/fuzz/graph_text/target.cpp -- one run of the fuzzer.
#include "tests/fuzz/graph_text/target.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <kiln/kiln_c.h>

namespace kiln::fuzz {
namespace {

std::uint64_t accepted = 0;

void expect(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "graph text fuzzer: %s (%s)\n", what, kiln_last_error());
  std::abort();
}

std::string text_of(const kiln_graph* graph) {
  std::size_t length = 0;
  expect(kiln_graph_text(graph, nullptr, 0, &length) == KILN_ERROR_BUFFER, "a text without bytes");
  std::string text(length, '\0');
  expect(kiln_graph_text(graph, text.data(), length + 1, &length) == KILN_OK, "no text of a graph");
  return text;
}

void parse(const char* data, std::size_t size) {
  kiln_graph* graph = nullptr;
  const kiln_status status = kiln_graph_parse(data, size, &graph);
  if (status != KILN_OK) {
    expect(status == KILN_ERROR_PARSE, "a text is refused with another status");
    expect(std::strncmp(kiln_last_error(), "kiln_graph_parse: line ", 23) == 0, "the message names no line");
    expect(graph == nullptr, "a graph was made");
    return;
  }
  ++accepted;
  const std::string text = text_of(graph);
  kiln_graph* again = nullptr;
  expect(kiln_graph_parse(text.data(), text.size(), &again) == KILN_OK, "the text of a graph is refused");
  expect(text_of(again) == text, "the text of a graph changes when it is read");
  kiln_kernel* kernel = nullptr;
  const kiln_status made = kiln_kernel_create(again, nullptr, &kernel);
  expect(made == KILN_OK || made == KILN_ERROR_ARGUMENT, "no kernel of a graph");  // one without outputs
  kiln_kernel_destroy(kernel);
  kiln_graph_destroy(again);
  kiln_graph_destroy(graph);
}

}  // namespace

std::uint64_t accepted_texts() { return accepted; }

std::vector<std::string> text_seeds() {
  return {
      "kiln graph 1\nname \"softmax\"\n%0 = input type=f32 rank=2\n%1 = scalar type=f64\n%2 = mul %0, %1\n"
      "%3 = max %2 axes=[-1] keepdims\n%4 = sub %2, %3\n%5 = exp %4\n%6 = sum %5 axes=[1] keepdims accumulate=f64\n"
      "%7 = div %5, %6\n%8 = var %0 axes=[0, 1] ddof=1\noutput %7, %8\n",
      "kiln graph 1\n%0 = input type=f64 rank=1\n%1 = index %0 axis=0\n%2 = constant type=f64 bits=0xfff0000000000000\n"
      "%3 = constant type=i64 bits=0x0000000000000000 strong\n%4, %5 = reduce_by %0, %1, %2, %3 axes=[0] {\n"
      "  %0 = input type=f64 rank=0\n  %1 = input type=i64 rank=0\n  %2 = input type=f64 rank=0\n"
      "  %3 = input type=i64 rank=0\n  %4 = gt %2, %0\n  %5 = where %4, %2, %0\n  %6 = where %4, %3, %1\n"
      "  output %5, %6\n}\noutput %4\noutput %5\n",
      "kiln graph 1\n%0 = input type=c64 rank=3\n%1 = transpose %0 axes=[2, 0, 1]\n%2 = slice %1 items=[1:-1:2, 0, "
      "::-1]\n"
      "%3 = unsqueeze %2 axes=[0]\n%4 = squeeze %3 axes=[0]\n%5 = flip %4 axes=[]\n%6 = reshape %5 to=[-1, 2]\n"
      "%7 = broadcast_to %6 to=[3, 4, 2]\n%8 = constant type=c128 bits=0x3ff00000000000004000000000000000\n"
      "%9 = mul %7, %8\n%10 = abs %9\noutput %10\n",
      "kiln graph 1\n%0 = input type=f32 rank=2  # a table\n%1 = input type=i32 rank=1\n%2 = take %0, %1 axis=0 "
      "outside=clip\n"
      "%3 = take_flat %0, %1 outside=wrap\n%4 = shift %0 by=[1, -1] beyond=reflect\n%5 = constant type=i32 bits=0x1\n"
      "%6 = shift %0, %5 by=[0, 3] beyond=fill\n%7 = cumsum %4 axis=-1\n%8 = cast %7 type=i8\n%9 = extent %0 axis=1\n"
      "%10 = extent %0\n%11 = scalar type=u64 strong\n%12 = uniform %0, %11 type=f32\n%13 = normal %0, %11 type=f64\n"
      "%14 = add %12, %6\n%15 = mul %14, %9\n%16 = take_along_axis %0, %8 axis=1 outside=missing\n"
      "output %2, %3, %15, %13, %16\n",
      "kiln graph 1\n%0 = input type=f32 rank=1\n%1 = constant type=f32 bits=0x0\n%2 = scan_by %0, %1 axis=0 {\n"
      "  %0 = input type=f32 rank=0\n  %1 = input type=f32 rank=0\n  %2 = add %0, %1\n  output %2\n}\noutput %2\n"};
}

}  // namespace kiln::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  kiln::fuzz::parse(reinterpret_cast<const char*>(data), size);
  return 0;
}
