// examples/demo.cpp -- grades a photograph with one fused kernel and compares with one operation at a time.
//
//   demo [--output picture.png] [--size edge] [image.npy]      (unsigned 8-bit, height x width x 3)
#include <kiln/kiln.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>
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
  float exposure = 0.75f;                           // linear gain
  float vignette = 0.8f;                            // tan^2 of the angle in the corners; 0 = none
  std::vector<float> white = {1.05f, 1.0f, 0.93f};  // gains of red, green, blue
};

/// u8 -> f32 -> u8 in one kernel. The picture is a matrix of rows x (3 columns): red, green and blue of a pixel are
/// neighbours, so that a row is one run of memory. `white` holds the gains along a row and is broadcast over the rows;
/// the center is in pixels, `scale` is 1 / half diagonal.
auto make_grade() {
  return kl::jit("grade", [](auto image, auto white, auto exposure, auto vignette, auto center_row, auto center_column,
                             auto scale) {
    // sRGB to linear light (IEC 61966-2-1).
    auto encoded = kl::cast<float>(image) * (1.0f / 255.0f);
    auto linear =
        kl::where(encoded <= 0.04045f, encoded * (1.0f / 12.92f), kl::pow((encoded + 0.055f) * (1.0f / 1.055f), 2.4f));
    // A lens darkens by cos^4 of the angle to its axis.
    auto down = (kl::cast<float>(kl::index(image, 0)) - center_row) * scale;
    auto column = kl::floor((kl::cast<float>(kl::index(image, 1)) + 0.5f) * (1.0f / 3.0f));
    auto across = (column - center_column) * scale;
    auto falloff = 1.0f / (1.0f + vignette * (down * down + across * across));
    auto x = linear * white * exposure * falloff * falloff;
    // Filmic curve: Krzysztof Narkowicz's fit of the ACES tone mapping, 2015. It maps linear to linear.
    auto toned = kl::clip(x * (2.51f * x + 0.03f) / (x * (2.43f * x + 0.59f) + 0.14f), 0.0f, 1.0f);
    auto shown = kl::where(toned <= 0.0031308f, 12.92f * toned, 1.055f * kl::pow(toned, 1.0f / 2.4f) - 0.055f);
    return kl::cast<std::uint8_t>(kl::round(shown * 255.0f));
  });
}

