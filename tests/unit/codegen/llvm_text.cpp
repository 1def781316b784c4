// tests/unit/codegen/llvm_text.cpp -- what emit_llvm prints: vector width by features, fused products, masked tails.
#include <gtest/gtest.h>

#include "codegen/emit/emit.h"
#include "codegen/emit/llvm_builder.h"
#include "codegen/emit/llvm_declarations.h"

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

TEST(EmitLlvm, OnePlusErfIsAFunctionOfItsOwnInF32) {
  const std::string library = text_of(unary(Op::erf, library_form), "x86-64 avx2,fma");
  EXPECT_EQ(library.find("@math.erf.f32"), std::string::npos) << library;
  EXPECT_NE(library.find("@math.one_plus_erf.f32"), std::string::npos) << library;
  EXPECT_EQ(library.find("x double>"), std::string::npos) << library;
  const std::string plain = text_of(unary(Op::erf, 0), "x86-64 avx2,fma");
  EXPECT_EQ(plain.find("one_plus_erf"), std::string::npos) << plain;
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
  // Written out lane by lane: LLVM 16 to 18 cannot read `splat (...)`.
  IrBuilder builder(2, {});
  EXPECT_EQ(builder.bits(Lane::f32, 0x3dcccccdu).text, "<float 0x3FB99999A0000000, float 0x3FB99999A0000000>");
  EXPECT_EQ(builder.bits(Lane::f32, 0x7f800001u).text, "<float 0x7FF0000020000000, float 0x7FF0000020000000>")
      << "signalling NaN kept";
  EXPECT_EQ(builder.bits(Lane::f32, 0x00000001u).text, "<float 0x36A0000000000000, float 0x36A0000000000000>")
      << "subnormal kept";
  EXPECT_EQ(builder.bits(Lane::i8, 0xff).text, "<i8 -1, i8 -1>");
  EXPECT_EQ(builder.bits(Lane::f64, 0x8000000000000000u).text,
            "<double 0x8000000000000000, double 0x8000000000000000>");
  EXPECT_EQ(builder.number(Lane::f32, 0.5).text, "<float 0x3FE0000000000000, float 0x3FE0000000000000>");
  EXPECT_EQ(builder.number(Lane::i32, -3).text, "<i32 -3, i32 -3>");
}

TEST(EmitLlvm, IntrinsicsAreDeclaredOnceWithTheTypesOfTheirOperands) {
  // The language reference of LLVM 16 and 17: an intrinsic must be declared before it is parsed.
  EXPECT_EQ(intrinsic_declarations(
                "  %t1 = call <2 x float> @llvm.fma.v2f32(<2 x float> <float 1.0, float 2.0>, <2 x float> %x, "
                "<2 x float> <float 0.5, float 0.5>)\n"
                "  call void @llvm.masked.store.v2f32.p0(<2 x float> %t1, ptr %p, i32 4, <2 x i1> %m)\n"
                "  %t2 = call <2 x float> @llvm.fma.v2f32(<2 x float> %t1, <2 x float> %x, <2 x float> %t1)\n"
                "  %t3 = call i64 @llvm.smin.i64(i64 %t2, i64 -5)\n"),
            "declare <2 x float> @llvm.fma.v2f32(<2 x float>, <2 x float>, <2 x float>)\n"
            "declare void @llvm.masked.store.v2f32.p0(<2 x float>, ptr, i32, <2 x i1>)\n"
            "declare i64 @llvm.smin.i64(i64, i64)\n");
  EXPECT_EQ(intrinsic_declarations("  %t1 = call float @math.exp.f32(float %x, ptr %libm)\n"), "");
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
