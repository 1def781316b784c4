// examples/mandelbrot.cpp -- the Mandelbrot set: kl::repeat is a loop inside the kernel, which each point leaves when
// it can.
//
//   mandelbrot [--size rows] [--turns n] [--output directory]
#include <kiln/kiln.h>
#include <kiln/repeat.h>

#include <chrono>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "examples/support/png_writer.h"

namespace kl = kiln;

constexpr float left = -2.1f, width = 2.7f, top = -1.35f;  // a square

// z = z z + c until |z| > 2 or `most` turns are over. The number of turns is a run-time number: no other kernel for it.
const auto escape = kl::jit("mandelbrot", [](auto picture, auto most, auto step) {
  auto cx = left + step * (kl::cast<float>(kl::index(picture, 1)) + 0.5f);
  auto cy = top + step * (kl::cast<float>(kl::index(picture, 0)) + 0.5f);
  auto [x, y, turns] = kl::repeat(most, std::tuple(0.0f * cx, 0.0f * cy, 0), [&](auto a, auto b, auto n) {
    return kl::break_if(a * a + b * b > 16.0f, std::tuple(a * a - b * b + cx, 2.0f * a * b + cy, n + 1));
  });
  return std::tuple(turns, x * x + y * y);
});

/// Where the loop ended, made smooth by how far outside the point then was; the inside is black.
const auto colours = kl::jit("colours", [](auto turns, auto square, auto most) {
  auto smooth = kl::cast<float>(turns) + 1.0f - kl::log2(kl::maximum(0.5f * kl::log2(kl::maximum(square, 4.0f)), 1.0f));
  auto t = kl::sqrt(kl::maximum(smooth, 0.0f)) * 0.55f;
  const auto wave = [&](float phase) {
    auto value = kl::where(turns == most, 0.0f, 0.5f - 0.5f * kl::cos(t + phase));
    return kl::cast<std::uint8_t>(kl::round(255.0f * value));
  };
  return std::tuple(wave(0.0f), wave(0.45f), wave(1.1f));
});

/// Points of the cardioid and of the disc to the left of it belong to the set, which has the closed forms
/// |1 - sqrt(1 - 4c)| < 1 and |c + 1| < 1/4: how many of these (well inside) left the loop.
std::int64_t wrong_inside(const std::vector<std::int32_t>& turns, std::int64_t rows, std::int32_t most) {
  std::int64_t wrong = 0;
  const double step = double(width) / double(rows);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < rows; ++j) {
      const std::complex<double> c(double(left) + step * (double(j) + 0.5), double(top) + step * (double(i) + 0.5));
      const bool inside = std::abs(1.0 - std::sqrt(1.0 - 4.0 * c)) < 0.99 || std::abs(c + 1.0) < 0.2475;
      wrong += inside && turns[static_cast<std::size_t>(i * rows + j)] != most;
    }
  }
  return wrong;
}

/// Points whose number of turns differs from that of a plain loop in double precision, of one row in 16.
double differing(const std::vector<std::int32_t>& turns, std::int64_t rows, std::int32_t most) {
  const double step = double(width) / double(rows);
  std::int64_t differ = 0, all = 0;
  for (std::int64_t i = 7; i < rows; i += 16) {
    for (std::int64_t j = 0; j < rows; ++j, ++all) {
      const double cx = double(left) + step * (double(j) + 0.5), cy = double(top) + step * (double(i) + 0.5);
      double x = 0, y = 0;
      std::int32_t n = 0;
      for (; n < most && x * x + y * y <= 16; ++n) {
        const double next = x * x - y * y + cx;
        y = 2 * x * y + cy, x = next;
      }
      differ += n != turns[static_cast<std::size_t>(i * rows + j)];
    }
  }
  return static_cast<double>(differ) / static_cast<double>(all);
}

int main(int argc, char** argv) {
  const bool gpu = kl::Device::current().kind() == kl::DeviceKind::cuda;
  std::int64_t rows = gpu ? 8192 : 256;
  std::int32_t most = 1000;
  std::string output = ".";
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--size") rows = std::atoll(argv[i + 1]);
    if (name == "--turns") most = std::atoi(argv[i + 1]);
    if (name == "--output") output = argv[i + 1];
  }
  // Only its coordinates are used: no memory is read.
  const kl::Array<std::uint8_t> field = kl::zeros<std::uint8_t>({1, 1});
  const kl::View<const std::uint8_t> picture = field.broadcast_to({rows, rows});
  const float step = width / float(rows);
  kl::Array<std::int32_t> turns({rows, rows});
  kl::Array<float> square({rows, rows});
  const auto begin = std::chrono::steady_clock::now();
  escape.into(turns, square)(picture, 2, step);
  kl::synchronize();
  const auto warm = std::chrono::steady_clock::now();
  escape.into(turns, square)(picture, most, step);
  kl::synchronize();
  const auto end = std::chrono::steady_clock::now();

  const double seconds = std::chrono::duration<double>(end - warm).count();
  const double all_turns = kl::sum(turns, kl::accumulate<double>).item();
  const double members = double(kl::count_nonzero(turns == most).item());
  const double area = members * double(step) * double(step);
  std::printf("device: %s\n", kl::Device::current().name());
  std::printf("%lld x %lld points, at most %d turns, %zu kernel, first call %.0f ms\n", static_cast<long long>(rows),
              static_cast<long long>(rows), most, escape.inspect(picture, most, step).kernels.size(),
              1e3 * std::chrono::duration<double>(warm - begin).count());
  std::printf("%-12s  %10.3f ms\n%-12s  %10.2f billion per second\n%-12s  %10.4f (the set's: 1.5065)\n", "time",
              1e3 * seconds, "turns", 1e-9 * all_turns / seconds, "area", area);

  kl::Array<std::uint8_t> image({rows, rows, 3});
  kl::View<std::uint8_t> red = image(kl::all, kl::all, 0), green = image(kl::all, kl::all, 1),
                         blue = image(kl::all, kl::all, 2);
  colours.into(red, green, blue)(turns, square, most);
  const std::int64_t every = (rows + 1023) / 1024;
  const kl::Array<std::uint8_t> shown =
      image(kl::range(kl::none, kl::none, every), kl::range(kl::none, kl::none, every));
  const unsigned edge = static_cast<unsigned>(shown.shape()[0]);
  examples::write_png(output + "/mandelbrot.png", shown.to_host(), edge, edge, 3);

  const std::vector<std::int32_t> host = turns.to_host();
  const double differ = differing(host, rows, most);
  std::printf("%-12s  %10.4f %% of points: other turns than in double precision\n", "rounding", 100 * differ);
  return wrong_inside(host, rows, most) == 0 && std::fabs(area - 1.5065) < 0.06 && differ < 0.02 ? 0 : 1;
}
