// tests/device/arrays_test.cpp -- layouts end to end: slices, transposes, broadcasts, odd alignment, zero sizes, high
// ranks.
#include <algorithm>
#include <concepts>
#include <numeric>
#include <utility>
#include <vector>

#include "tests/support/devices.h"

namespace {

using Numbers = std::vector<std::int64_t>;

class Arrays : public OnEachDevice {};

/// 0, 1, 2, ... on the current device.
template <class T>
kl::Array<T> counted(const kl::Shape& shape) {
  std::int64_t n = 1;
  for (const auto extent : shape) n *= extent;
  std::vector<T> values(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(static_cast<float>(i % 1021));
  return kl::from_host(values, shape);
}

std::int64_t element(std::int64_t flat) { return flat % 1021; }

/// The indices start, start + step, ... that lie before stop (after it for negative steps).
Numbers stepped(std::int64_t start, std::int64_t stop, std::int64_t step) {
  Numbers picked;
  for (std::int64_t i = start; step > 0 ? i < stop : i > stop; i += step) picked.push_back(i);
  return picked;
}

TEST_P(Arrays, slices_read_what_numpy_reads) {
  const kl::Array<int> a = counted<int>({7, 9, 11});
  const auto check = [&](const auto& view, const Numbers& i, const Numbers& j, const Numbers& k,
                         const kl::Shape& shape) {
    std::vector<int> expected;
    for (const auto x : i)
      for (const auto y : j)
        for (const auto z : k) expected.push_back(static_cast<int>(2 * element((x * 9 + y) * 11 + z)));
    EXPECT_EQ(view.shape(), shape);
    EXPECT_EQ(kl::eval(view * 2).to_host(), expected);
    for (int& value : expected) value /= 2;
    EXPECT_EQ(view.to_host(), expected);
    EXPECT_EQ(view.clone().to_host(), expected);
  };
  const Numbers all7 = stepped(0, 7, 1), all9 = stepped(0, 9, 1), all11 = stepped(0, 11, 1);
  check(a(kl::range(1, -1), kl::all), stepped(1, 6, 1), all9, all11, {5, 9, 11});
  check(a(3, kl::all, -2), {3}, all9, {9}, {9});
  check(a(kl::all, kl::range(kl::none, kl::none, -1)), all7, stepped(8, -1, -1), all11, {7, 9, 11});
  check(a(kl::range(0, 7, 2), kl::range(8, 1, -3), kl::range(-1, kl::none, -2)), stepped(0, 7, 2), stepped(8, 1, -3),
        stepped(10, -1, -2), {4, 3, 6});
  check(a(kl::range(5, 2)), {}, all9, all11, {0, 9, 11});
  check(a(-1, -1, -1), {6}, {8}, {10}, {});
}

TEST_P(Arrays, slices_are_written_in_place) {
  kl::Array<float> a = kl::zeros<float>({6, 8});
  a(kl::range(1, 5), kl::range(kl::none, kl::none, -2)) = kl::from_host(std::vector<float>{1, 2, 3, 4});
  std::vector<float> expected(48, 0.0f);
  for (int i = 1; i < 5; ++i)
    for (int k = 0; k < 4; ++k) expected[static_cast<std::size_t>(i * 8 + 7 - 2 * k)] = static_cast<float>(k + 1);
  EXPECT_EQ(a.to_host(), expected);
  a(2, 3) = 9.0f;
  expected[2 * 8 + 3] = 9.0f;
  EXPECT_EQ(a.to_host(), expected);
}

TEST_P(Arrays, transposed_operands) {
  for (const std::int64_t n : {1, 31, 33, 130}) {
    const std::int64_t m = 2 * n + 1;
    const kl::Array<float> a = counted<float>({n, m}), b = counted<float>({m, n});
    std::vector<float> expected;
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < m; ++j)
        expected.push_back(static_cast<float>(element(i * m + j) - 2 * element(j * n + i)));
    EXPECT_EQ(kl::eval(a - 2.0f * b.t()).to_host(), expected) << n;
  }
  const kl::Array<int> c = counted<int>({5, 6, 7});
  std::vector<int> expected;
  for (int k = 0; k < 7; ++k)
    for (int i = 0; i < 5; ++i)
      for (int j = 0; j < 6; ++j) expected.push_back(static_cast<int>(element((i * 6 + j) * 7 + k)) + 1);
  EXPECT_EQ(kl::eval(c.transpose({2, 0, -2}) + 1).to_host(), expected);
}

TEST_P(Arrays, broadcasting_rows_and_columns) {
  const kl::Array<int> row = counted<int>({1, 37}), column = counted<int>({29, 1}), plane = counted<int>({3, 1, 1});
  std::vector<int> expected;
  for (int p = 0; p < 3; ++p)
    for (int i = 0; i < 29; ++i)
      for (int j = 0; j < 37; ++j) expected.push_back(100 * p + 10 * i + j);
  const kl::Array<int> sum = 100 * plane + 10 * column + row;
  EXPECT_EQ(sum.shape(), (kl::Shape{3, 29, 37}));
  EXPECT_EQ(sum.to_host(), expected);
  EXPECT_THROW(kl::eval(row + kl::zeros<int>({36})), kl::ShapeError);
}

TEST_P(Arrays, shape_errors_name_both_shapes_and_the_line) {
  const kl::Array<int> a = kl::zeros<int>({3, 4}), b = kl::zeros<int>({5});
  try {
    kl::eval(a + b);
    FAIL() << "no error";
  } catch (const kl::ShapeError& error) {
    const std::string message = error.what();
    for (const char* part : {"(3, 4)", "(5,)", "arrays_test.cpp:"})
      EXPECT_NE(message.find(part), std::string::npos) << part << " in: " << message;
  }
  EXPECT_EQ(kl::eval(a + 1).to_host(), std::vector<int>(12, 1));  // the library stays usable
}

TEST_P(Arrays, zero_size_and_zero_dimensions) {  // B01
  for (const kl::Shape& shape : {kl::Shape{0}, kl::Shape{3, 0, 4}}) {
    const kl::Array<float> empty(shape);
    const kl::Array<float> sum = empty * 2.0f + empty;
    EXPECT_EQ(sum.shape(), shape);
    EXPECT_TRUE(sum.to_host().empty());
    EXPECT_TRUE(empty.clone().to_host().empty());
  }
  const kl::Array<float> wide({0, 5});
  EXPECT_EQ(kl::eval(wide + kl::ones<float>({1, 5})).shape(), (kl::Shape{0, 5}));
  EXPECT_THROW(kl::eval(wide + kl::ones<float>({2, 5})), kl::ShapeError);
  const kl::Array<float> scalar = kl::full(kl::Shape{}, 3.0f);
  EXPECT_EQ(scalar.ndim(), 0);
  EXPECT_EQ(kl::eval(scalar * scalar + 1.0f).item(), 10.0f);
  EXPECT_EQ(kl::eval(scalar + kl::ones<float>({2})).to_host(), (std::vector<float>{4, 4}));
}

TEST_P(Arrays, rank_eight_works_and_rank_nine_says_so) {  // B09
  const kl::Shape shape{2, 2, 2, 2, 2, 2, 2, 2};
  const kl::Array<int> x = counted<int>(shape);
  std::vector<int> expected;
  for (int i = 0; i < 256; ++i) {
    int reversed = 0;  // the bits of i are its 8 coordinates
    for (int bit = 0; bit < 8; ++bit) reversed |= (i >> bit & 1) << (7 - bit);
    expected.push_back(i + 1000 * reversed);
  }
  EXPECT_EQ(kl::eval(x + 1000 * x.transpose({7, 6, 5, 4, 3, 2, 1, 0})).to_host(), expected);
  EXPECT_EQ(kl::eval(x + kl::zeros<int>({2, 1, 2})).to_host(), x.to_host());
  EXPECT_THROW(x.unsqueeze(0), kl::ShapeError);
  EXPECT_THROW(x.reshape(std::vector<int>{256, 1, 1, 1, 1, 1, 1, 1, 1}), kl::ShapeError);
}

template <class T>
void check_offsets(std::int64_t most) {
  constexpr std::int64_t n = 1025;
  kl::Array<T> base = counted<T>({n + most}), out = counted<T>({n + most});
  for (std::int64_t k = 0; k <= most; ++k) {
    std::vector<float> expected;
    for (std::int64_t i = 0; i < n; ++i)
      expected.push_back(static_cast<float>(static_cast<T>(static_cast<float>(element(i + k)))));
    const kl::Array<float> read = kl::cast<float>(base(kl::range(k, k + n)));
    EXPECT_EQ(read.to_host(), expected) << "input at element " << k;
    out = T(static_cast<float>(1));
    out(kl::range(k, k + n)) = base(kl::range(k, k + n));  // both misaligned
    out(kl::range(k, k + n)) = base(kl::range(0, n));      // the output only
    std::vector<float> all(static_cast<std::size_t>(n + most), 1.0f);
    for (std::int64_t i = 0; i < n; ++i)
      all[static_cast<std::size_t>(k + i)] = static_cast<float>(static_cast<T>(static_cast<float>(element(i))));
    EXPECT_EQ(kl::eval(kl::cast<float>(out)).to_host(), all) << "output at element " << k;
  }
}

TEST_P(Arrays, every_alignment_of_an_element_works) {  // B05
  check_offsets<float>(7);
  check_offsets<kl::half>(7);
  check_offsets<std::int16_t>(7);
  check_offsets<double>(3);
}

TEST_P(Arrays, bytes_at_every_offset) {  // B05
  kl::Array<std::int8_t> base = kl::zeros<std::int8_t>({1025 + 7});
  for (int k = 0; k <= 7; ++k) {
    base(kl::range(k, k + 1025)) = kl::cast<std::int8_t>(kl::index(base(kl::range(k, k + 1025)), 0) % 100);
    const std::vector<std::int8_t> got = kl::eval(base(kl::range(k, k + 1025)) + std::int8_t(1)).to_host();
    for (int i = 0; i < 1025; ++i) ASSERT_EQ(got[static_cast<std::size_t>(i)], i % 100 + 1) << k << ", " << i;
  }
}

TEST_P(Arrays, odd_pitches) {  // B05
  constexpr std::int64_t rows = 65, pitch = 1185, columns = 1024;
  const kl::Array<float> base = counted<float>({rows, pitch});
  for (const std::int64_t first : {0, 1, 4}) {
    const auto view = base(kl::all, kl::range(first, first + columns));
    const std::vector<float> got = kl::eval(view * 3.0f).to_host();
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j)
        ASSERT_EQ(got[static_cast<std::size_t>(i * columns + j)],
                  static_cast<float>(3 * element(i * pitch + first + j)));
  }
}

