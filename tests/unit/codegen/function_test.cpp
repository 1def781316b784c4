// tests/unit/codegen/function_test.cpp -- calls of user functions: identity, printing, verification, passes, both
// texts.
#include <algorithm>
#include <memory>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include <kiln/error.h>

#include "codegen/emit/emit.h"
#include "codegen/pass/builder.h"
#include "codegen/pass/passes.h"
#include "support/check.h"

namespace kiln::codegen {
namespace {

using FunctionPointer = std::shared_ptr<const Function>;

FunctionPointer function(std::string name, std::string text, std::vector<DType> parameters = {DType::f32},
                         DType result = DType::f32) {
  auto made = std::make_shared<Function>();
  made->name = std::move(name);
  made->text = std::move(text);
  made->parameters = std::move(parameters);
  for (std::size_t i = 0; i < made->parameters.size(); ++i) made->parameter_names.push_back(std::string(1, "xyzw"[i]));
  made->result = result;
  return made;
}

NodeId call(Graph& graph, const FunctionPointer& f, std::initializer_list<NodeId> operands) {
  return graph.call(f, {operands.begin(), operands.size()});
}

Kernel flat(Graph body) {
  Kernel kernel;
  kernel.rank = 1;
  for (const Node& node : body.nodes()) {
    if (node.kind != NodeKind::load) continue;
    Access load;
    load.type = node.type;
    load.axes = {AxisClass::contiguous};
    load.alignment = 16;
    kernel.accesses.push_back(load);
  }
  for (const NodeId output : body.outputs) {
    Access store;
    store.type = body[output].type;
    store.store = true;
    store.axes = {AxisClass::contiguous};
    store.alignment = 16;
    kernel.accesses.push_back(store);
  }
  kernel.body = std::move(body);
  return kernel;
}

std::string cuda_text(const Kernel& kernel) {
  return emit_cuda(kernel, choose_schedule(kernel, Extents{{1024}}, DeviceTraits{}), {}).text;
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(FunctionCall, EqualCallsAreOneNodeAndDifferentTextsAreNot) {
  Graph graph;
  const NodeId x = graph.load(0, DType::f32);
  const NodeId first = call(graph, function("f", "return x;"), {x});
  EXPECT_EQ(first, call(graph, function("f", "return x;"), {x})) << "another object of the same text";
  EXPECT_NE(first, call(graph, function("f", "return -x;"), {x}));
  EXPECT_NE(first, call(graph, function("g", "return x;"), {x}));
  auto with_host = std::make_shared<Function>(*function("f", "return x;"));
  with_host->host.thunk = [](const void*, unsigned char*, std::int64_t, std::int64_t) {};
  EXPECT_NE(first, call(graph, with_host, {x})) << "another host version is another function";
  EXPECT_EQ(graph.functions().size(), 4u);
}

TEST(FunctionCall, PrintsNameTypesAndTextAndNoAddress) {
  Graph graph;
  const NodeId x = graph.load(0, DType::f32);
  graph.outputs = {call(graph, function("f", "return x + 1;"), {x})};
  EXPECT_EQ(to_text(graph), "%0 = f32 load 0\n%1 = f32 call 0 f32 f(f32 x) {\nreturn x + 1;\n} %0\nreturn %1\n");
  EXPECT_NE(to_dot(graph).find("call 0 f32 f(f32 x) {\\lreturn x + 1;\\l}"), std::string::npos) << to_dot(graph);
}

TEST(FunctionCall, VerifyRefusesOtherOperandsAndCombiners) {
  const auto binary = function("f", "return x;", {DType::f32, DType::i32});
  Graph graph;
  const NodeId x = graph.load(0, DType::f32), i = graph.load(1, DType::i32);
  graph.outputs = {call(graph, binary, {x, i})};
  EXPECT_NO_THROW(verify(graph, true));
  Graph few = graph, wrong = graph;
  call(few, binary, {x});
  EXPECT_THROW(verify(few, true), InternalError);
  call(wrong, binary, {i, x});
  EXPECT_THROW(verify(wrong, true), InternalError);
  Graph combiner;
  const NodeId left = combiner.input(0, DType::f32);
  combiner.outputs = {call(combiner, function("f", "return x;"), {left})};
  ReductionSpec spec;
  spec.kind = Reduction::combine;
  spec.combiner = std::make_shared<const Graph>(combiner);
  Graph reduces;
  const NodeId value = reduces.load(0, DType::f32);
  reduces.outputs = {reduces.reduce(spec, DType::f32, {value, reduces.literal(DType::f32, 0)})};
  EXPECT_THROW(verify(reduces, true), InternalError);
}

TEST(FunctionCall, PassesKeepWholeComplexValuesAndWidenHalfResults) {
  Graph graph;
  Builder b(graph);
  const NodeId z = graph.load(0, DType::c64), h = graph.load(1, DType::f16);
  const auto turned = function("turned", "return x;", {DType::c64}, DType::c64);
  const auto halved = function("halved", "return x / 2;", {DType::f32}, DType::f16);
  const NodeId inner = call(graph, turned, {b.add(z, z)});
  graph.outputs = {call(graph, turned, {inner}), call(graph, halved, {graph.cast(h, DType::f32)})};
  const Graph legal = run_pipeline(graph, {});
  EXPECT_NO_THROW(verify_legal(legal));
  EXPECT_EQ(legal[legal.outputs[0]].kind, NodeKind::call);
  EXPECT_EQ(legal[legal[legal.outputs[0]].operands[0]].kind, NodeKind::call) << "not split and joined again";
  const Node& rounded = legal[legal.outputs[1]];
  EXPECT_EQ(rounded.kind, NodeKind::cast) << "the result is rounded where it is stored";
  EXPECT_EQ(rounded.type, DType::f16);
  EXPECT_EQ(legal[rounded.operands[0]].type, DType::f32);
}

TEST(FunctionCall, CudaTextDefinesEachTextOnceAndNumbersItsLines) {
  Graph graph;
  Builder b(graph);
  const NodeId x = graph.load(0, DType::f32);
  auto hosted = std::make_shared<Function>(*function("f", "float y = x;\nreturn y;"));
  hosted->host.thunk = [](const void*, unsigned char*, std::int64_t, std::int64_t) {};
  const NodeId one = call(graph, function("f", "float y = x;\nreturn y;"), {x}), same = call(graph, hosted, {one});
  graph.outputs = {b.add(call(graph, function("f", "return -x;"), {x}), b.add(one, same))};
  const std::string text = cuda_text(flat(graph));
  EXPECT_EQ(count_of(text, "DEVICE float f_text(float x) {"), 2u) << text;
  EXPECT_EQ(count_of(text, "float y = x;"), 1u) << "one text is defined once, whatever its host version";
  EXPECT_EQ(count_of(text, "#line 1 \"kl::function f\"\n"), 2u);
  // After each function the compiler counts the lines of the file again.
  std::istringstream lines(text);
  std::string line;
  int checked = 0;
  for (int number = 1; std::getline(lines, line); ++number) {
    if (!line.starts_with("#line ") || line.find(".cu\"") == std::string::npos) continue;
    EXPECT_EQ(std::stoi(line.substr(6)), number + 1) << line;
    ++checked;
  }
  EXPECT_EQ(checked, 2);
}

TEST(FunctionCall, CpuKernelsCallThroughAnArgumentAndOnElementsOnly) {
  Graph graph;
  graph.outputs = {call(graph, function("f", "return x;"), {graph.load(0, DType::f32)})};
  Kernel kernel = flat(graph);
  const auto has_function = [](const Kernel& k) {
    const ArgumentLayout layout = argument_layout(k);
    return std::any_of(layout.arguments.begin(), layout.arguments.end(),
                       [](const Argument& argument) { return argument.kind == ArgumentKind::function; });
  };
  EXPECT_FALSE(has_function(kernel)) << "CUDA kernels hold the text";
  kernel.calls_host = true;
  EXPECT_TRUE(has_function(kernel));
  DeviceTraits cpu;
  cpu.cuda = false;
  EmitOptions options;
  options.cpu_features = "avx2,fma";
  const std::string text = emit_llvm(kernel, choose_schedule(kernel, Extents{{1024}}, cpu), options).text;
  EXPECT_NE(text.find("@llvm.smin.i64(i64 %left, i64 8)"), std::string::npos) << "lanes past the end are not called";
  EXPECT_EQ(count_of(text, ", ptr %call.block, i64 128, i64 %"), 1u) << text;
}

}  // namespace
}  // namespace kiln::codegen
