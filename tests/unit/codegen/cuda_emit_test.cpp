// tests/unit/codegen/cuda_emit_test.cpp -- literals, prelude and text of the CUDA emitter.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <sstream>

#include <gtest/gtest.h>

#include "codegen/emit/cuda_expression.h"
#include "codegen/emit/cuda_prelude.h"
#include "codegen/emit/cuda_types.h"
#include "codegen/emit/emit.h"
#include "codegen/pass/passes.h"

namespace kiln::codegen {
namespace {

std::string f32(float value) { return cuda::literal(DType::f32, std::bit_cast<std::uint32_t>(value)); }
std::string f64(double value) { return cuda::literal(DType::f64, std::bit_cast<std::uint64_t>(value)); }

TEST(CudaLiteral, SpecialValuesAreBits) {
  EXPECT_EQ(cuda::literal(DType::f32, 0x7fc12345u), "__uint_as_float(0x7fc12345u)");
  EXPECT_EQ(f32(-INFINITY), "__uint_as_float(0xff800000u)");
  EXPECT_EQ(f32(-0.0f), "__uint_as_float(0x80000000u)");
  EXPECT_EQ(f64(-0.0), "__longlong_as_double((long long)0x8000000000000000ull)");
}

TEST(CudaLiteral, FloatsReadBackExactly) {
  for (const float value : {0.0f, 1.0f, 0.1f, -0.5f, 16777217.0f, 3.4028235e38f, 1e-45f, 0.3333333f, 1234.0625f}) {
    std::string text = f32(value);
    EXPECT_EQ(text.find('f', text.size() - 2) != std::string::npos, true) << text;
    text.erase(std::remove_if(text.begin(), text.end(), [](char c) { return c == '(' || c == ')'; }), text.end());
    EXPECT_EQ(std::bit_cast<std::uint32_t>(std::strtof(text.c_str(), nullptr)), std::bit_cast<std::uint32_t>(value))
        << text;
  }
  for (const double value : {0.1, -2.5, 1e300, 5e-324}) {
    std::string text = f64(value);
    EXPECT_EQ(text.find('f'), std::string::npos) << text;
    text.erase(std::remove_if(text.begin(), text.end(), [](char c) { return c == '(' || c == ')'; }), text.end());
    EXPECT_EQ(std::strtod(text.c_str(), nullptr), value) << text;
  }
}

TEST(CudaLiteral, LeastIntegersAreExpressions) {
  EXPECT_EQ(cuda::literal(DType::i64, 1ull << 63), "(-9223372036854775807ll - 1)");
  EXPECT_EQ(cuda::literal(DType::i32, 0x80000000u), "(-2147483647 - 1)");
  EXPECT_EQ(cuda::literal(DType::i8, 0xff), "i8(-1)");
  EXPECT_EQ(cuda::literal(DType::u64, ~0ull), "18446744073709551615ull");
}

TEST(CudaSelect, NegativeZeroIsHiddenFromPtxas) {
  // ptxas 13.0 compiles `x > c ? -0.0f : 1.0f` to FSET, whose values are 0.0f and 1.0f: the sign would be lost.
  const auto select = [](DType type, std::uint64_t bits, std::uint64_t other) {
    cuda::Prelude prelude;
    Node node{.kind = NodeKind::operation, .type = type, .op = Op::where, .arity = 3};
    const std::string operands[] = {"c", cuda::literal(type, bits), cuda::literal(type, other)};
    const DType types[] = {DType::b1, type, type};
    return cuda::expression(node, operands, types, prelude);
  };
  EXPECT_EQ(select(DType::f32, 0x80000000u, 0x3f800000u), "c ? __uint_as_float(sign_bit()) : 1.0f");
  EXPECT_EQ(select(DType::f32, 0xbf800000u, 0x80000000u), "c ? (-1.0f) : __uint_as_float(sign_bit())");
  EXPECT_EQ(select(DType::f32, 0x80000000u, 0x40000000u), "c ? __uint_as_float(0x80000000u) : 2.0f");
  EXPECT_EQ(select(DType::i32, 0x80000000u, 0x3f800000u), "c ? i32(sign_bit()) : 1065353216");
}

TEST(CudaPrelude, HoldsWhatIsUsedAndWhatThatNeeds) {
  cuda::Prelude prelude;
  prelude.use("round_bf16");
  const std::string text = prelude.text();
  EXPECT_NE(text.find("f32_to_bf16(float"), std::string::npos);
  EXPECT_EQ(text.find("minimum_f32"), std::string::npos);
}

TEST(CudaPrelude, IsAtMostTwoHundredLines) {
  cuda::Prelude prelude;
  for (const char* name :
       {"Complex", "read", "write", "gather", "scatter", "divide", "divide64", "f16_to_f32", "bf16_to_f32", "round_f16",
        "round_bf16", "one_plus_erf", "quotient_2ulp", "minimum_f32", "maximum_f32", "minimum_f64", "maximum_f64"})
    prelude.use(name);
  const std::string text = prelude.text();
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 200);
}

/// y = (1 + erf(x)) / (1 + exp(x)), stored in `type`.
Graph activation(DType type) {
  Graph graph;
  const NodeId x = graph.load(0, DType::f32), one = graph.literal_value(DType::f32, 1);
  const auto call = [&](Op op, std::initializer_list<NodeId> operands) {
    return graph.operation(op, DType::f32, {operands.begin(), operands.size()}, {"model.cpp", 42});
  };
  const NodeId erf = call(Op::erf, {x}), e = call(Op::exp, {x});
  graph.outputs = {graph.cast(call(Op::div, {call(Op::add, {one, erf}), call(Op::add, {e, one})}), type)};
  return graph;
}

Kernel flat_kernel(Graph body) {
  Kernel kernel;
  kernel.rank = 1;
  Access load, store;
  load.axes = store.axes = {AxisClass::contiguous};
  load.alignment = store.alignment = 16;
  store.store = true;
  store.type = body[body.outputs[0]].type;
  kernel.accesses = {load, store};
  kernel.body = std::move(body);
  return kernel;
}

/// The statements that compute, without those that store.
std::string computed(const Kernel& kernel) {
  const std::string text = emit_cuda(kernel, choose_schedule(kernel, Extents{{1024}}, DeviceTraits{}), {}).text;
  std::istringstream lines(text);
  std::string result;
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("    const float v")) result += line + '\n';
  return result;
}

