// benchmarks/stencil.cpp -- elements from their neighbours: bytes read once and written once / time, beside a copy.
//
//   stencil [PART OF A NAME ... | --serve]
//
// Blocks and rows per thread of every kind run only if asked for: stencil sweep.
#include <cstdio>
#include <string>

#include "benchmarks/support/measure.h"

namespace kl = kiln;

namespace {

using benchmarks::Limit;
using benchmarks::measure;
using benchmarks::random;
using benchmarks::wanted;

constexpr const char* sweep = "sweep";
bool is_sweep() { return !benchmarks::everything_is_wanted() && wanted(sweep); }

template <class T>
double bytes_of(const kl::Array<T>& x) {
  return 2.0 * sizeof(T) * double(x.size());
}

auto laplacian = kl::jit([](auto x) {
  return kl::shift(x, {0, 1}, kl::clamp) + kl::shift(x, {0, -1}, kl::clamp) + kl::shift(x, {1, 0}, kl::clamp) +
         kl::shift(x, {-1, 0}, kl::clamp) - 4.0f * x;
});
auto box = kl::jit([](auto x) {
  auto rows = x + kl::shift(x, {1, 0}, kl::reflect) + kl::shift(x, {-1, 0}, kl::reflect);
  return (rows + kl::shift(rows, {0, 1}, kl::reflect) + kl::shift(rows, {0, -1}, kl::reflect)) * (1.0f / 9.0f);
});
auto star = kl::jit([](auto x) {
  return kl::shift(x, {1, 0, 0}, kl::clamp) + kl::shift(x, {-1, 0, 0}, kl::clamp) + kl::shift(x, {0, 1, 0}, kl::clamp) +
         kl::shift(x, {0, -1, 0}, kl::clamp) + kl::shift(x, {0, 0, 1}, kl::clamp) +
         kl::shift(x, {0, 0, -1}, kl::clamp) - 6.0f * x;
});

void planes() {
  const std::int64_t rows = benchmarks::scaled(8192), columns = 8192;
  kl::Array<float> x = random<float>({rows, columns}), y({rows, columns}), inner({rows - 2, columns - 2});
  const double bytes = bytes_of(x);
  measure("laplacian_clamp_f32", bytes, Limit::copy, [&] { laplacian.into(y)(x); });
  measure("laplacian_wrap_f32", bytes, Limit::copy, [&] {
    y = kl::shift(x, {0, 1}, kl::wrap) + kl::shift(x, {0, -1}, kl::wrap) + kl::shift(x, {1, 0}, kl::wrap) +
        kl::shift(x, {-1, 0}, kl::wrap) - 4.0f * x;
  });
  measure("laplacian_zero_f32", bytes, Limit::copy, [&] {
    y = kl::shift(x, {0, 1}, kl::zero) + kl::shift(x, {0, -1}, kl::zero) + kl::shift(x, {1, 0}, kl::zero) +
        kl::shift(x, {-1, 0}, kl::zero) - 4.0f * x;
  });
  const auto at = [&](std::int64_t down, std::int64_t right) {
    return x(kl::range(1 + down, rows - 1 + down), kl::range(1 + right, columns - 1 + right));
  };
  measure("laplacian_slices_f32", bytes_of(inner), Limit::copy,
          [&] { inner = at(0, 1) + at(0, -1) + at(1, 0) + at(-1, 0) - 4.0f * at(0, 0); });
  kl::View<float> part = y(kl::range(1, -1), kl::range(1, -1));
  measure("laplacian_slices_in_place_f32", bytes_of(inner), Limit::copy,
          [&] { part = at(0, 1) + at(0, -1) + at(1, 0) + at(-1, 0) - 4.0f * at(0, 0); });
  measure("box_3x3_f32", bytes, Limit::copy, [&] { box.into(y)(x); });
  measure("roll_f32", bytes, Limit::copy, [&] { y = kl::shift(x, {5, -3}, kl::wrap); });
  for (const unsigned across : {32u, 64u, 128u}) {
    for (const unsigned rows_of_block : {2u, 4u, 8u, 16u}) {
      for (const unsigned items : {4u, 8u, 16u, 32u}) {
        if (!is_sweep() || across * rows_of_block > 512 || across * rows_of_block < 128) continue;
        const std::string name = std::string("sweep_") + std::to_string(across) + "x" + std::to_string(rows_of_block) +
                                 "_items_" + std::to_string(items);
        const kl::Launch launch{.block = {across, rows_of_block}, .items = items};
        measure(name + "_laplacian", bytes, Limit::copy, [&] { laplacian[launch].into(y)(x); });
        measure(name + "_box", bytes, Limit::copy, [&] { box[launch].into(y)(x); });
      }
    }
  }
}

void half_precision() {
  const std::int64_t rows = benchmarks::scaled(16384), columns = 8192;
  kl::Array<kl::bfloat16> x = random<kl::bfloat16>({rows, columns}), y({rows, columns});
  measure("laplacian_clamp_bf16", bytes_of(x), Limit::copy, [&] { laplacian.into(y)(x); });
}

void lines() {
  const std::int64_t n = benchmarks::scaled(std::int64_t{1} << 26);
  kl::Array<float> x = random<float>({n}), y({n});
  measure("line_3_f32", bytes_of(x), Limit::copy,
          [&] { y = kl::shift(x, 1, kl::clamp) - 2.0f * x + kl::shift(x, -1, kl::clamp); });
  measure("line_5_f32", bytes_of(x), Limit::copy, [&] {
    y = kl::shift(x, -2, kl::clamp) - 8.0f * kl::shift(x, -1, kl::clamp) + 8.0f * kl::shift(x, 1, kl::clamp) -
        kl::shift(x, 2, kl::clamp) + x;
  });
}

void volumes() {
  const std::int64_t depth = benchmarks::scaled(512);
  kl::Array<float> x = random<float>({depth, 512, 512}), y({depth, 512, 512});
  measure("star_7_f32", bytes_of(x), Limit::copy, [&] { star.into(y)(x); });
  for (const unsigned across : {32u, 64u, 128u}) {
    for (const unsigned rows_of_block : {2u, 4u, 8u, 16u}) {
      for (const unsigned items : {4u, 8u, 16u, 32u}) {
        if (!is_sweep() || across * rows_of_block > 512 || across * rows_of_block < 128) continue;
        const std::string name = std::string("sweep_") + std::to_string(across) + "x" + std::to_string(rows_of_block) +
                                 "_items_" + std::to_string(items) + "_star";
        const kl::Launch launch{.block = {across, rows_of_block}, .items = items};
        measure(name, bytes_of(x), Limit::copy, [&] { star[launch].into(y)(x); });
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool good = benchmarks::run(argc, argv, [] {
    planes();
    half_precision();
    lines();
    volumes();
    return true;
  });
  return good ? 0 : 1;
}
