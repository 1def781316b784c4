// tests/golden/sort_emulation_test.cpp -- the kernels that sort updates and join runs, compiled for the CPU, against
// plain loops: every number of keys around the sizes of tiles and chunks, long runs, dropped keys.
#include <numeric>

#include <gtest/gtest.h>

#include <kiln/dtype.h>

#include "codegen/emit/cuda_sort.h"
#include "tests/golden/emulation.h"

namespace kiln::emulation {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#pragma GCC diagnostic ignored "-Wshadow"
#include "sort_kernels.inc"
#pragma GCC diagnostic pop
}  // namespace kiln::emulation

namespace kiln::golden {
namespace {

using codegen::SortArguments;

void launch(const std::string& name, const SortArguments& arguments, std::array<std::uint32_t, 3> grid,
            std::array<std::uint32_t, 3> block, bool synchronises) {
  for (const emulation::Emitted& kernel : emulation::emitted) {
    if (name != kernel.name) continue;
    ASSERT_EQ(kernel.size, sizeof(SortArguments)) << "the struct in the text is that of the launcher";
    LaunchShape shape;
    shape.grid = grid;
    shape.block = block;
    emulation::launch(shape, synchronises, [&] { kernel.call(&arguments); });
    return;
  }
  FAIL() << name << " was not emitted";
}

struct Sorted {
  std::vector<std::int32_t> keys;
  std::vector<std::uint32_t> numbers;
};

Sorted sorted(const std::vector<std::int32_t>& keys, std::int64_t bins) {
  Sorted now{keys, {}}, next{keys, std::vector<std::uint32_t>(keys.size())};
  const auto count = static_cast<std::int64_t>(keys.size());
  const std::int64_t tiles = (count + codegen::sort_tile - 1) / codegen::sort_tile;
  for (int shift = 0; bins >> shift != 0; shift += 8) {
    std::vector<std::uint32_t> counts(static_cast<std::size_t>(codegen::sort_digits * tiles));
    SortArguments arguments;
    arguments.keys = now.keys.data();
    arguments.numbers = now.numbers.empty() ? nullptr : now.numbers.data();
    arguments.count = count;
    arguments.tiles = tiles;
    arguments.bins = bins;
    arguments.shift = shift;
    arguments.counts = counts.data();
    launch("sort_count", arguments, {static_cast<std::uint32_t>(tiles), 1, 1}, {256, 1, 1}, true);
    std::vector<std::uint64_t> sums(counts.begin(), counts.end());
    std::partial_sum(sums.begin(), sums.end(), sums.begin());
    arguments.counts = sums.data();
    arguments.sorted_keys = next.keys.data();
    arguments.sorted_numbers = next.numbers.data();
    launch("sort_move", arguments, {static_cast<std::uint32_t>(tiles), 1, 1}, {256, 1, 1}, true);
    now = next;
  }
  return now;
}

std::vector<std::int32_t> random_keys(std::size_t count, std::int64_t bins) {
  std::vector<std::int32_t> keys;
  std::uint64_t x = 88172645463325252u + count;
  for (std::size_t i = 0; i < count; ++i) {
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    keys.push_back(static_cast<std::int32_t>(x % static_cast<std::uint64_t>(bins + 1)));  // `bins`: dropped
    if (i > 0 && x >> 60 < 8) keys.back() = keys[i - 1];
  }
  return keys;
}

TEST(SortedScatter, SortsByKeyAndKeepsTheOrderOfEqualKeys) {
  for (const std::int64_t bins : {1, 255, 256, 70000}) {
    for (const std::size_t count : {1, 31, 4096, 4097}) {
      const std::vector<std::int32_t> keys = random_keys(count, bins);
      std::vector<std::uint32_t> want(count);
      std::iota(want.begin(), want.end(), 0u);
      std::stable_sort(want.begin(), want.end(), [&](auto a, auto b) { return keys[a] < keys[b]; });
      const Sorted got = sorted(keys, bins);
      ASSERT_EQ(got.numbers, want) << bins << " bins, " << count << " keys";
      for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(got.keys[i], keys[want[i]]);
    }
  }
}

/// Level by level, as the launcher does.
template <class Element, class Update>
void join(const std::string& kernel, const std::vector<std::int32_t>& keys, std::int64_t bins, std::int64_t outer,
          std::int64_t inner, const std::vector<Update>& updates, bool one, std::vector<Element>& target) {
  const Sorted order = sorted(keys, bins);
  const std::int64_t columns = outer * inner;
  std::vector<std::vector<std::int32_t>> level_keys;
  std::vector<std::vector<double>> level_values;
  SortArguments arguments;
  arguments.keys = order.keys.data();
  arguments.numbers = order.numbers.data();
  arguments.values = updates.data();
  arguments.target = target.data();
  arguments.count = arguments.updates = static_cast<std::int64_t>(keys.size());
  arguments.bins = bins;
  arguments.outer = outer;
  arguments.inner = inner;
  arguments.by_number = 1;
  arguments.one_value = one ? 1 : 0;
  for (;;) {
    const std::int64_t chunks = (arguments.count + codegen::join_chunk - 1) / codegen::join_chunk;
    level_keys.emplace_back(static_cast<std::size_t>(2 * chunks), -7);
    level_values.emplace_back(static_cast<std::size_t>(2 * chunks * columns * (sizeof(Update) / sizeof(float))), 1e300);
    arguments.next_keys = chunks == 1 ? nullptr : level_keys.back().data();
    arguments.next_values = chunks == 1 ? nullptr : level_values.back().data();
    launch(kernel, arguments, {static_cast<std::uint32_t>((chunks + 7) / 8), 2, 1}, {4, 8, 1}, false);
    if (chunks == 1) return;
    arguments.keys = level_keys.back().data();
    arguments.values = level_values.back().data();
    arguments.numbers = nullptr;
    arguments.by_number = 0;
    arguments.one_value = 0;
    arguments.count = 2 * chunks;
  }
}

/// Small integers, whose sums are exact: the value says which updates were added, and how often.
TEST(SortedScatter, JoinsEveryUpdateOnceToItsBin) {
  struct Shape {
    std::int64_t outer, inner;
  };
  for (const Shape shape : {Shape{1, 1}, Shape{1, 37}, Shape{3, 5}}) {
    for (const std::int64_t bins : {1, 3, 300}) {
      for (const std::size_t count : {1, 64, 65, 1000, shape.inner == 1 ? 9000 : 130}) {
        const std::vector<std::int32_t> keys = random_keys(count, bins);
        std::vector<float> updates(static_cast<std::size_t>(shape.outer * shape.inner) * count);
        for (std::size_t i = 0; i < updates.size(); ++i) updates[i] = static_cast<float>(i % 13);
        std::vector<float> target(static_cast<std::size_t>(shape.outer * bins * shape.inner), 2.0f), want = target;
        for (std::int64_t o = 0; o < shape.outer; ++o)
          for (std::size_t i = 0; i < count; ++i)
            for (std::int64_t c = 0; c < shape.inner && keys[i] < bins; ++c)
              want[static_cast<std::size_t>((o * bins + keys[i]) * shape.inner + c)] +=
                  updates[static_cast<std::size_t>(
                      (o * static_cast<std::int64_t>(count) + static_cast<std::int64_t>(i)) * shape.inner + c)];
        join("join_f32", keys, bins, shape.outer, shape.inner, updates, false, target);
        ASSERT_EQ(target, want) << bins << " bins, " << count << " updates of " << shape.outer << " x " << shape.inner;
      }
    }
  }
}

TEST(SortedScatter, RoundsHalvesOnceAndTakesOneUpdateForAll) {
  const std::size_t count = 5000;
  const std::vector<std::int32_t> keys = random_keys(count, 2);
  std::vector<bfloat16> target(2, bfloat16(1.0f));
  join("join_bf16", keys, 2, 1, 1, std::vector<float>{0.125f}, true, target);
  for (std::int32_t b = 0; b < 2; ++b) {
    const auto hits = static_cast<float>(std::count(keys.begin(), keys.end(), b));
    EXPECT_EQ(target[static_cast<std::size_t>(b)].bits, bfloat16(1.0f + 0.125f * hits).bits);
  }
  struct Pair {
    float x, y;
  };
  std::vector<Pair> sums(2, Pair{0, 0}), updates(count, Pair{1, -2});
  join("join_c64", keys, 2, 1, 1, updates, false, sums);
  EXPECT_EQ(sums[1].x, static_cast<float>(std::count(keys.begin(), keys.end(), 1)));
  EXPECT_EQ(sums[1].y, -2 * sums[1].x);
}

}  // namespace
}  // namespace kiln::golden
