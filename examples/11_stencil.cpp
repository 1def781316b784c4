// examples/11_stencil.cpp -- elements from their neighbours: heat that spreads, by kl::shift and by slices; a blur.
#include <kiln/kiln.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace kl = kiln;

constexpr std::int64_t rows = 96, columns = 160;
constexpr int steps = 20;
constexpr float rate = 0.2f;

/// The same steps as plain loops in double precision. Beyond the border stands the nearest element.
std::vector<double> expected(std::vector<double> u) {
  for (int step = 0; step < steps; ++step) {
    const std::vector<double> old = u;
    const auto at = [&](std::int64_t i, std::int64_t j) {
      const std::int64_t row = std::clamp<std::int64_t>(i, 0, rows - 1),
                         column = std::clamp<std::int64_t>(j, 0, columns - 1);
      return old[static_cast<std::size_t>(row * columns + column)];
    };
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j)
        u[static_cast<std::size_t>(i * columns + j)] +=
            double(rate) * (at(i - 1, j) + at(i + 1, j) + at(i, j - 1) + at(i, j + 1) - 4 * at(i, j));
  }
  return u;
}

double largest_difference(const std::vector<float>& a, const std::vector<double>& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::fabs(double(a[i]) - b[i]));
  return largest;
}

int main() {
  std::vector<float> start(rows * columns);
  for (std::size_t i = 0; i < start.size(); ++i) start[i] = i % 97 == 0 ? 10.0f : 0.0f;
  const std::vector<double> reference = expected({start.begin(), start.end()});

  // result[i, j] = x[i - down, j - right]: the picture moves by (down, right). One kernel reads each element once.
  auto heat = kl::jit([](auto u, auto r) {
    auto neighbours = kl::shift(u, {1, 0}, kl::clamp) + kl::shift(u, {-1, 0}, kl::clamp) +
                      kl::shift(u, {0, 1}, kl::clamp) + kl::shift(u, {0, -1}, kl::clamp);
    return u + r * (neighbours - 4.0f * u);
  });
  kl::Array<float> u = kl::from_host(start, {rows, columns}), next({rows, columns});
  for (int step = 0; step < steps; ++step) {
    heat.into(next)(u, rate);  // two buffers in turn
    std::swap(u, next);
  }
  std::printf("kl::shift: %g from the loops\n", largest_difference(u.to_host(), reference));
  if (largest_difference(u.to_host(), reference) > 1e-5) return 1;

  // Where the result overlaps what is read, kiln takes a temporary by itself.
  kl::Array<float> v = kl::from_host(start, {rows, columns});
  for (int step = 0; step < steps; ++step) {
    heat.into(v)(v, rate);  // in place: the right side is complete before the first write
  }
  if (v.to_host() != u.to_host()) return 1;

  // The same with slices of an array that has a border of its own.
  using kl::range;
  kl::Array<float> w = kl::zeros<float>({rows + 2, columns + 2});
  w(range(1, -1), range(1, -1)) = kl::from_host(start, {rows, columns});
  for (int step = 0; step < steps; ++step) {
    w(0, kl::all) = w(1, kl::all), w(-1, kl::all) = w(-2, kl::all);
    w(kl::all, 0) = w(kl::all, 1), w(kl::all, -1) = w(kl::all, -2);
    auto at = [&](int i, int j) {  // w has a border of one element
      return w(kl::range(1 + i, rows + 1 + i), kl::range(1 + j, columns + 1 + j));
    };
    at(0, 0) = at(0, 0) + rate * (at(-1, 0) + at(1, 0) + at(0, -1) + at(0, 1) - 4.0f * at(0, 0));  // slices
  }
  kl::Array<float> inside = w(range(1, -1), range(1, -1));
  std::printf("slices: %g from the loops\n", largest_difference(inside.to_host(), reference));
  if (largest_difference(inside.to_host(), reference) > 1e-5) return 1;

  // A 3 x 3 Gaussian, one axis after the other: still one kernel.
  auto blur = kl::jit([](auto x) {
    auto down = 0.25f * (kl::shift(x, {1, 0}, kl::reflect) + 2.0f * x + kl::shift(x, {-1, 0}, kl::reflect));
    return 0.25f * (kl::shift(down, {0, 1}, kl::reflect) + 2.0f * down + kl::shift(down, {0, -1}, kl::reflect));
  });
  kl::Array<float> point = kl::zeros<float>({5, 5});
  point(2, 2) = 16.0f;
  kl::Array<float> blurred = blur(point);
  std::printf("blur in %zu kernel, %g %g %g\n", blur.inspect(point).kernels.size(), double(blurred(1, 1).item()),
              double(blurred(1, 2).item()), double(blurred(2, 2).item()));
  return blurred(1, 1).item() == 1 && blurred(1, 2).item() == 2 && blurred(2, 2).item() == 4 ? 0 : 1;
}
