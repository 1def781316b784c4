// tests/golden/emulation_test.cpp -- the golden kernels, compiled for the CPU, compute what their expressions say.
//
// Arguments are placed byte by byte as argument_layout() says, so a struct that differed from it would read garbage.
#include <algorithm>

#include <gtest/gtest.h>

#include "tests/golden/emulation_run.h"

namespace kiln::emulation {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#pragma GCC diagnostic ignored "-Wshadow"
namespace saxpy {
#include "tests/golden/saxpy_f32.cu"
}
namespace product_turns {
#include "tests/golden/product_turns_f32.cu"
}
namespace turned_wished {
#include "tests/golden/transpose_wished_f32.cu"
}
namespace swiglu {
#include "tests/golden/swiglu_bf16.cu"
}
namespace gelu {
#include "tests/golden/gelu_bias_bf16.cu"
}
namespace strided {
#include "tests/golden/strided_f32.cu"
}
namespace turned {
#include "tests/golden/transpose_add_f32.cu"
}
namespace batch {
#include "tests/golden/transpose_batch_f64.cu"
}
namespace image {
#include "tests/golden/image_u8_index.cu"
}
namespace dense_image {
#include "tests/golden/dense_image_u8.cu"
}
namespace dense_points {
#include "tests/golden/dense_points_f32.cu"
}
namespace product {
#include "tests/golden/complex_c64.cu"
}
namespace big {
#include "tests/golden/big_index_i64.cu"
}
namespace mask {
#include "tests/golden/mask_b1.cu"
}
namespace clip {
#include "tests/golden/where_clip_f64.cu"
}
namespace scalars {
#include "tests/golden/row_column_scalars_f32.cu"
}
namespace single {
#include "tests/golden/zero_dimensional_f32.cu"
}
namespace user {
#include "tests/golden/user_function_f32.cu"
}
namespace repeat {
#include "tests/golden/repeat_f32.cu"
}
#pragma GCC diagnostic pop
}  // namespace kiln::emulation

