// tests/unit/dsl/raw_signature_test.cpp -- what declarations of CUDA kernels say about the types of their parameters.
#include "dsl/raw_signature.h"

#include <gtest/gtest.h>

namespace kiln::dsl {
namespace {

std::vector<DeclaredParameter> of(const std::string& source, const std::string& name = "k") {
  return declared_parameters(source, name).value_or(std::vector<DeclaredParameter>());
}
std::vector<DeclaredParameter> list(const std::string& parameters) {
  return of("extern \"C\" __global__ void k(" + parameters + ") { f(1, 2); }");
}

TEST(RawSignature, PointersAndValuesOfPlainTypes) {
  const auto p =
      list("const float* __restrict__ in, double * const out, unsigned n, long long int m, const void *v, int");
  ASSERT_EQ(p.size(), 6u);
  EXPECT_EQ(p[0].kind, DeclaredParameter::pointer);
  EXPECT_EQ(p[0].type, DType::f32);
  EXPECT_EQ(p[0].text, "const float* __restrict__ in");
  EXPECT_EQ(p[1].type, DType::f64);
  EXPECT_EQ(p[1].kind, DeclaredParameter::pointer);
  EXPECT_EQ(p[2].kind, DeclaredParameter::value);
  EXPECT_EQ(p[2].type, DType::u32);
  EXPECT_EQ(p[3].type, DType::i64);
  EXPECT_EQ(p[4].lanes, 0);
  EXPECT_EQ(p[5].type, DType::i32);
  EXPECT_TRUE(list("").empty());
  EXPECT_TRUE(list("void").empty());
}

TEST(RawSignature, WhatIsNotUnderstoodIsUnknown) {
  for (const char* text :
       {"real x", "Box b", "float** p", "void (*f)(int)", "const float (&a)[4]", "T x", "A<int, 3> a"}) {
    const auto p = list(text);
    ASSERT_EQ(p.size(), 1u) << text;
    EXPECT_EQ(p[0].kind, DeclaredParameter::unknown) << text;
  }
}

TEST(RawSignature, FindsTheOneDeclaration) {
  EXPECT_EQ(of("// __global__ void k(double x)\n__global__ void __launch_bounds__(256, 2) k(float x) {}").at(0).type,
            DType::f32);
  EXPECT_EQ(
      of("__global__ void k(int x); /* k( */ __global__ void kk(double x) { }\n__global__ void k(int x) {}").size(),
      1u);
  EXPECT_TRUE(of("__global__ void k(int x) {}\n__global__ void k(float x) {}").empty())
      << "two that differ say nothing";
  EXPECT_TRUE(of("__global__ void other(int x) {}").empty());
  EXPECT_TRUE(of("__global__ void k(int x").empty());
}

TEST(RawSignature, MangledNamesSpellTheirTypes) {
  const auto p = of("", "_Z5scaleIfLi4EEvPT_PKS0_i6__half");  // scale<float, 4>(float*, float const*, int, __half)
  ASSERT_EQ(p.size(), 4u);
  EXPECT_EQ(p[0].text, "float*");
  EXPECT_EQ(p[1].type, DType::f32);
  EXPECT_EQ(p[1].kind, DeclaredParameter::pointer);
  EXPECT_EQ(p[2].type, DType::i32);
  EXPECT_EQ(p[3].type, DType::f16);
  EXPECT_TRUE(of("", "_ZN2ns4noneEv").empty());
}

TEST(RawSignature, ArraysFitPointersToTheirElements) {
  const auto accepts = [](const char* parameter, DType type) { return accepts_array(list(parameter).at(0), type); };
  EXPECT_TRUE(accepts("float* p", DType::f32));
  EXPECT_FALSE(accepts("float* p", DType::f64));
  EXPECT_FALSE(accepts("float* p", DType::i32));
  EXPECT_FALSE(accepts("float p", DType::f32));
  EXPECT_TRUE(accepts("float4* p", DType::f32)) << "wide accesses";
  EXPECT_FALSE(accepts("float4* p", DType::f64));
  EXPECT_TRUE(accepts("uint4* p", DType::f16)) << "wide accesses of any type";
  EXPECT_TRUE(accepts("float2* p", DType::c64));
  EXPECT_TRUE(accepts("float* p", DType::c64));
  EXPECT_FALSE(accepts("double* p", DType::c64));
  EXPECT_TRUE(accepts("unsigned* p", DType::i32));
  EXPECT_FALSE(accepts("unsigned* p", DType::f32));
  EXPECT_TRUE(accepts("unsigned short* p", DType::bf16)) << "its bits";
  EXPECT_FALSE(accepts("__half* p", DType::bf16));
  EXPECT_TRUE(accepts("unsigned char* p", DType::f64)) << "bytes";
  EXPECT_TRUE(accepts("bool* p", DType::b1));
  EXPECT_FALSE(accepts("bool* p", DType::f32));
  EXPECT_TRUE(accepts("Box* p", DType::f32)) << "unknown";
}

TEST(RawSignature, NumbersFitTheirKind) {
  const auto accepts = [](const char* parameter, DType type) { return accepts_number(list(parameter).at(0), type); };
  EXPECT_TRUE(accepts("int n", DType::u32));
  EXPECT_FALSE(accepts("int n", DType::f32));
  EXPECT_FALSE(accepts("float x", DType::i32));
  EXPECT_TRUE(accepts("bool b", DType::b1));
  EXPECT_TRUE(accepts("char c", DType::i8));
  EXPECT_FALSE(accepts("size_t n", DType::f64));
  EXPECT_FALSE(accepts("float* p", DType::u64));
  EXPECT_TRUE(accepts("float2 z", DType::c64));
  EXPECT_FALSE(accepts("float2 z", DType::f64));
}

}  // namespace
}  // namespace kiln::dsl