TEST(CudaText, WhatTheUserWroteIsExactWhateverIsStored) {
  for (const DType type : {DType::f32, DType::bf16, DType::f16}) {
    const std::string text = computed(flat_kernel(run_pipeline(activation(type), {})));
    EXPECT_NE(text.find("= erff("), std::string::npos) << text;
    EXPECT_NE(text.find(" / "), std::string::npos) << text;
    EXPECT_EQ(text.find("one_plus_erf"), std::string::npos) << text;
    EXPECT_EQ(text.find("quotient_2ulp"), std::string::npos) << text;
  }
}

TEST(CudaText, LibraryFunctionsComputeAlikeWhateverIsStored) {
  for (const Op op : {Op::sigmoid, Op::silu, Op::gelu, Op::gelu_tanh}) {
    std::vector<std::string> texts;
    for (const DType type : {DType::f32, DType::bf16, DType::f16}) {
      Graph graph;
      const NodeId x[] = {graph.load(0, DType::f32)};
      graph.outputs = {graph.cast(graph.operation(op, DType::f32, x), type)};
      texts.push_back(computed(flat_kernel(run_pipeline(graph, {}))));
    }
    const char* form = op == Op::gelu        ? "one_plus_erf("
                       : op == Op::gelu_tanh ? "half_plus_half_tanh("
                                             : "quotient_2ulp(";
    EXPECT_NE(texts[0].find(form), std::string::npos) << texts[0];
    EXPECT_EQ(texts[0].find(" / "), std::string::npos) << texts[0];
    EXPECT_EQ(texts[1], texts[0]);
    EXPECT_EQ(texts[2], texts[0]);
  }
}

TEST(CudaText, LineDirectivesOnlyOnRequest) {
  const Kernel kernel = flat_kernel(activation(DType::f32));
  const Schedule schedule = choose_schedule(kernel, Extents{{1024}}, DeviceTraits{});
  EXPECT_EQ(emit_cuda(kernel, schedule, {}).text.find("#line"), std::string::npos);
  EmitOptions options;
  options.lineinfo = true;
  EXPECT_NE(emit_cuda(kernel, schedule, options).text.find("#line 42 \"model.cpp\"\n"), std::string::npos);
}

TEST(CudaText, AgreesWithItsDescription) {
  const Kernel kernel = flat_kernel(activation(DType::bf16));
  const Schedule schedule = choose_schedule(kernel, Extents{{1024}}, DeviceTraits{});
  const KernelSource source = emit_cuda(kernel, schedule, {});
  EXPECT_EQ(source.language, Language::cuda);
  EXPECT_EQ(source.argument_bytes, argument_layout(kernel).size);
  EXPECT_EQ(source.max_threads, schedule.block);
  EXPECT_NE(source.text.find(" " + source.entry + "(const __grid_constant__ Arguments a)"), std::string::npos);
  EXPECT_EQ(source.text.find("#include"), std::string::npos);
}

TEST(CudaText, CommentCannotEscape) {
  Kernel kernel = flat_kernel(activation(DType::f32));
  kernel.comment = "line one\nint injected; \\";
  const std::string text = emit_cuda(kernel, choose_schedule(kernel, Extents{{1024}}, DeviceTraits{}), {}).text;
  EXPECT_EQ(text.find("// line one int injected; /\n// schedule"), 0u) << text.substr(0, 80);
}

}  // namespace
}  // namespace kiln::codegen