/// The same arithmetic with every operation in a kernel of its own, as an eager library runs it.
kl::Array<std::uint8_t> grade_step_by_step(const kl::Array<std::uint8_t>& image, const kl::Array<float>& white,
                                           const Look& look, float center_row, float center_column, float scale) {
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
  across = across + 0.5f;
  across = across * (1.0f / 3.0f);
  across = kl::floor(across);
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
constexpr int separate_kernels = 45;

/// The picture repeated to about edge x edge pixels: a broadcast view, copied once.
kl::Array<std::uint8_t> tiled(const kl::Array<std::uint8_t>& image, std::int64_t edge) {
  const std::int64_t rows = image.shape()[0], values = image.shape()[1];
  const std::int64_t down = std::max<std::int64_t>(1, edge / rows),
                     across = std::max<std::int64_t>(1, 3 * edge / values);
  kl::Array<std::uint8_t> big =
      kl::eval(image.reshape({1, rows, 1, values}).broadcast_to({down, rows, across, values}));
  return kl::eval(big.reshape({down * rows, across * values}));
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

struct Scene {
  kl::Array<std::uint8_t> image;
  kl::Array<float> white;
  float center_row, center_column, scale;
};

/// `image` is rows x (3 columns).
Scene make_scene(kl::Array<std::uint8_t> image, const Look& look) {
  const std::int64_t rows = image.shape()[0], columns = image.shape()[1] / 3;
  kl::Array<float> white = kl::eval(kl::from_host(look.white).broadcast_to({columns, 3}));
  const float height = static_cast<float>(rows), width = static_cast<float>(columns);
  return {std::move(image), kl::eval(white.reshape({3 * columns})), 0.5f * (height - 1.0f), 0.5f * (width - 1.0f),
          2.0f / std::sqrt(height * height + width * width)};
}

std::size_t count_lines(const char* text) {
  return static_cast<std::size_t>(std::count(text, text + std::strlen(text), '\n'));
}

/// Times the fused function and the separate operations on a large picture, and compares their results.
template <class Grade>
void compare(Grade& grade, const Scene& scene, const Look& look) {
  kl::Array<std::uint8_t> fused(scene.image.shape()), separate;
  const auto fuse = [&] {
    grade.into(fused)(scene.image, scene.white, look.exposure, look.vignette, scene.center_row, scene.center_column,
                      scene.scale);
  };
  const auto separately = [&] {
    separate = grade_step_by_step(scene.image, scene.white, look, scene.center_row, scene.center_column, scene.scale);
  };
  fuse();
  separately();
  const double fused_ms = best_time(10, fuse), separate_ms = best_time(3, separately);
  const double bytes = 2.0 * static_cast<double>(scene.image.size());
  std::printf("\n%lld x %lld pixels, %.0f MB that must move\n", static_cast<long long>(scene.image.shape()[0]),
              static_cast<long long>(scene.image.shape()[1] / 3), 1e-6 * bytes);
  std::printf("  fused, 1 kernel         %9.3f ms %9.1f GB/s\n", fused_ms, 1e-6 * bytes / fused_ms);
  std::printf("  separate, %2d kernels    %9.3f ms %9.1f GB/s   fused is %.1f times as fast\n", separate_kernels,
              separate_ms, 1e-6 * bytes / separate_ms, separate_ms / fused_ms);
  const std::vector<std::uint8_t> a = fused.to_host(), b = separate.to_host();
  int largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(int(a[i]) - int(b[i])));
  std::printf("  largest difference of the two pictures: %d of 255\n", largest);
  if (largest > 1) throw std::runtime_error("the fused and the separate picture differ");
}

void print_kernel(const kl::KernelInfo& kernel) {
  std::printf("  %-10.10s %s: %zu lines of source", kernel.arch.c_str(), kernel.name.c_str(),
              count_lines(kernel.source.c_str()));
  if (kernel.registers >= 0)
    std::printf(", %d registers, %d bytes spilled", kernel.registers, std::max(0, kernel.spills));
  std::printf("\n");
}

/// What the kernel becomes on GPUs that need not be here: the compiler is NVRTC, no driver is needed.
template <class Grade>
void print_for_gpus(Grade& grade, const Scene& scene, const Look& look) {
  std::printf("the same kernel for GPUs:\n");
  for (const char* arch : {"sm_80", "sm_90", "sm_100"}) {
    try {
      print_kernel(grade
                       .inspect_for(arch, scene.image, scene.white, look.exposure, look.vignette, scene.center_row,
                                    scene.center_column, scene.scale)
                       .kernels[0]);
    } catch (const kl::DeviceError& error) {  // no NVRTC: the message says where to get it
      std::printf("  skipped: %s\n", error.what());
      return;
    }
  }
}

void run(const Arguments& arguments) {
  const kl::Device device = kl::Device::current();
  const bool gpu = device.kind() == kl::DeviceKind::cuda;
  std::printf("device: %s\n", device.name());
  const Look look;
  kl::Array<std::uint8_t> photograph = kl::load_npy<std::uint8_t>(arguments.image.c_str());
  if (photograph.ndim() != 3 || photograph.shape()[2] != 3) {
    throw std::runtime_error("the picture must have shape (height, width, 3)");
  }
  const std::int64_t height = photograph.shape()[0], width = photograph.shape()[1];
  const Scene scene = make_scene(kl::eval(photograph.reshape({height, 3 * width})), look);
  auto grade = make_grade();
  const auto call = [&] {
    return grade(scene.image, scene.white, look.exposure, look.vignette, scene.center_row, scene.center_column,
                 scene.scale);
  };

  const auto begin = Clock::now();
  kl::Array<std::uint8_t> graded = call();
  kl::synchronize();
  const double first = milliseconds(begin, Clock::now());
  const double warm = best_time(20, [&] { graded = call(); });
  const unsigned rows = static_cast<unsigned>(height), columns = static_cast<unsigned>(width);
  examples::write_png(arguments.output, graded.to_host(), rows, columns, 3);
  std::printf("%s (%u x %u) -> %s\n", arguments.image.c_str(), rows, columns, arguments.output.c_str());
  std::printf("  first call %.1f ms, next calls %.3f ms, host to finished picture\n", first, warm);

  std::printf("kernel:\n");
  print_kernel(grade
                   .inspect(scene.image, scene.white, look.exposure, look.vignette, scene.center_row,
                            scene.center_column, scene.scale)
                   .kernels[0]);
  if (!gpu) print_for_gpus(grade, scene, look);

  const std::int64_t edge = arguments.edge > 0 ? arguments.edge : gpu ? 8192 : 2048;
  compare(grade, make_scene(tiled(scene.image, edge), look), look);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(parse(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "demo: %s\n", error.what());
    return 1;
  }
  return 0;
}
