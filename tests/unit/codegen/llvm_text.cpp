// tests/unit/codegen/llvm_text.cpp -- what emit_llvm prints: vector width by features, fused products, masked tails.
#include <gtest/gtest.h>

#include "codegen/emit/emit.h"
#include "codegen/emit/llvm_builder.h"

namespace kiln::codegen {
namespace {

Kernel multiply_add(DType type) {
  Kernel kernel;
  kernel.rank = 1;
  for (int k = 0; k < 4; ++k) {
    Access access;
    access.type = type;
    access.axes = {AxisClass::contiguous};
    access.store = k == 3;
    access.alignment = 16;
    kernel.accesses.push_back(access);
  }
  const NodeId product[] = {kernel.body.load(0, type), kernel.body.load(1, type)};
  const NodeId sum[] = {kernel.body.operation(Op::mul, type, product), kernel.body.load(2, type)};
  kernel.body.outputs = {kernel.body.operation(Op::add, type, sum)};
  kernel.comment = "a * b + c";
  return kernel;
}

std::string text_of(const Kernel& kernel, const char* features, bool contract = true) {
  EmitOptions options;
  options.contract = contract;
  options.cpu_features = features;
  return emit_llvm(kernel, {}, options).text;
}

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

TEST(EmitLlvm, WidthFollowsTheFeatures) {
  const Kernel kernel = multiply_add(DType::f32);
  EXPECT_TRUE(contains(text_of(kernel, "x86-64 "), "load <4 x float>"));
  EXPECT_TRUE(contains(text_of(kernel, "x86-64 avx,avx2"), "load <8 x float>"));
  EXPECT_TRUE(contains(text_of(kernel, "x86-64 avx2,fma,avx512f,avx512bw,avx512dq,avx512vl"), "load <16 x float>"));
  EXPECT_TRUE(contains(text_of(kernel, "x86-64 avx2,avx512f"), "load <8 x float>")) << "AVX-512 needs all four parts";
  EXPECT_TRUE(contains(text_of(multiply_add(DType::u8), "x86-64 avx2"), "load <32 x i8>"));
}

TEST(EmitLlvm, ProductsFuseOnlyUnderContractAndFma) {
  const Kernel kernel = multiply_add(DType::f32);
  EXPECT_TRUE(contains(text_of(kernel, "x86-64 avx2,fma"), "@llvm.fma.v8f32"));
  EXPECT_FALSE(contains(text_of(kernel, "x86-64 avx2,fma", false), "llvm.fma"));
  EXPECT_FALSE(contains(text_of(kernel, "x86-64 avx2"), "llvm.fma"));
}

/// One f32 operation on one array.
Kernel unary(Op op, std::uint64_t form) {
  Kernel kernel = multiply_add(DType::f32);
  kernel.accesses.erase(kernel.accesses.begin() + 1, kernel.accesses.begin() + 3);
  kernel.body = Graph();
  const NodeId x[] = {kernel.body.load(0, DType::f32)};
  kernel.body.outputs = {kernel.body.operation(op, DType::f32, x, {}, form)};
  return kernel;
}

TEST(EmitLlvm, OnePlusErfIsErfcOfTheOpposite) {
  const std::string library = text_of(unary(Op::erf, library_form), "x86-64 avx2,fma");
  EXPECT_EQ(library.find("@math.erf.f32"), std::string::npos) << library;
  EXPECT_NE(library.find("@math.erfc.f32"), std::string::npos) << library;
  EXPECT_NE(library.find("fneg"), std::string::npos) << library;
  const std::string plain = text_of(unary(Op::erf, 0), "x86-64 avx2,fma");
  EXPECT_EQ(plain.find("@math.erfc.f32"), std::string::npos) << plain;
}

TEST(EmitLlvm, TailsAreMaskedAndAlignmentIsTheElements) {
  const std::string text = text_of(multiply_add(DType::f32), "x86-64 avx2,fma");
  EXPECT_TRUE(contains(text, "@llvm.masked.load.v8f32.p0"));
  EXPECT_TRUE(contains(text, "@llvm.masked.store.v8f32.p0"));
  EXPECT_TRUE(contains(text, "align 4"));
  Kernel packed = multiply_add(DType::f32);
  for (Access& access : packed.accesses) access.alignment = 1;
  EXPECT_FALSE(contains(text_of(packed, "x86-64 avx2,fma"), "align 4"));
}

TEST(EmitLlvm, NoFastMathFlagsAndNoAddresses) {
  const std::string text = text_of(multiply_add(DType::f64), "x86-64 avx2,fma");
  for (const char* flag : {" fast ", " nnan ", " ninf ", " nsz ", " reassoc ", " arcp ", " afn "})
    EXPECT_FALSE(contains(text, flag));
  EXPECT_EQ(text, text_of(multiply_add(DType::f64), "x86-64 avx2,fma")) << "equal kernels print equal text";
  EXPECT_TRUE(contains(text, "; a * b + c"));
}

TEST(EmitLlvm, FeatureWordsAreWholeWords) {
  EXPECT_FALSE(parse_cpu_features("x86-64 avx512f").fma);
  EXPECT_FALSE(parse_cpu_features("x86-64 fma4").fma);
  EXPECT_TRUE(parse_cpu_features("x86-64 avx,fma").fma);
  EXPECT_EQ(parse_cpu_features("x86-64 avx").vector_bits, 128);
}

TEST(EmitLlvm, ConstantsAreBitPatterns) {
  IrBuilder builder(4, {});
  EXPECT_EQ(builder.bits(Lane::f32, 0x3dcccccdu).text, "splat (float 0x3FB99999A0000000)");
  EXPECT_EQ(builder.bits(Lane::f32, 0x7f800001u).text, "splat (float 0x7FF0000020000000)") << "signalling NaN kept";
  EXPECT_EQ(builder.bits(Lane::f32, 0x00000001u).text, "splat (float 0x36A0000000000000)") << "subnormal kept";
  EXPECT_EQ(builder.bits(Lane::i8, 0xff).text, "splat (i8 -1)");
  EXPECT_EQ(builder.bits(Lane::f64, 0x8000000000000000u).text, "splat (double 0x8000000000000000)");
}

TEST(CpuUnits, AreElementsOrRowsTimesColumnBlocks) {
  Kernel kernel;
  kernel.rank = 0;
  EXPECT_EQ(cpu_units(kernel, {{}}), 1);
  kernel.rank = 1;
  EXPECT_EQ(cpu_units(kernel, {{1000}}), 1000);
  kernel.rank = 3;
  EXPECT_EQ(cpu_units(kernel, {{2, 5, cpu_column_block + 1}}), 20);
}

}  // namespace
}  // namespace kiln::codegen