TEST_P(Arrays, coordinates_beyond_32_bits) {  // B06
  const std::int64_t n = (std::int64_t{1} << 33) + 5;
  const kl::Array<int> one = kl::full({1}, 7);
  EXPECT_EQ(kl::full<int>({2}, 2.75).to_host(), (std::vector<int>{2, 2})) << "as int a = 2.75";
  EXPECT_EQ(kl::full<kl::half>({1}, 0.5).astype<float>().to_host(), (std::vector<float>{0.5f}));
  EXPECT_EQ(kl::full<std::uint8_t>({1}, 255L).to_host(), (std::vector<std::uint8_t>{255}));
  const auto far = one.broadcast_to({n});
  EXPECT_EQ(far.size(), n);
  EXPECT_EQ(far(kl::range(n - 3, kl::none)).to_host(), std::vector<int>(3, 7));
  const std::vector<std::int64_t> got = kl::eval(kl::index(far, 0)(kl::range(n - 3, kl::none))).to_host();
  EXPECT_EQ(got, (std::vector<std::int64_t>{n - 3, n - 2, n - 1}));
  const auto plane = one.broadcast_to({1 << 20, 1 << 20});  // 2^40 elements
  const auto corner = kl::index(plane, 0) * (1 << 20) + kl::index(plane, 1);
  EXPECT_EQ(kl::eval(corner(-1, kl::range(-2, kl::none))).to_host(),
            (std::vector<std::int64_t>{(std::int64_t{1} << 40) - 2, (std::int64_t{1} << 40) - 1}));
}

