// examples/heat.cpp -- heat that spreads over a plate, against the closed form: the error falls with the square of the
// cell.
//
//   heat [--size cells] [--output directory]
#include <kiln/kiln.h>

#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "examples/support/png_writer.h"

namespace kl = kiln;

/// Three hot spots: heat, place, and the time for which each has spread from a point. The plate is 1 x 1.
struct Spot {
  float heat, row, column, age;
};
constexpr std::array spots = {Spot{1.0f, 0.40f, 0.40f, 1.0f}, Spot{0.7f, 0.62f, 0.45f, 0.5f},
                              Spot{0.5f, 0.48f, 0.65f, 0.3f}};
constexpr float diffusivity = 1e-3f, duration = 0.5f;

/// The closed form at time t: heat / (4 pi a t) exp(-r^2 / (4 a t)), summed over the spots. In f64.
const auto exact = kl::jit("exact", [](auto u, auto t, auto cell) {
  auto row = cell * (kl::cast<double>(kl::index(u, 0)) + 0.5),
       column = cell * (kl::cast<double>(kl::index(u, 1)) + 0.5);
  auto total = 0.0 * row;
  for (const Spot& s : spots) {
    auto down = row - double(s.row), right = column - double(s.column),
         spread = 4.0 * double(diffusivity) * (t + double(s.age));
    total = total + double(s.heat) / (M_PI * spread) * kl::exp(-(down * down + right * right) / spread);
  }
  return total;
});

const auto step = kl::jit("heat", [](auto u, auto r) {
  auto neighbours = kl::shift(u, {1, 0}, kl::clamp) + kl::shift(u, {-1, 0}, kl::clamp) +
                    kl::shift(u, {0, 1}, kl::clamp) + kl::shift(u, {0, -1}, kl::clamp);
  return u + r * (neighbours - 4.0f * u);
});

struct Result {
  kl::Array<float> u;
  double error, lost, ms;
  std::int64_t steps;
};

Result run(std::int64_t cells) {
  const double cell = 1.0 / double(cells);
  const float r = 0.2f;  // diffusivity * time step / cell^2: below 1/4, or the steps are unstable
  const auto steps =
      2 * static_cast<std::int64_t>(std::ceil(double(duration) * double(diffusivity) / (double(r) * cell * cell) / 2));
  const double time = double(steps) * double(r) * cell * cell / double(diffusivity);
  const kl::Array<float> like({cells, cells});
  kl::Array<float> u = kl::cast<float>(exact(like, 0.0, cell)), next({cells, cells});
  const double before = kl::sum(u, kl::accumulate<double>).item();
  const kl::Graph two_steps = kl::capture([&] {
    step.into(next)(u, r);
    step.into(u)(next, r);
  });
  kl::synchronize();
  const auto begin = std::chrono::steady_clock::now();
  for (std::int64_t i = 0; i < steps / 2; ++i) two_steps.launch();
  kl::synchronize();
  const double ms = 1e3 * std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const double error = kl::max(kl::abs(u - exact(like, time, cell))).item();
  const double lost = 1 - kl::sum(u, kl::accumulate<double>).item() / before;
  return {std::move(u), error, lost, ms, steps};
}

int main(int argc, char** argv) {
  const bool gpu = kl::Device::current().kind() == kl::DeviceKind::cuda;
  std::int64_t largest = gpu ? 2048 : 192;
  std::string output = ".";
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::string(argv[i]) == "--size") largest = std::atoll(argv[i + 1]);
    if (std::string(argv[i]) == "--output") output = argv[i + 1];
  }
  std::printf("device: %s\n%8s  %8s  %12s  %12s  %10s  %8s\n", kl::Device::current().name(), "cells", "steps",
              "worst error", "heat lost", "ms", "GB/s");
  double before = 0;
  bool good = true;
  Result last{};
  for (std::int64_t cells = largest / 4; cells <= largest; cells *= 2) {
    last = run(cells);
    const double bytes = 8.0 * double(cells * cells) * double(last.steps);
    std::printf("%8lld  %8lld  %12.3e  %12.1e  %10.2f  %8.1f\n", static_cast<long long>(cells),
                static_cast<long long>(last.steps), last.error, last.lost, last.ms, 1e-6 * bytes / last.ms);
    // Half the cell, a quarter of the error, until f32 is what errs; no heat is lost but by rounding.
    if (before > 0 && before > 0.01) good &= last.error < 0.3 * before;
    good &= std::fabs(last.lost) < 2e-4;
    before = last.error;
  }
  const kl::Array<float> hot = last.u / kl::max(last.u);
  kl::Array<std::uint8_t> image({largest, largest, 3});
  const auto byte = [](const auto& v) { return kl::cast<std::uint8_t>(kl::round(255.0f * kl::clip(v, 0.0f, 1.0f))); };
  image(kl::all, kl::all, 0) = byte(3.0f * hot);  // black, red, yellow, white
  image(kl::all, kl::all, 1) = byte(3.0f * hot - 1.0f);
  image(kl::all, kl::all, 2) = byte(3.0f * hot - 2.0f);
  const std::int64_t every = (largest + 511) / 512;
  const kl::Array<std::uint8_t> shown =
      image(kl::range(kl::none, kl::none, every), kl::range(kl::none, kl::none, every));
  const unsigned edge = static_cast<unsigned>(shown.shape()[0]);
  examples::write_png(output + "/heat.png", shown.to_host(), edge, edge, 3);
  return good ? 0 : 1;
}
