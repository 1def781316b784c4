// tests/device/print_test.cpp -- std::cout << array: layout of the brackets, digits of numbers, what is left out.
#include <complex>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/devices.h"

namespace {

class Print : public OnEachDevice {
 protected:
  template <class X>
  std::string text(const X& x) {
    std::ostringstream out;
    out << x;
    return out.str();
  }
  std::string end(const std::string& rest) { return rest + (on_gpu() ? " on cuda:0" : " on cpu"); }
};
KILN_ON_EACH_DEVICE(Print);

TEST_P(Print, rows_stand_below_one_another_as_numpy_writes_them) {
  const kl::Array<int> x = kl::arange<int>(0, 12);
  EXPECT_EQ(text(x), end("[ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11] i32 (12,)"));
  EXPECT_EQ(text(x.reshape({3, 4})), end("[[ 0,  1,  2,  3],\n [ 4,  5,  6,  7],\n [ 8,  9, 10, 11]] i32 (3, 4)"));
  EXPECT_EQ(text(x.reshape({2, 2, 3})),
            end("[[[ 0,  1,  2],\n  [ 3,  4,  5]],\n\n [[ 6,  7,  8],\n  [ 9, 10, 11]]] i32 (2, 2, 3)"));
}

TEST_P(Print, one_number_prints_like_other_arrays) {
  const kl::Array<float> x = kl::from_host({1.5f, 2.25f});
  EXPECT_EQ(text(kl::eval(kl::sum(x))), end("3.75 f32 ()"));
  EXPECT_EQ(text(kl::sum(x)), end("3.75 f32 ()")) << "an expression is evaluated";
  EXPECT_EQ(text(x(0)), end("1.5 f32 ()")) << "an element";
}

TEST_P(Print, numbers_have_the_fewest_digits_that_tell_them_from_others) {
  EXPECT_EQ(text(kl::from_host({0.1f, 1e20f, -2.0f})), end("[  0.1, 1e+20,    -2] f32 (3,)"));
  EXPECT_EQ(text(kl::from_host({0.1})), end("[0.1] f64 (1,)"));
  EXPECT_EQ(text(kl::from_host({kl::half(0.1f), kl::half(65504.0f)})), end("[  0.1, 65500] f16 (2,)"))
      << "65504 is the only half near 65500";
  EXPECT_EQ(text(kl::from_host({kl::bfloat16(0.1f)})), end("[0.1] bf16 (1,)"));
  EXPECT_EQ(text(kl::from_host({std::complex<float>(1, -2)})), end("[1-2j] c64 (1,)"));
  EXPECT_EQ(text(kl::from_host({1.0f}) > 0), end("[true] b1 (1,)"));
  EXPECT_EQ(text(kl::from_host({std::int8_t{-3}})), end("[-3] i8 (1,)")) << "a number, not a character";
}

TEST_P(Print, nan_has_no_sign) {  // as NumPy prints both
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const kl::Array<float> x = kl::from_host({nan, -nan, 1.0f});
  EXPECT_EQ(text(x), end("[nan, nan,   1] f32 (3,)"));
  EXPECT_EQ(text(x.astype<kl::half>()), end("[nan, nan,   1] f16 (3,)"));
  EXPECT_EQ(text(x.astype<double>()), end("[nan, nan,   1] f64 (3,)"));
}

TEST_P(Print, of_large_arrays_the_ends_are_printed) {
  EXPECT_EQ(text(kl::arange<int>(0, 1001)), end("[   0,    1,    2, ...,  998,  999, 1000] i32 (1001,)"));
  const kl::Array<int> x = kl::arange<int>(0, 40 * 50).reshape({40, 50});
  const std::string rows =
      "[[   0,    1,    2, ...,   47,   48,   49],\n [  50,   51,   52, ...,   97,   98,   99],\n"
      " [ 100,  101,  102, ...,  147,  148,  149],\n ...,\n [1850, 1851, 1852, ..., 1897, 1898, 1899],\n"
      " [1900, 1901, 1902, ..., 1947, 1948, 1949],\n [1950, 1951, 1952, ..., 1997, 1998, 1999]] i32 (40, 50)";
  EXPECT_EQ(text(x), end(rows));
  EXPECT_EQ(text(x.t().t()), end(rows)) << "a view";
  const std::string turned = text(x.t());
  EXPECT_EQ(turned.substr(0, turned.find('\n')), "[[   0,   50,  100, ..., 1850, 1900, 1950],");
  EXPECT_EQ(text(x(kl::all, kl::range(0, 26)).reshape({40, 26}) * 0).substr(0, 21), "[[0, 0, 0, ..., 0, 0,");
}

TEST_P(Print, long_rows_are_broken_into_lines) {
  const std::string printed = text(kl::arange<int>(0, 100));
  std::istringstream lines(printed);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    EXPECT_LE(line.size(), 78u + 20) << "the type and shape follow the last bracket";
    if (count > 0) {
      EXPECT_EQ(line.substr(0, 1), " ") << "below the bracket";
    }
  }
  EXPECT_GT(count, 3);
}

TEST_P(Print, types_and_devices_print_as_they_are_called) {
  const kl::Array<kl::bfloat16> x({2});
  EXPECT_EQ(text(x.dtype), "bf16");
  EXPECT_EQ(text(kl::DType::c128), "c128");
  EXPECT_EQ(text(x.device()), on_gpu() ? "cuda:0" : "cpu");
  EXPECT_EQ(text(kl::Device::cuda(3)), "cuda:3");
}

TEST_P(Print, arrays_without_elements_say_so) {
  EXPECT_EQ(text(kl::zeros<float>({0, 4})), end("[] f32 (0, 4)"));
  EXPECT_EQ(text(kl::Array<float>()), "[] (never assigned to, or moved from)");
}

}  // namespace
