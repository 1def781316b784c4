// tests/device/lifetime_test.cpp -- who owns what: stored expressions, captures, in-place evaluation, threads.
#include <barrier>
#include <thread>

#include "tests/support/check.h"

namespace {

class Lifetime : public OnEachDevice {};

/// A stored expression keeps its arrays alive and copies its scalars (B13).
auto scaled_sine(const kl::Array<float>& x) {
  float s = 0.01f;
  auto t = x * 2;
  return kl::sin(t * s);
}

TEST_P(Lifetime, stored_expressions_own_their_leaves) {  // B13, sin(0.02 x) in float64
  const auto make = [] {
    kl::Array<float> x = kl::from_host(std::vector<float>{1, 2, 3, 4});
    return scaled_sine(x);
  };
  auto expression = make();  // x is gone
  std::vector<decltype(expression)> stored;
  stored.push_back(std::move(expression));
  stored.push_back(stored[0]);
  for (int repeat = 0; repeat < 2; ++repeat) {
    for (const auto& e : stored) {
      const auto got = kl::eval(e).to_host();
      for (int i = 0; i < 4; ++i) EXPECT_NEAR(got[i], std::sin(0.02 * (i + 1)), 1e-8);
    }
  }
}

/// Every reference that an expression takes is given back once: by copies, moves, temporaries and failures alike.
TEST_P(Lifetime, expressions_give_their_references_back) {
  const kl::Array<float> x = kl::ones<float>({4}), three = kl::ones<float>({3});
  const auto references = [](const kl::Array<float>& a) { return *reinterpret_cast<const long*>(a.handle().storage); };
  ASSERT_EQ(references(x), 1);
  {
    auto e = kl::exp(kl::abs(x / x) + x) - 2.5f;
    EXPECT_EQ(references(x), 1 + 3);
    auto copy = e;
    EXPECT_EQ(references(x), 1 + 6);
    auto moved = std::move(e);
    EXPECT_EQ(references(x), 1 + 6);
    EXPECT_THROW(kl::eval(e), kl::ShapeError) << "nothing is left in it";
    const auto longer = kl::where(x > 0.0f, std::move(moved) * x, kl::let(copy));
    EXPECT_EQ(references(x), 1 + 3 + 1 + 4 + 3);
    EXPECT_EQ(kl::eval(longer).to_host()[3], kl::eval(copy).to_host()[3]);
    e = copy;
    const auto& self = e;
    e = self;
    EXPECT_EQ(references(x), 1 + 3 + 1 + 4 + 3 + 3);
  }
  EXPECT_EQ(references(x), 1);
  EXPECT_THROW(kl::eval(-(x * 2.0f) + three), kl::ShapeError);
  EXPECT_THROW((void)(x + three).reshape({2}), kl::ShapeError);
  kl::eval(kl::cast<double>((x + 1.0f).reshape({2, 2})) * kl::lit(2));
  EXPECT_EQ(references(x), 1);
  EXPECT_EQ(references(three), 1);
}

TEST_P(Lifetime, views_keep_storage_alive) {
  kl::View<float> tail = [] {
    kl::Array<float> x = kl::from_host(std::vector<float>{1, 2, 3, 4});
    return x(kl::range(2, kl::none));
  }();
  EXPECT_EQ(kl::eval(tail + 1.0f).to_host(), (std::vector<float>{4, 5}));
}

TEST_P(Lifetime, arrays_are_regular_values) {
  kl::Array<float> a = kl::from_host(std::vector<float>{1, 2, 3});
  kl::Array<float> b = a;  // a copy, not an alias
  b += 10.0f;
  EXPECT_EQ(a.to_host(), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(b.to_host(), (std::vector<float>{11, 12, 13}));
  kl::Array<float> c = std::move(b);
  EXPECT_EQ(c.to_host(), (std::vector<float>{11, 12, 13}));
  a = c;
  c *= 0.0f;
  EXPECT_EQ(a.to_host(), (std::vector<float>{11, 12, 13}));
}

TEST_P(Lifetime, in_place_updates_apply_once_on_the_first_call) {  // D07
  kl::Array<float> x = kl::full({1000}, 8.0f);
  x *= 0.5f;
  EXPECT_EQ(x.to_host(), std::vector<float>(1000, 4.0f));
  x *= 0.5f;
  EXPECT_EQ(x.to_host(), std::vector<float>(1000, 2.0f));
}

TEST_P(Lifetime, captures_belong_to_their_jit_object) {
  const auto make = [](float factor) { return kl::jit([factor](auto x) { return x * factor; }); };
  auto twice = make(2.0f), thrice = make(3.0f);
  kl::Array<float> x = kl::from_host(std::vector<float>{1, 10});
  EXPECT_EQ(twice(x).to_host(), (std::vector<float>{2, 20}));
  EXPECT_EQ(thrice(x).to_host(), (std::vector<float>{3, 30}));
  EXPECT_EQ(twice(x).to_host(), (std::vector<float>{2, 20}));
}

TEST_P(Lifetime, source_of_from_host_may_be_freed_at_once) {
  kl::Array<float> x;
  {
    std::vector<float> values(100000, 3.0f);
    x = kl::from_host(values);
    std::fill(values.begin(), values.end(), -1.0f);
  }
  EXPECT_EQ(x.to_host(), std::vector<float>(100000, 3.0f));
}

/// 24 threads evaluate the same and different new expressions at once: all right, none torn (D03).
TEST_P(Lifetime, concurrent_first_use) {
  constexpr int threads = 24;
  std::barrier start(threads);
  std::vector<std::vector<float>> results(threads);
  std::vector<std::thread> pool;
  for (int t = 0; t < threads; ++t) {
    pool.emplace_back([&, t] {
      kl::DeviceGuard guard(device);
      kl::Array<float> x = kl::from_host(std::vector<float>{1, 2, 3, 4});
      start.arrive_and_wait();
      kl::Array<float> y;
      switch (t % 4) {
        case 0:
          y = x * 3.0f + 1.0f;
          break;
        case 1:
          y = x * x + 1.0f;
          break;
        case 2:
          y = kl::where(x > 2.0f, x, 0.0f);
          break;
        default:
          y = kl::sqrt(x * x);
          break;
      }
      results[t] = y.to_host();
    });
  }
  for (auto& thread : pool) thread.join();
  const std::vector<float> want[4] = {{4, 7, 10, 13}, {2, 5, 10, 17}, {0, 0, 3, 4}, {1, 2, 3, 4}};
  for (int t = 0; t < threads; ++t) EXPECT_EQ(results[t], want[t % 4]) << "thread " << t;
}

/// Memory freed on one stream is not reused while another stream still reads it (D04).
TEST_P(Lifetime, memory_outlives_its_readers_on_other_streams) {
  kl::Stream first(device), second(device);
  for (int repeat = 0; repeat < 200; ++repeat) {
    kl::Array<float> result({1 << 16});
    {
      kl::StreamGuard on_first(first);
      kl::Array<float> x = kl::full({1 << 16}, 1.0f);
      first.synchronize();
      kl::StreamGuard on_second(second);
      result = kl::sqrt(kl::sqrt(x)) * 1.0f;
    }
    {
      kl::StreamGuard on_first(first);
      kl::Array<float> clobber = kl::full({1 << 16}, -1.0f);
      first.synchronize();
    }
    second.synchronize();
    kl::StreamGuard on_second(second);
    const auto got = result.to_host();
    ASSERT_EQ(got.front(), 1.0f);
    ASSERT_EQ(got.back(), 1.0f);
  }
}

KILN_ON_EACH_DEVICE(Lifetime);

}  // namespace