namespace kiln::golden {
namespace {

TEST(Emulation, SaxpyInPlace) {
  for (const std::int64_t n : {4, 1024, 5000}) {
    const Case test = resized("saxpy_f32", {n});
    const auto count = static_cast<std::size_t>(n);
    Buffer<float> x(count), y(count);
    number(x, 0.5, -3), number(y, 0.25, 1);
    run(test, emulation::saxpy::kiln_flat_add_mul, {{x.data, y.data, y.data}, {{1}, {1}, {1}}, {bytes_of(2.0f)}});
    for (std::size_t i = 0; i < count; ++i)
      ASSERT_EQ(y[i], static_cast<float>(2 * (-3 + 0.5 * static_cast<double>(i % 251)) + 1 +
                                         0.25 * static_cast<double>(i % 251)));
  }
}

TEST(Emulation, TwoBlocksTakeTilesInTurn) {
  for (const std::int64_t n : {1538, 5000, 100002}) {  // more than two tiles of 768
    const Case test = resized("product_turns_f32", {n});
    ASSERT_EQ(shape_of(test).grid[0], 2u);
    const auto count = static_cast<std::size_t>(n);
    Buffer<float> x(count), y(count);
    number(x, 0.5, -3), number(y, 0.25, 1);
    run(test, emulation::product_turns::kiln_flat_mul, {{x.data, y.data, y.data}, {{1}, {1}, {1}}, {bytes_of(2.0f)}});
    for (std::size_t i = 0; i < count; ++i)
      ASSERT_EQ(y[i], static_cast<float>(2 * (-3 + 0.5 * static_cast<double>(i % 251)) *
                                         (1 + 0.25 * static_cast<double>(i % 251))));
  }
}

TEST(Emulation, TilesThatTheCallerChose) {
  for (const auto& [rows, columns] : {std::pair<std::int64_t, std::int64_t>{64, 32}, {44, 68}, {100, 36}}) {
    const Case test = resized("transpose_wished_f32", {rows, columns});
    const auto count = static_cast<std::size_t>(rows * columns);
    Buffer<float> a(count), b(count), c(count);
    number(a, 0.5, -3), number(b, 0.25, 1);
    run(test, emulation::turned_wished::kiln_transpose_sub,
        {{a.data, b.data, c.data}, {{columns, 1}, {1, rows}, {columns, 1}}});
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t k = 0; k < columns; ++k) {
        const auto at = static_cast<std::size_t>(r * columns + k), turned = static_cast<std::size_t>(k * rows + r);
        ASSERT_EQ(c[at], a[at] - b[turned]) << r << " " << k;
      }
  }
}

TEST(Emulation, SwigluRoundsOnceToBfloat16) {
  const Case test = resized("swiglu_bf16", {4096});
  Buffer<bfloat16> gate(4096), up(4096), out(4096);
  number(gate, 0.0625, -6), number(up, 0.5, -50);
  run(test, emulation::swiglu::kiln_flat_mul_div_add_where, {{gate.data, up.data, out.data}, {{1}, {1}, {1}}});
  for (std::size_t i = 0; i < 4096; ++i) {
    const double g = gate[i], expected = g / (1 + std::exp(-g)) * up[i];
    ASSERT_NEAR(out[i], expected, std::abs(expected) * 0x1p-8) << i;
  }
}

TEST(Emulation, GeluOfBiasedRows) {
  const Case test = resized("gelu_bias_bf16", {5, 4104});
  const std::size_t pitch = 4112;  // longer than a row, so that strides matter
  Buffer<bfloat16> x(5 * pitch), bias(4104), out(5 * pitch);
  number(x, 0.03125, -4), number(bias, 0.125, -2), number(out, 0, 77);
  run(test, emulation::gelu::kiln_rows_mul_erf_add, {{x.data, bias.data, out.data}, {{4112, 1}, {0, 1}, {4112, 1}}});
  for (std::size_t row = 0; row < 5; ++row)
    for (std::size_t i = 0; i < pitch; ++i) {
      const float value = out[row * pitch + i];
      if (i >= 4104) {
        ASSERT_EQ(value, 77.0f) << "padding was written";
        continue;
      }
      const double z = static_cast<double>(x[row * pitch + i]) + bias[i],
                   expected = 0.5 * z * (1 + std::erf(z / std::sqrt(2.0)));
      ASSERT_NEAR(value, expected, std::abs(expected) * 0x1p-8 + 1e-6) << row << " " << i;
    }
}

TEST(Emulation, EveryThirdElementBackwards) {
  for (const std::int64_t n : {1, 1023, 4097}) {
    const Case test = resized("strided_f32", {n});
    const auto count = static_cast<std::size_t>(n);
    Buffer<float> x(3 * count), z(count), out(count);
    number(x, 1, 4), number(z, 2, 0);
    const float* last = x.data + 3 * (count - 1);
    run(test, emulation::strided::kiln_flat_sub_sqrt, {{last, z.data, out.data}, {{-3}, {1}, {1}}});
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(out[i], std::sqrt(x[3 * (count - 1 - i)]) - z[i]) << i;
  }
}

TEST(Emulation, TransposedTilesWithAndWithoutEdges) {
  for (const auto& [rows, columns] : {std::pair<std::int64_t, std::int64_t>{64, 64}, {100, 132}, {33, 257}}) {
    const Case test = resized("transpose_add_f32", {rows, columns});
    const auto height = static_cast<std::size_t>(rows), width = static_cast<std::size_t>(columns);
    const std::size_t pitch = (width + 3) / 4 * 4, turned_pitch = (height + 3) / 4 * 4;
    Buffer<float> x(height * pitch), t(width * turned_pitch), out(height * pitch);
    number(x, 1, 0), number(t, 1000, 5);
    const auto p = static_cast<std::int64_t>(pitch), q = static_cast<std::int64_t>(turned_pitch);
    run(test, emulation::turned::kiln_transpose_add, {{x.data, t.data, out.data}, {{p, 1}, {1, q}, {p, 1}}});
    for (std::size_t r = 0; r < height; ++r)
      for (std::size_t c = 0; c < width; ++c)
        ASSERT_EQ(out[r * pitch + c], x[r * pitch + c] + t[c * turned_pitch + r]) << r << " " << c;
  }
}

TEST(Emulation, BatchOfTransposedMatrices) {
  const Case test = resized("transpose_batch_f64", {3, 34, 70});
  Buffer<double> x(3 * 70 * 34), out(3 * 34 * 70);
  number(x, 0.5, 1);
  run(test, emulation::batch::kiln_transpose_mul,
      {{x.data, out.data}, {{70 * 34, 1, 34}, {34 * 70, 70, 1}}, {bytes_of(-2.0)}});
  for (std::size_t b = 0; b < 3; ++b)
    for (std::size_t r = 0; r < 34; ++r)
      for (std::size_t c = 0; c < 70; ++c)
        ASSERT_EQ(out[(b * 34 + r) * 70 + c], -2 * x[(b * 70 + c) * 34 + r]) << b << " " << r << " " << c;
}

TEST(Emulation, ImageByPixelCoordinates) {
  const Case test = resized("image_u8_index", {37, 53, 3});
  Buffer<std::uint8_t> x(37 * 53 * 3), out(37 * 53 * 3);
  number(x, 1, 0);
  const std::vector<std::int64_t> c = {53 * 3, 3, 1};
  run(test, emulation::image::kiln_general_minimum_maximum_mul_sub,
      {{x.data, nullptr, nullptr, out.data}, {c, {1, 0, 0}, {0, 1, 0}, c}, {bytes_of(1.5f)}});
  for (std::size_t r = 0; r < 37; ++r)
    for (std::size_t k = 0; k < 53; ++k)
      for (std::size_t ch = 0; ch < 3; ++ch) {
        const std::size_t at = (r * 53 + k) * 3 + ch;
        const double radius = static_cast<double>(r * r + k * k);
        const double value = std::min(std::max(1.5 * x[at] * (1 - radius * 0x1p-20), 0.0), 255.0);
        ASSERT_NEAR(out[at], value, 1.0) << at;  // truncation may fall on either side
        ASSERT_LE(out[at], value + 1e-4) << at;
      }
}

TEST(Emulation, DenseImageStepsCoordinatesAcrossPixelsAndRows) {
  for (const auto& [rows, columns] : {std::pair<std::int64_t, std::int64_t>{16, 5}, {1, 16}, {48, 37}}) {
    const Case test = resized("dense_image_u8", {rows, columns, 3});
    const auto count = static_cast<std::size_t>(rows * columns * 3);
    Buffer<std::uint8_t> x(count), out(count);
    number(x, 1, 0);
    const float gain[] = {0.5f, 1, 2};
    const std::vector<std::int64_t> c = {columns * 3, 3, 1};
    run(test, emulation::dense_image::kiln_dense_minimum_maximum_sub_add,
        {{x.data, gain, nullptr, nullptr, out.data}, {c, {0, 0, 1}, {1, 0, 0}, {0, 1, 0}, c}});
    for (std::size_t i = 0; i < count; ++i) {
      const auto pixel = static_cast<std::int64_t>(i / 3);
      const float value =
          static_cast<float>(x[i]) * gain[i % 3] - static_cast<float>(pixel / columns + pixel % columns);
      ASSERT_EQ(out[i], static_cast<std::uint8_t>(std::clamp(value, 0.0f, 255.0f))) << i;
    }
  }
}

// The scales end with the last point: a sanitizer sees a read beyond it.
TEST(Emulation, DensePointsWithAPartialVector) {
  for (const std::int64_t points : {1, 2, 1001, 1003}) {
    const Case test = resized("dense_points_f32", {points, 3});
    const auto count = static_cast<std::size_t>(points);
    Buffer<float> x(3 * count), scale(count), out(3 * count + 4);
    number(x, 0.5, 1), number(scale, 2, 1), number(out, 0, 77);
    const float shift[] = {10, 20, 30};
    run(test, emulation::dense_points::kiln_dense_add_mul,
        {{x.data, scale.data, shift, out.data}, {{3, 1}, {1, 0}, {0, 1}, {3, 1}}});
    for (std::size_t i = 0; i < 3 * count; ++i) ASSERT_EQ(out[i], x[i] * scale[i / 3] + shift[i % 3]) << i;
    for (std::size_t i = 3 * count; i < 3 * count + 4; ++i) ASSERT_EQ(out[i], 77.0f) << "written past the end";
  }
}

TEST(Emulation, ComplexProductWithConjugate) {
  const Case test = resized("complex_c64", {1001});
  Buffer<float> x(2002), out(2002);
  number(x, 1, -7);
  std::vector<std::uint8_t> scale = bytes_of(3.0f);
  const auto imaginary = bytes_of(-2.0f);
  scale.insert(scale.end(), imaginary.begin(), imaginary.end());
  run(test, emulation::product::kiln_flat_sub_mul_add, {{x.data, out.data}, {{1}, {1}}, {scale}});
  for (std::size_t i = 0; i < 1001; ++i) {  // (3 - 2i) (a - b i) = 3a - 2b + (-3b - 2a) i
    ASSERT_EQ(out[2 * i], 3 * x[2 * i] - 2 * x[2 * i + 1]) << i;
    ASSERT_EQ(out[2 * i + 1], -2 * x[2 * i] - 3 * x[2 * i + 1]) << i;
  }
}

TEST(Emulation, WideIndexAndLeastInteger) {
  const Case test = resized("big_index_i64", {3, 5, 64});
  Buffer<std::int64_t> x(3 * 5 * 64), out(3 * 5 * 64);
  number(x, 3, 0);
  const std::vector<std::int64_t> c = {320, 64, 1};
  run(test, emulation::big::kiln_general_add_mul, {{x.data, nullptr, out.data}, {c, {1, 0, 0}, c}});
  for (std::size_t i = 0; i < 3 * 5 * 64; ++i) {
    const std::uint64_t expected = static_cast<std::uint64_t>(x[i]) + (i / 320) * (1ull << 63);
    ASSERT_EQ(static_cast<std::uint64_t>(out[i]), expected) << i;
  }
}

TEST(Emulation, MaskIsZeroOrOne) {
  const Case test = resized("mask_b1", {1023});
  Buffer<float> x(1023);
  Buffer<std::uint8_t> m(1023), out(1023);
  number(x, 1, -100), number(m, 1, 0);  // any non-zero byte is true
  run(test, emulation::mask::kiln_flat_bit_and_gt, {{x.data, m.data, out.data}, {{1}, {1}, {1}}, {bytes_of(-50.0f)}});
  for (std::size_t i = 0; i < 1023; ++i) ASSERT_EQ(out[i], (x[i] > -50) && m[i] ? 1 : 0) << i;
}

TEST(Emulation, ClipPropagatesNaNAndKeepsNegativeZero) {
  const Case test = resized("where_clip_f64", {4, 77});
  Buffer<double> x(4 * 78), out(4 * 78);
  Buffer<std::uint8_t> c(4);
  number(x, 0.25, -5), number(c, 1, 0);  // the first row is masked off
  x[78 + 3] = NAN;
  run(test, emulation::clip::kiln_rows_where_minimum_maximum, {{c.data, x.data, out.data}, {{1, 0}, {78, 1}, {78, 1}}});
  EXPECT_TRUE(std::isnan(out[78 + 3]));
  for (std::size_t r = 0; r < 4; ++r)
    for (std::size_t i = 0; i < 77; ++i) {
      if (r == 1 && i == 3) continue;
      const double value = out[r * 78 + i];
      ASSERT_EQ(value, r ? std::max(x[r * 78 + i], -1.5) : 0) << r << " " << i;
      ASSERT_EQ(std::signbit(value), r ? std::max(x[r * 78 + i], -1.5) < 0 : true) << r << " " << i;
    }
}

TEST(Emulation, RowAndColumnScalars) {
  const Case test = resized("row_column_scalars_f32", {6, 1021});
  Buffer<float> x(6 * 1024), scale(6), offset(1021), t(1), out(6 * 1024);
  number(x, 1, 0), number(scale, 2, 1), number(offset, 0.5, 0), number(t, 0, 9), number(out, 0, -1);
  run(test, emulation::scalars::kiln_rows_add_mul,
      {{x.data, scale.data, offset.data, t.data, out.data}, {{1024, 1}, {1, 0}, {0, 1}, {0, 0}, {1024, 1}}});
  for (std::size_t r = 0; r < 6; ++r)
    for (std::size_t i = 0; i < 1024; ++i)
      ASSERT_EQ(out[r * 1024 + i], i < 1021 ? x[r * 1024 + i] * scale[r] + offset[i] + 9 : -1) << r << " " << i;
}

TEST(Emulation, UserFunctionOfRowScalarAndParameter) {
  const Case test = resized("user_function_f32", {5, 1024});
  Buffer<float> x(5 * 1024), low(5), out(5 * 1024);
  number(x, 0.0625, -2), number(low, 0.25, -1);
  run(test, emulation::user::kiln_rows_mul_smooth,
      {{x.data, low.data, out.data}, {{1024, 1}, {1, 0}, {1024, 1}}, {bytes_of(4.0f)}});
  for (std::size_t r = 0; r < 5; ++r) {
    for (std::size_t i = 0; i < 1024; ++i) {
      const double v = static_cast<double>(x[r * 1024 + i]), a = static_cast<double>(low[r]);
      const double t = std::clamp((v - a) / (4 - a), 0.0, 1.0);
      ASSERT_NEAR(out[r * 1024 + i], t * t * (3 - 2 * t) * v, 1e-5 * (1 + std::abs(v))) << r << " " << i;
    }
  }
}

TEST(Emulation, LoopThatElementsLeaveOneByOne) {
  const Case test = resized("repeat_f32", {1004});
  Buffer<float> x(1004), c(1004), out(1004);
  Buffer<std::int32_t> turns(1004);
  number(x, 0.0078125, -3), number(c, -0.0009765625, 0.25);
  run(test, emulation::repeat::kiln_flat_repeat, {{x.data, c.data, out.data, turns.data}, {}, {bytes_of(20)}});
  for (std::size_t i = 0; i < 1004; ++i) {
    float state = x[i];
    int n = 0;
    for (; n < 20 && !(state > 4); ++n) state = state * state + c[i];
    ASSERT_FLOAT_EQ(out[i], state) << i;
    ASSERT_EQ(turns[i], n) << i;
  }
}

TEST(Emulation, ZeroDimensionalArray) {
  const Case test = resized("zero_dimensional_f32", {});
  Buffer<float> x(1), out(1);
  x[0] = 0;
  run(test, emulation::single::kiln_flat_add_exp, {{x.data, out.data}, {{}, {}}, {bytes_of(0.5f)}});
  EXPECT_EQ(out[0], 1.5f);
}

}  // namespace
}  // namespace kiln::golden
