// tests/device/interleaved_test.cpp -- short innermost axes: interleaved images and points beside gains and indices.
#include <algorithm>

#include "tests/support/check.h"

namespace {

class Interleaved : public OnEachDevice {};

struct Image {
  std::int64_t rows, columns;
};

/// u8(clip(x * gain(channel) + row - column)) in f32, as every device must compute it.
std::uint8_t expected(std::uint8_t x, float gain, std::int64_t row, std::int64_t column) {
  const float lit = static_cast<float>(x) * gain + static_cast<float>(row - column);
  return static_cast<std::uint8_t>(std::clamp(lit, 0.0f, 255.0f));
}

/// Whole and partial vectors, every alignment of the first byte, into a new array and in place.
TEST_P(Interleaved, bytes_with_channel_gain_and_coordinates) {
  const kl::Array<float> gain = kl::from_host(std::vector<float>{0.5f, 1, 2});
  for (const auto& [rows, columns] : {Image{1, 1}, Image{37, 53}, Image{48, 64}}) {
    for (std::int64_t first = 0; first < 4; ++first) {
      const std::int64_t count = rows * columns * 3;
      std::vector<std::uint8_t> bytes(static_cast<std::size_t>(count + 8));
      for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i * 37 % 256);
      kl::Array<std::uint8_t> base = kl::from_host(bytes);
      auto image = base(kl::range(first, first + count)).reshape({rows, columns, 3});
      const auto moved = kl::cast<float>(kl::index(image, 0) - kl::index(image, 1));
      const auto lit = kl::cast<std::uint8_t>(kl::clip(kl::cast<float>(image) * gain + moved, 0.0f, 255.0f));
      const std::vector<std::uint8_t> got = kl::eval(lit).to_host();
      image = lit;
      const std::vector<std::uint8_t> in_place = base.to_host();
      for (std::int64_t i = 0; i < count; ++i) {
        const auto at = static_cast<std::size_t>(i), from = static_cast<std::size_t>(first + i);
        const float channel_gain = i % 3 == 0 ? 0.5f : i % 3 == 1 ? 1.0f : 2.0f;
        const std::uint8_t want = expected(bytes[from], channel_gain, i / 3 / columns, i / 3 % columns);
        ASSERT_EQ(got[at], want) << rows << " x " << columns << " from byte " << first << ", element " << i;
        ASSERT_EQ(in_place[from], want) << rows << " x " << columns << " from byte " << first << ", element " << i;
      }
      for (const std::int64_t outside : {first - 1, first + count}) {
        if (outside < 0) continue;
        const auto at = static_cast<std::size_t>(outside);
        ASSERT_EQ(in_place[at], bytes[at]) << "written outside the view";
      }
    }
  }
}

/// A scale per point and a shift per coordinate: neither lets the two axes join.
TEST_P(Interleaved, points_with_scale_and_shift) {
  for (const std::int64_t points : {1, 1001, 4096}) {
    for (const std::int64_t dimension : {2, 3, 7}) {
      std::vector<float> x(static_cast<std::size_t>(points * dimension)), scale(static_cast<std::size_t>(points));
      std::vector<float> shift(static_cast<std::size_t>(dimension));
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 97) - 48;
      for (std::size_t i = 0; i < scale.size(); ++i) scale[i] = static_cast<float>(i % 5 + 1);
      for (std::size_t i = 0; i < shift.size(); ++i) shift[i] = static_cast<float>(100 * i);
      kl::Array<float> a = kl::from_host(x), s = kl::from_host(scale), t = kl::from_host(shift);
      const std::vector<float> got = kl::eval(a.reshape({points, dimension}) * s.reshape({points, 1}) + t).to_host();
      for (std::size_t i = 0; i < x.size(); ++i) {
        const std::size_t point = i / static_cast<std::size_t>(dimension),
                          axis = i % static_cast<std::size_t>(dimension);
        ASSERT_EQ(got[i], x[i] * scale[point] + shift[axis])
            << points << " points of " << dimension << ", element " << i;
      }
    }
  }
}

KILN_ON_EACH_DEVICE(Interleaved);

}  // namespace