TEST_P(Arrays, offsets_beyond_32_bits) {  // B06: few pages of the memory are touched
  const std::int64_t half = std::int64_t{1} << 31;
  kl::Array<std::int8_t> a({2 * half + 16});
  a(kl::range(2 * half, kl::none)) = kl::cast<std::int8_t>(kl::index(a(kl::range(2 * half, kl::none)), 0));
  a(kl::range(0, kl::none, half)) = std::int8_t(100);  // elements 0, 2^31 and 2^32
  std::vector<std::int8_t> expected(16);
  std::iota(expected.begin(), expected.end(), std::int8_t(1));
  expected[0] = 101;
  EXPECT_EQ(kl::eval(a(kl::range(2 * half, kl::none)) + std::int8_t(1)).to_host(), expected);
  EXPECT_EQ(kl::eval(a(kl::range(kl::none, kl::none, -half))).shape(), (kl::Shape{3}));
  EXPECT_EQ(kl::eval(a(kl::range(2 * half, kl::none, -half)) - std::int8_t(1)).to_host(),
            (std::vector<std::int8_t>{99, 99, 99}));
}

TEST_P(Arrays, reshapes_see_or_refuse) {
  kl::Array<int> a = counted<int>({4, 6});
  EXPECT_EQ(a.reshape({2, -1}).shape(), (kl::Shape{2, 12}));
  a.reshape({24})(kl::range(0, 2)) = -1;
  EXPECT_EQ(a(0, kl::range(0, 3)).to_host(), (std::vector<int>{-1, -1, 2}));
  EXPECT_THROW(a.t().reshape({24}), kl::ShapeError);
  EXPECT_THROW(a.reshape({5, -1}), kl::ShapeError);
  EXPECT_EQ(a.t().clone().reshape({24})(1).item(), 6);
  EXPECT_EQ(a.unsqueeze(1).squeeze(1).flip(0)(0, 0).item(), 18);
}

