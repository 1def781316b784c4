// dsl/c/wording.cpp -- which words of messages are C++, and what is said in place of them.
#include "dsl/c/wording.h"

namespace kiln::dsl::c {
namespace {

struct Phrase {
  std::string_view cpp, neutral;
};
/// In order: longer ones before their parts. What is left of "kl::name" after these is "name".
constexpr Phrase phrases[] = {
    {"a C++ number takes the type of the array beside it; cast the array with kl::cast, or write kl::scalar<T>(value) "
     "for a value with its own type",
     "a weak number takes the type of the array beside it; cast the array, or make the number a strong one"},
    {"this kl::function has CUDA text only, which the CPU device cannot run; give kl::function a host version as its "
     "last argument (a lambda of the same parameters), or run on a GPU",
     "this function has CUDA text only, which the CPU device cannot run; give it a host version, or run on a GPU"},
    {"pass kl::Device::cpu(), or copy the values with kl::from_host", "name the CPU, or copy the values to the device"},
    {"Assign to another array, or to a slice: b(kl::range(n)) = ...", "Write another tensor"},
    {"write kl::eval(expression).reshape(...) to compute it first", "compute it first, in a graph of its own"},
    {"compute a part with kl::eval first", "compute a part first, in a graph of its own"},
    {"write kl::eval for an inner expression to compute it once",
     "compute an inner value first, in a graph of its own"},
    {", e.g. with kl::full", ""},
    {"; a view keeps its shape: assign to an Array, or make the shapes agree", "; make the shapes agree"},
    {": keep views in a std::list, or pointers to them", ""},
    {". std::swap and containers move views by assigning, which writes elements", ""},
    {"record again with g.update([&] { ... })", "record it again"},
    {"call its functions instead", "launch its kernels instead"},
    {"a kl::Graph that was not made by kl::capture, or was moved from", "a recording that was not made by a capture"},
    {"kl::capture inside kl::capture", "a capture inside of a capture"},
    {"give kl::capture a kl::Stream, or none", "give another stream, or none"},
    {"kl::capture", "a capture"},
    {"; name the architecture: k.compile({.archs = {\"sm_90\"}})", "; name an architecture, such as sm_90"},
    {"; name an architecture: k.inspect(\"sm_90\")", "; name an architecture, such as sm_90"},
    {"copy it first: x.to(kl::Device::cuda())", "copy it there first"},
    {"copy it with .to(kl::Device::cuda())", "copy it to a GPU"},
    {"copy it there with .to(device)", "copy it there"},
    {"move the arrays with .to(device)", "copy the arrays to it"},
    {"move one with .to(device)", "copy one to the device of the other"},
    {"; copy it with .to()", "; copy one to the device of the other"},
    {"write the operation with kl::jit, or with kl::function and a host version",
     "write the operation as a graph, or as a function with a host version"},
    {"pass kl::scalar<T>(v), or a C++ value, of type", "pass one of type"},
    {", e.g. static_cast<int>(n)", ""},
    {", e.g. std::int64_t(n) or a double", ""},
    {"convert it with x.astype<...>(), or pass x.data() to have the bytes taken as they are",
     "convert it, or pass its address to have the bytes taken as they are"},
    {"both .grid and over(", "both a grid and threads("},
    {": over(", ": threads("},
    {"and give .grid", "and give the grid"},
    {"write k[{.grid = blocks, .block = threads}](...), or k.over(n)(...) for n threads",
     "give the grid, or the number of threads"},
    {", or, unless it is of f16 or bf16, with kl::unordered", ""},
    {"kl::set_compile_mode(kl::CompileMode::automatic)", "set the compile mode to automatic"},
    {"KILN_DEVICE=cpu, or kl::Device::cpu()", "KILN_DEVICE=cpu"},
    {"write `condition != 0`", "compare it with 0"},
    {"in braces, as in kl::sum(x, {0, 1})", "at once"},
    {"captures must be a C++ number", "captures must be a number"},
    {"components of a std::tuple that is reduced", "values that are joined together"},
    {"kl::Profiler::stop", "profile"},
    {"kl::Profiler", "profiler"},
    {"kl::ufunc::at", "at"},
    {" with kl::cast", ""},
};

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

}  // namespace

std::string neutral_wording(std::string_view message) {
  std::string text(message);
  for (const Phrase& phrase : phrases) replace_all(text, phrase.cpp, phrase.neutral);
  replace_all(text, "kl::", "");
  return text;
}

}  // namespace kiln::dsl::c
