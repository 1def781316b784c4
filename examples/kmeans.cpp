// examples/kmeans.cpp -- the colours of a photograph by k-means: argmin over broadcast distances, sums by scatter_add.
//
//   kmeans [--colours k] [--size n] [--output directory] [--image photograph.npy]        --size: the picture n x n
//   times
#include <kiln/kiln.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "examples/support/png_writer.h"

namespace kl = kiln;

// The nearest centre of each pixel and how far it is. Distances have shape {pixels, k}: they are never stored.
const auto assign = kl::jit("assign", [](auto pixels, auto centres) {
  const auto square = [&](int channel) {
    auto difference = pixels(kl::all, channel).unsqueeze(1) - centres(kl::all, channel);
    return difference * difference;
  };
  auto distance = square(0) + square(1) + square(2);
  return std::tuple(kl::cast<std::int32_t>(kl::argmin(distance, 1)), kl::min(distance, 1));
});

struct Clusters {
  kl::Array<float> centres;
  kl::Array<std::int32_t> nearest;
  double error = 0;  // mean squared distance
};

/// One step of Lloyd's algorithm: every centre moves to the mean of the pixels that are nearest to it.
void improve(Clusters& c, const kl::Array<float>& pixels) {
  const auto [nearest, distance] = assign(pixels, c.centres);
  c.nearest = nearest;
  c.error = double(kl::mean(distance, kl::accumulate<double>).item());
  kl::Array<float> sums = kl::zeros<float>(c.centres.shape());
  kl::scatter_add(sums, nearest, pixels, 0);  // the same bits on every run
  const kl::Array<float> counts = kl::cast<float>(kl::bincount(nearest, static_cast<std::int32_t>(sums.shape()[0])));
  c.centres = kl::where(counts.unsqueeze(1) > 0.0f, sums / counts.unsqueeze(1), c.centres);
}

/// Plain loops: is every one of some pixels given to its nearest centre, up to rounding?
bool is_nearest(const std::vector<float>& pixels, const std::vector<float>& centres,
                const std::vector<std::int32_t>& nearest) {
  for (std::size_t p = 0; p < nearest.size(); p += 37) {
    const auto distance = [&](std::size_t k) {
      double sum = 0;
      for (std::size_t c = 0; c < 3; ++c) sum += std::pow(double(pixels[3 * p + c]) - double(centres[3 * k + c]), 2);
      return sum;
    };
    double best = INFINITY;
    for (std::size_t k = 0; k < centres.size() / 3; ++k) best = std::fmin(best, distance(k));
    if (distance(static_cast<std::size_t>(nearest[p])) > best + 1e-5) return false;
  }
  return true;
}

/// Plain loops in double precision: are the centres the means of their pixels?
double distance_from_means(const std::vector<float>& pixels, const std::vector<float>& centres,
                           const std::vector<std::int32_t>& nearest) {
  std::vector<double> sums(centres.size(), 0), counts(centres.size() / 3, 0);
  for (std::size_t p = 0; p < nearest.size(); ++p) {
    const auto k = static_cast<std::size_t>(nearest[p]);
    for (std::size_t c = 0; c < 3; ++c) sums[3 * k + c] += double(pixels[3 * p + c]);
    ++counts[k];
  }
  double worst = 0;
  for (std::size_t i = 0; i < centres.size(); ++i)
    if (counts[i / 3] > 0) worst = std::fmax(worst, std::fabs(double(centres[i]) - sums[i] / counts[i / 3]));
  return worst;
}

int main(int argc, char** argv) {
  const bool gpu = kl::Device::current().kind() == kl::DeviceKind::cuda;
  std::int64_t colours = 16, times = gpu ? 8 : 1;
  std::string output = ".", image = "examples/data/astronaut.npy";
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--colours") colours = std::atoll(argv[i + 1]);
    if (name == "--size") times = std::atoll(argv[i + 1]);
    if (name == "--output") output = argv[i + 1];
    if (name == "--image") image = argv[i + 1];
  }
  const kl::Array<std::uint8_t> photograph = kl::load_npy<std::uint8_t>(image.c_str());
  const std::int64_t height = photograph.shape()[0], width = photograph.shape()[1], one = height * width;
  kl::Array<float> picture = kl::cast<float>(photograph) * (1.0f / 255.0f);
  const std::int64_t count = times * times * one;
  kl::Array<float> pixels =
      kl::eval(picture.reshape({1, one, 3}).broadcast_to({times * times, one, 3})).reshape({count, 3});

  Clusters clusters;  // the first centres: pixels along the photograph
  clusters.centres =
      pixels(kl::range(one / (2 * colours), one, one / colours), kl::all)(kl::range(0, colours), kl::all);
  std::printf("device: %s; %lld pixels, %lld colours\n", kl::Device::current().name(), static_cast<long long>(count),
              static_cast<long long>(colours));
  std::printf("%6s  %14s  %10s\n", "step", "error of 255", "ms");
  bool falls = true;
  double before = INFINITY;
  constexpr int steps = 20;
  for (int step = 0; step <= steps; ++step) {
    const kl::Array<float> centres = clusters.centres;
    const auto begin = std::chrono::steady_clock::now();
    improve(clusters, pixels);
    kl::synchronize();
    const double ms = 1e3 * std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (step % 5 == 0) std::printf("%6d  %14.3f  %10.3f\n", step, 255 * std::sqrt(clusters.error / 3), ms);
    falls &= clusters.error <= before * (1 + 1e-6);  // Lloyd: never worse
    before = clusters.error;
    if (step == 0 && !is_nearest(pixels.to_host(), centres.to_host(), clusters.nearest.to_host())) return 1;
  }
  const double off = distance_from_means(pixels.to_host(), clusters.centres.to_host(), clusters.nearest.to_host());

  // The photograph, and beside it every pixel in the colour of its centre.
  const auto paint = kl::jit("paint", [](auto centres, auto nearest) {
    return kl::cast<std::uint8_t>(kl::round(255.0f * kl::take(centres, nearest, 0)));
  });
  const kl::Array<std::int32_t> first = clusters.nearest(kl::range(0, one));
  kl::Array<std::uint8_t> both({height, 2 * width, 3});
  both(kl::all, kl::range(0, width), kl::all) = photograph;
  both(kl::all, kl::range(width, 2 * width), kl::all) = paint(clusters.centres, first).reshape({height, width, 3});
  examples::write_png(output + "/kmeans.png", both.to_host(), unsigned(height), unsigned(2 * width), 3);
  std::printf("centres are %.1e from the means of their pixels\n", off);
  return falls && off < 1e-4 ? 0 : 1;
}