TEST_P(Arrays, clones_and_copies_are_independent) {
  kl::Array<int> a = counted<int>({3, 5});
  const kl::Array<int> before = a.t().clone();
  const kl::View<int> window = a(1);
  a = 0;
  EXPECT_EQ(before.to_host(), (std::vector<int>{0, 5, 10, 1, 6, 11, 2, 7, 12, 3, 8, 13, 4, 9, 14}));
  EXPECT_EQ(window.to_host(), std::vector<int>(5, 0));  // a view is not
}

TEST_P(Arrays, arrays_travel_between_devices) {
  const kl::Array<float> a = counted<float>({33, 65});
  for (const kl::Device other : kl::devices()) {
    const kl::Array<float> there = a.t().to(other);
    EXPECT_TRUE(there.device() == other);
    std::vector<float> expected;
    for (std::int64_t j = 0; j < 65; ++j)
      for (std::int64_t i = 0; i < 33; ++i) expected.push_back(static_cast<float>(element(i * 65 + j)));
    EXPECT_EQ(there.to_host(), expected);
    EXPECT_EQ(there.to(device).to_host(), expected);
  }
}

TEST_P(Arrays, borrowed_memory_is_read_and_written) {
  kl::Array<int> owner = counted<int>({4, 8});  // its memory stands for the caller's, wherever that is
  {
    kl::View<int> odd = kl::view(owner.data() + 7, {4, 4}, {8, -2}, device);  // columns 7, 5, 3, 1
    odd += 100;
  }
  std::vector<int> expected(32);
  for (int i = 0; i < 32; ++i) expected[static_cast<std::size_t>(i)] = i % 2 ? i + 100 : i;
  EXPECT_EQ(owner.to_host(), expected);
  EXPECT_THROW(kl::view(static_cast<int*>(nullptr), {3}, device), kl::DeviceError);
}

