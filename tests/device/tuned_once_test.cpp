// tests/device/tuned_once_test.cpp -- case D07: while schedules are tried, each call runs the work once: what is added
// up over many calls counts every call, and a workspace is as good as new for whichever schedule comes next.
#include <cstdint>
#include <tuple>
#include <vector>

#include <kiln/scatter.h>
#include <kiln/tuning.h>
#include "tests/support/devices.h"

namespace {

class TunedOnce : public OnEachDevice {
 protected:
  /// Large enough to be tuned on a GPU; the CPU has one schedule.
  std::int64_t elements() const { return on_gpu() ? std::int64_t{1} << 23 : std::int64_t{1} << 14; }
  /// More calls than decide about a schedule; the candidates are there after the first quarter.
  template <class Call>
  void repeat(const Call& call) {
    const kl::tuning::Afresh afresh;
    for (int k = 0; k < calls; ++k) {
      call();
      if (k % 16 == 0) kl::synchronize();
      if (k == calls / 4) kl::tuning::finish_compiling();
    }
  }
  static constexpr int calls = 400;
};
KILN_ON_EACH_DEVICE(TunedOnce);

// Rule (tuning): each call runs the user's work exactly once. All sums here are of small integers, hence exact.
TEST_P(TunedOnce, sums_that_accumulate) {
  const std::int64_t n = elements();
  const kl::Array<float> x = kl::full({n / 1024, 1024}, 0.25f);
  kl::Array<double> total = kl::zeros<double>({1}), of_columns = kl::zeros<double>({1024});
  kl::Array<float> of_rows = kl::zeros<float>({n / 1024});
  const auto add_all = kl::jit([id = 1](auto acc, auto v) { return (void)id, acc + kl::sum(v); });
  const auto add_rows = kl::jit([id = 2](auto acc, auto v) { return (void)id, acc + kl::sum(v, 1); });
  const auto add_columns = kl::jit([id = 3](auto acc, auto v) { return (void)id, acc + kl::sum(v, 0); });
  repeat([&] {
    add_all.into(total)(total, x);
    add_rows.into(of_rows)(of_rows, x);
    add_columns.into(of_columns)(of_columns, x);
  });
  EXPECT_EQ(total.to_host()[0], 0.25 * static_cast<double>(n) * calls);
  EXPECT_EQ(of_rows.to_host(), std::vector<float>(static_cast<std::size_t>(n / 1024), 256.0f * calls));
  EXPECT_EQ(of_columns.to_host(), std::vector<double>(1024, 0.25 * static_cast<double>(n / 1024) * calls));
}

TEST_P(TunedOnce, inline_sums_that_accumulate) {
  const kl::Array<float> x = kl::full({elements()}, 0.5f);
  kl::Array<double> total = kl::zeros<double>({1});
  repeat([&] { total += kl::sum(x); });
  EXPECT_EQ(total.to_host()[0], 0.5 * static_cast<double>(elements()) * calls);
}

TEST_P(TunedOnce, halving_and_doubling_in_place) {  // x *= 0.5 on a cold tuner, then warm
  kl::Array<float> x = kl::full({elements()}, 8.0f);
  repeat([&] {
    x *= 0.5f;
    x *= 2.0f;
  });
  x *= 0.5f;
  EXPECT_EQ(kl::min(x).item(), 4.0f);
  EXPECT_EQ(kl::max(x).item(), 4.0f);
  x *= 0.5f;
  EXPECT_EQ(kl::min(x).item(), 2.0f);
  EXPECT_EQ(kl::max(x).item(), 2.0f);
}

TEST_P(TunedOnce, rows_in_place_and_running_sums) {
  const std::int64_t rows = elements() / 1024;
  kl::Array<std::int32_t> x = kl::zeros<std::int32_t>({rows, 1024});
  kl::Array<std::int64_t> running = kl::zeros<std::int64_t>({rows, 1024});
  const kl::Array<std::int32_t> one = kl::ones<std::int32_t>({rows, 1024});
  const auto next =
      kl::jit([id = 1](auto v) { return (void)id, v + kl::cast<std::int32_t>(kl::max(v, 1, kl::keepdims)) * 0 + 1; });
  const auto run = kl::jit([id = 2](auto acc, auto v) { return (void)id, acc + kl::cumsum(v, 1); });
  repeat([&] {
    next.into(x)(x);
    run.into(running)(running, one);
  });
  EXPECT_EQ(kl::min(x).item(), calls);
  EXPECT_EQ(kl::max(x).item(), calls);
  EXPECT_EQ(kl::sum(running).item(), rows * (1024 * 1025 / 2) * calls);
}

/// The output overlaps the input: results go through temporaries, and are copied once.
TEST_P(TunedOnce, shifted_in_place) {
  const std::int64_t n = elements();
  kl::Array<std::int32_t> x = kl::cast<std::int32_t>(kl::index(kl::zeros<std::int32_t>({n}), 0));
  repeat([&] {
    kl::View<std::int32_t> tail = x(kl::range(1, kl::none));
    tail = x(kl::range(0, -1)) + 1;  // element i becomes element i - 1, plus 1
  });
  // Element i >= calls came `calls` places further, and counts each: i - calls + calls. Below: 0 + i.
  const kl::Array<bool> wrong = x != kl::cast<std::int32_t>(kl::index(x, 0));
  EXPECT_EQ(kl::count_nonzero(wrong).item(), 0);
}

TEST_P(TunedOnce, sums_by_index) {
  const std::int64_t n = elements();
  const kl::Array<std::int32_t> places = kl::cast<std::int32_t>(kl::index(kl::zeros<std::int32_t>({n}), 0) % 97);
  const kl::Array<float> ones = kl::ones<float>({n});
  kl::Array<std::int64_t> counts = kl::zeros<std::int64_t>({97});
  kl::Array<double> sums = kl::zeros<double>({97});
  constexpr int rounds = 40;
  const kl::tuning::Afresh afresh;
  for (int k = 0; k < rounds; ++k) {
    kl::scatter_add(counts, places, 1);
    kl::scatter_add(sums, places, kl::cast<double>(ones));
  }
  std::vector<std::int64_t> want;
  for (std::int64_t place = 0; place < 97; ++place) want.push_back(rounds * ((n - place + 96) / 97));
  EXPECT_EQ(counts.to_host(), want);
  EXPECT_EQ(sums.to_host(), std::vector<double>(want.begin(), want.end()));
}

/// The first results are those of later calls, when another schedule runs, to the bit.
TEST_P(TunedOnce, cold_and_warm_results_are_the_same) {
  const std::int64_t rows = elements() / 2048;
  const kl::Array<float> x = kl::random::normal<float>({rows, 2048}, 5);
  const auto f = kl::jit([id = 1](auto v) {
    return (void)id,
           std::tuple(kl::sum(v * 0.3f), kl::sum(v * 0.7f, 0), kl::std_(v, 1), v - kl::mean(v, 1, kl::keepdims));
  });
  const auto [all, columns, deviations, centred] = f(x);
  repeat([&] {
    const auto again = f(x);
    ASSERT_EQ(std::get<0>(again).item(), all.item());
  });
  const auto [all_later, columns_later, deviations_later, centred_later] = f(x);
  EXPECT_EQ(all_later.item(), all.item());
  EXPECT_EQ(columns_later.to_host(), columns.to_host());
  EXPECT_EQ(deviations_later.to_host(), deviations.to_host());
  EXPECT_EQ(kl::count_nonzero(centred_later != centred).item(), 0);
}

}  // namespace
