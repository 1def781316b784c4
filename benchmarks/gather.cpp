// benchmarks/gather.cpp -- bytes that must move / time for reading and writing by index, beside a copy of the device in
// the same run.
//
//   gather [PART OF A NAME] ...
//
// Times are medians of 15 by events. Bytes: every index, every element taken or updated once, every element of a
// changed target read and written once.
#include <kiln/kiln.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <span>
#include <string_view>

#include "benchmarks/support/measure.h"

namespace kl = kiln;

namespace {

using benchmarks::milliseconds;
using benchmarks::on_gpu;
using kl::bfloat16;

std::int64_t scaled(std::int64_t n) { return on_gpu() ? n : std::max<std::int64_t>(n / 64, 1); }

std::span<char*> filters;
bool wanted(std::string_view name) {
  return filters.empty() || std::any_of(filters.begin(), filters.end(),
                                        [&](const char* part) { return name.find(part) != std::string_view::npos; });
}

double copy_rate = 0;

double measure(const char* name, double bytes, const std::function<void()>& launch) {
  for (int i = 0; i < 3; ++i) launch();
  std::array<double, 15> times = {};
  for (double& time : times) time = milliseconds(launch);
  std::nth_element(times.begin(), times.begin() + 7, times.end());
  const double rate = 1e-6 * bytes / times[7];
  std::printf("%-32s %10.1f us %8.0f GB/s", name, 1e3 * times[7], rate);
  if (copy_rate > 0) std::printf("  %.3f of copy", rate / copy_rate);
  std::printf("\n");
  std::fflush(stdout);
  return rate;
}

/// Numbers in [0, n), spread evenly and without order.
kl::Array<std::int32_t> random_ids(std::int64_t count, std::int64_t n) {
  return kl::cast<std::int32_t>(kl::random::uniform<float>({count}, 11) * static_cast<float>(n - 1));
}

void embeddings() {
  const std::int64_t rows = scaled(128256), width = 4096, count = scaled(32768);
  const kl::Array<std::int32_t> ids = random_ids(count, rows);
  if (wanted("embedding_bf16")) {
    const kl::Array<bfloat16> table = kl::ones<bfloat16>({rows, width});
    kl::Array<bfloat16> out({count, width});
    measure("embedding_bf16_4096", double(count) * (4 + 4.0 * width), [&] { out = kl::take(table, ids, 0); });
  }
  if (wanted("embedding_bag")) {
    const kl::Array<float> table = kl::ones<float>({scaled(1 << 20), 128});
    const kl::Array<std::int32_t> bags = kl::eval(random_ids(scaled(1 << 21), table.shape()[0]).reshape({-1, 32}));
    kl::Array<float> out;
    const double taken = double(bags.size()) * (4 + 4.0 * 128);
    measure("embedding_bag_f32_32x128", taken, [&] { out = kl::sum(kl::take(table, bags, 0), 1); });
  }
  if (wanted("embedding_gradient")) {
    const kl::Array<float> grad = kl::ones<float>({count, width});
    kl::Array<float> table = kl::zeros<float>({rows, width});
    const double bytes = double(count) * (4 + 12.0 * width);
    measure("embedding_gradient_f32", bytes, [&] { kl::scatter_add(table, ids, grad, 0); });
    measure("embedding_gradient_f32_unordered", bytes, [&] { kl::scatter_add(table, ids, grad, 0, kl::unordered); });
  }
}

void vectors() {
  const std::int64_t n = scaled(std::int64_t{1} << 28);
  if (wanted("take_f32")) {
    const kl::Array<float> x = kl::ones<float>({n / 4});
    const kl::Array<std::int32_t> near = kl::arange<std::int32_t>(0, static_cast<std::int32_t>(n / 4));
    const kl::Array<std::int32_t> far = random_ids(n / 4, n / 4);
    kl::Array<float> out({n / 4});
    measure("take_f32_in_order", 3.0 * double(n), [&] { out = kl::take(x, near, 0); });
    measure("take_f32_random", 3.0 * double(n), [&] { out = kl::take(x, far, 0); });
  }
  if (wanted("histogram_u8_256")) {
    const kl::Array<std::uint8_t> x = kl::cast<std::uint8_t>(kl::random::uniform<float>({n}, 5) * 255.9f);
    kl::Array<std::int64_t> counts = kl::zeros<std::int64_t>({256});
    measure("histogram_u8_256", double(n), [&] { kl::scatter_add(counts, x, 1); });
    const kl::Array<std::uint8_t> same = kl::zeros<std::uint8_t>({n});
    measure("histogram_u8_256_one_bin", double(n), [&] { kl::scatter_add(counts, same, 1); });
  }
  if (wanted("histogram_f32_1000")) {
    const kl::Array<float> x = kl::random::uniform<float>({n}, 5);
    measure("histogram_f32_1000", 4.0 * double(n), [&] { kl::histogram(x, 1000, 0, 1); });
  }
  if (wanted("scatter_add_f32")) {
    const std::int64_t count = n / 16, bins = n / 64;
    const kl::Array<float> values = kl::random::uniform<float>({count}, 9);
    const kl::Array<std::int32_t> at = random_ids(count, bins);
    kl::Array<float> target = kl::zeros<float>({bins});
    const double bytes = 8.0 * double(count) + 8.0 * double(bins);
    measure("scatter_add_f32", bytes, [&] { kl::scatter_add(target, at, values); });
    measure("scatter_add_f32_unordered", bytes, [&] { kl::scatter_add(target, at, values, kl::unordered); });
    const kl::Array<std::int32_t> few = random_ids(count, 1000);
    kl::Array<float> small = kl::zeros<float>({1000});
    measure("scatter_add_f32_1000_bins", bytes, [&] { kl::scatter_add(small, few, values); });
    measure("scatter_add_f32_1000_unordered", bytes, [&] { kl::scatter_add(small, few, values, kl::unordered); });
  }
}

}  // namespace

int main(int argc, char** argv) {
  filters = std::span(argv + 1, static_cast<std::size_t>(argc - 1));
  std::printf("device: %s\n", kl::Device::current().name());
  const std::int64_t n = scaled(std::int64_t{1} << 28);
  kl::Array<float> x = kl::ones<float>({n}), y({n});
  copy_rate = measure("copy (kiln)", 8.0 * double(n), [&] { y = x + 0.0f; });
  embeddings();
  vectors();
  return 0;
}