TEST_P(Arrays, more_elements_than_the_host_can_hold_are_out_of_memory) {
  const kl::Array<float> x = kl::ones<float>({1});
  const kl::Array<bool> flags = kl::zeros<bool>({1});
  const std::int64_t absurd = std::int64_t{1} << 50;
  try {
    x.broadcast_to({absurd}).to_host();
    FAIL() << "4 PiB of values";
  } catch (const kl::OutOfMemory& error) {
    for (const char* part : {"1125899906842624 elements", "arrays_test.cpp"})
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
  EXPECT_THROW(flags.broadcast_to({absurd}).to_host(), kl::OutOfMemory);
  EXPECT_THROW(x.broadcast_to({absurd, 1 << 10}).to_host(), kl::OutOfMemory) << "more than a vector can count";
  EXPECT_EQ(x.to_host(), std::vector<float>{1});
}

TEST_P(Arrays, streams_and_events) {
  kl::Stream first(device), second(device);
  kl::Event begin(device), done(device);
  kl::Array<float> x = kl::full({1 << 20}, 1.0f);
  kl::synchronize();
  {
    const kl::StreamGuard guard(first);
    begin.record();
    for (int i = 0; i < 10; ++i) x = x * 2.0f;
    done.record();
  }
  done.wait(second);
  kl::Array<float> y;
  {
    const kl::StreamGuard guard(second);
    y = x + 1.0f;
    second.synchronize();
  }
  EXPECT_EQ(y(-1).item(), 1025.0f);
  done.synchronize();
  EXPECT_GE(kl::Event::elapsed(begin, done), 0.0f);
}

KILN_ON_EACH_DEVICE(Arrays);

TEST_P(Arrays, from_host_takes_rows_in_braces_and_arrays_of_the_language) {
  const kl::Array<float> rows = kl::from_host({{1.f, 2.f, 3.f}, {4.f, 5.f, 6.f}});
  EXPECT_EQ(rows.shape(), (kl::Shape{2, 3}));
  EXPECT_EQ(rows.to_host(), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(kl::from_host({{true}, {false}}).to_host(), (std::vector<bool>{true, false}));
  EXPECT_THROW(kl::from_host({{1, 2}, {3}}), kl::ShapeError);
  EXPECT_THROW(kl::from_host({{1, 2}, {3, 4, 5}, {6}}), kl::ShapeError) << "as many in all, but no rows of two";
  const std::int32_t values[] = {7, 8, 9};
  EXPECT_EQ(kl::from_host(values).to_host(), (std::vector<std::int32_t>{7, 8, 9}));
  EXPECT_EQ(kl::from_host({1.5f, 2.5f}).shape(), (kl::Shape{2})) << "braces alone are a vector";
}

// Rule: what is said about the exchange of views concerns views alone; arrays and what holds them are exchanged as
// usual.
TEST_P(Arrays, arrays_and_containers_of_them_are_exchanged_and_sorted) {
  static_assert(std::movable<std::vector<kl::Array<float>>> && std::swappable<kl::Array<float>>);
  std::vector<kl::Array<float>> v;
  for (const float value : {3.0f, 1.0f, 2.0f}) v.push_back(kl::full({2}, value));
  std::reverse(v.begin(), v.end());
  std::sort(v.begin(), v.end(), [](const auto& a, const auto& b) { return a(0).item() < b(0).item(); });
  std::vector<kl::Array<float>> w(1);
  std::swap(v[0], v[2]);
  using std::swap;
  swap(v, w);
  swap(v[0], w[1]);
  ASSERT_EQ(w.size(), 3u);
  EXPECT_EQ(w[0](0).item(), 3.0f);
  EXPECT_EQ(v[0](0).item(), 2.0f);
  EXPECT_EQ(w[2](0).item(), 1.0f);
  std::pair<std::vector<kl::Array<float>>, int> first{w, 1}, second{v, 2};
  std::swap(first, second);
  EXPECT_EQ(first.first.size(), 1u);
}

}  // namespace
