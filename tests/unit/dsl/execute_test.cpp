// tests/unit/dsl/execute_test.cpp -- whole calls on the CPU device: values, aliasing, compile counts, threads, errors.
#include <thread>

#include <gtest/gtest.h>
#include <kiln/error.h>

#include "dsl/session.h"
#include "runtime/runtime.h"
#include "tests/support/cpu_compiler.h"
#include "tests/unit/dsl/call.h"

namespace kiln::dsl {
namespace {

using namespace test;

class Execute : public testing::Test {
 protected:
  void SetUp() override {
    KILN_NEEDS_CPU_COMPILER();
    set_current_device({runtime::DeviceKind::cpu, 0});
  }
};

std::uint64_t compiles() {
  const runtime::CacheCounters counters = runtime::cache_counters();
  return counters.compiles + counters.disk_hits;  // a kernel found on disk is a kernel that this process lacked
}

TEST_F(Execute, ComputesIntoANewArrayAndInPlace) {
  const CpuArray x({1000}, ramp(1000)), y({1000}, ramp(1000, 5));
  OwnedSite site;
  Handle result;
  TestCall call{{x.handle, y.handle}, {scalar(2.5f)}, {{&result, DType::f32, true}}, saxpy(), {}};
  call.run(site);
  const OwnedHandle owner(result);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(static_cast<float*>(result.data)[i], 2.5f * i + (i + 5));
  Handle in_place = y.handle;
  call.targets = {{&in_place, DType::f32, true}};
  call.run(site);
  EXPECT_EQ(in_place.data, y.handle.data) << "same shape: written in place";
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(y.data<float>()[i], 2.5f * i + (i + 5));
}

TEST_F(Execute, BroadcastsAndTransposes) {
  const CpuArray a({3, 4}, ramp(12)), row({4}, ramp(4, 100));
  OwnedSite site;
  Handle result;
  TestCall call{{a.handle, row.handle},
                {},
                {{&result, DType::f32, true}},
                [](Recorder& r, NodeId* out) {
                  const NodeId sum =
                      operation(r, Op::add, DType::f32,
                                {detail::record_input(r, 0, DType::f32), detail::record_input(r, 1, DType::f32)});
                  out[0] = detail::record_view(r, sum, static_cast<int>(detail::ViewKind::transpose), nullptr, 0, {});
                },
                {}};
  call.run(site);
  const OwnedHandle owner(result);
  ASSERT_EQ(result.layout->shape[0], 4);
  ASSERT_EQ(result.layout->shape[1], 3);
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 3; ++j) EXPECT_EQ(static_cast<float*>(result.data)[i * 3 + j], j * 4 + i + 100 + i);
}

/// B03: the right side is complete before the first write.
TEST_F(Execute, OverlappingDestinationsBehaveAsIfCopied) {
  for (const std::int64_t n : {5, 100'000}) {
    const CpuArray a({n}, ramp(n));
    const auto part = [&](std::int64_t first, std::int64_t last, std::int64_t step) {
      const std::int64_t item[] = {step < 0 ? 0 : detail::slice_has_start | detail::slice_has_stop, first, last, step};
      return detail::view_of(a.handle, static_cast<int>(detail::ViewKind::slice), item, 4, {});
    };
    OwnedSite site;
    Handle target = part(1, n, 1);
    TestCall shift{{part(0, n - 1, 1)}, {}, {{&target, DType::f32, false}}, add_one_to_input0(), {}};
    for (int round = 0; round < 3; ++round) {
      std::vector<float> expected(a.data<float>(), a.data<float>() + n);
      for (std::int64_t i = n - 1; i > 0; --i) expected[i] = expected[i - 1] + 1;
      shift.run(site);
      for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(a.data<float>()[i], expected[i]) << "shift, element " << i;
    }
    std::vector<float> reversed(a.data<float>(), a.data<float>() + n);
    std::reverse(reversed.begin(), reversed.end());
    Handle whole = a.handle;
    TestCall reverse{{part(0, 0, -1)}, {}, {{&whole, DType::f32, true}}, add_one_to_input0(), {}};
    reverse.run(site);
    for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(a.data<float>()[i], reversed[i] + 1) << "reverse, element " << i;
  }
}

TEST_F(Execute, TransposedSumInPlaceIsSymmetric) {
  constexpr int n = 130;
  const CpuArray h({n, n}, ramp(n * n));
  const std::vector<float> before(h.data<float>(), h.data<float>() + n * n);
  OwnedSite site;
  Handle target = h.handle;
  TestCall call{{h.handle},
                {},
                {{&target, DType::f32, true}},
                [](Recorder& r, NodeId* out) {
                  const NodeId x = detail::record_input(r, 0, DType::f32);
                  const NodeId turned =
                      detail::record_view(r, x, static_cast<int>(detail::ViewKind::transpose), nullptr, 0, {});
                  out[0] = operation(r, Op::add, DType::f32, {x, turned});
                },
                {}};
  call.run(site);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) ASSERT_EQ(h.data<float>()[i * n + j], before[i * n + j] + before[j * n + i]);
}

TEST_F(Execute, TwoOutputsOfDifferentShapesReadTheOldValues) {
  // x, y = x + 1, x[0:1] + 1 with y a part of x: both read x before either writes.
  const CpuArray x({8}, ramp(8)), y({1}, ramp(1));
  OwnedSite site;
  Handle first = x.handle, second = y.handle;
  TestCall call{{x.handle},
                {},
                {{&first, DType::f32, true}, {&second, DType::f32, true}},
                [](Recorder& r, NodeId* out) {
                  const NodeId in = detail::record_input(r, 0, DType::f32);
                  const NodeId one = detail::record_literal(r, DType::f32, 0x3f800000u, 0, {});
                  const std::int64_t item[] = {detail::slice_has_start | detail::slice_has_stop, 0, 1, 1};
                  out[0] = operation(r, Op::add, DType::f32, {in, one});
                  out[1] = operation(
                      r, Op::add, DType::f32,
                      {detail::record_view(r, in, static_cast<int>(detail::ViewKind::slice), item, 4, {}), one});
                },
                {}};
  call.run(site);
  EXPECT_EQ(x.data<float>()[0], 1);
  EXPECT_EQ(x.data<float>()[7], 8);
  EXPECT_EQ(y.data<float>()[0], 1) << "0 + 1: the old x";
}

/// C13: shapes and scalar values are arguments.
TEST_F(Execute, NewShapesAndScalarsCompileNothing) {
  OwnedSite site;
  const auto run = [&](std::int64_t n, float s) {
    const CpuArray x({n}, ramp(n)), y({n}, ramp(n));
    Handle result;
    TestCall{{x.handle, y.handle}, {scalar(s)}, {{&result, DType::f32, true}}, saxpy(), {}}.run(site);
    const OwnedHandle owner(result);
    const float last = static_cast<float>(n - 1);
    ASSERT_EQ(static_cast<float*>(result.data)[n - 1], s * last + last) << n << " " << s;
  };
  run(1000, 1);
  const std::uint64_t before = compiles();
  for (int i = 0; i < 1000; ++i) run(1000, static_cast<float>(i));
  EXPECT_EQ(compiles(), before) << "a scalar value is an argument";
  for (int n = 1000; n < 1100; ++n) run(n, 2);
  EXPECT_LE(compiles(), before + 4) << "an extent is an argument";
  const std::uint64_t shapes = compiles();
  OwnedSite other;
  const CpuArray x({1000}, ramp(1000));
  Handle result;
  TestCall{{x.handle, x.handle}, {scalar(1.f)}, {{&result, DType::f32, true}}, saxpy(), {}}.run(other);
  Handle again;
  const CpuArray z({999}, ramp(999)), w({999}, ramp(999));
  TestCall{{z.handle, w.handle}, {scalar(1.f)}, {{&again, DType::f32, true}}, saxpy(), {}}.run(other);
  EXPECT_LE(compiles(), shapes + 1) << "a second site of the same expression compiles nothing but merged operands";
  detail::release(result.storage);
  detail::release(again.storage);
}

/// D03: one compile however many threads are first.
TEST_F(Execute, TwentyFourThreadsCompileOnce) {
  OwnedSite site;
  const std::uint64_t before = compiles();
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0, ready = 0;
  for (int t = 0; t < 24; ++t) {
    threads.emplace_back([&, t] {
      set_current_device({runtime::DeviceKind::cpu, 0});
      const CpuArray x({64}, ramp(64, static_cast<float>(t)));
      Handle result;
      TestCall call{{x.handle},
                    {},
                    {{&result, DType::f32, true}},
                    [](Recorder& r, NodeId* out) {
                      const NodeId in = detail::record_input(r, 0, DType::f32);
                      out[0] = operation(
                          r, Op::mul, DType::f32,
                          {in, operation(r, Op::sub, DType::f32, {in, operation(r, Op::neg, DType::f32, {in})})});
                    },
                    {}};
      ++ready;
      while (ready < 24) std::this_thread::yield();
      call.run(site);
      const OwnedHandle owner(result);
      for (int i = 0; i < 64; ++i) {
        const float v = static_cast<float>(t + i);
        if (static_cast<float*>(result.data)[i] != v * (v + v)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(compiles(), before + 1);
}

/// B01: nothing is launched for empty results; 0-d results are single elements.
TEST_F(Execute, EmptyAndZeroDimensional) {
  OwnedSite site;
  const CpuArray empty(DType::f32, {3, 0, 4}), scalar_array({}, std::vector<float>{41});
  Handle none, one;
  TestCall{{empty.handle}, {}, {{&none, DType::f32, true}}, add_one_to_input0(), {}}.run(site);
  const OwnedHandle none_owner(none);
  EXPECT_EQ(none.layout->rank, 3);
  EXPECT_EQ(none.layout->size, 0);
  TestCall{{scalar_array.handle}, {}, {{&one, DType::f32, true}}, add_one_to_input0(), {}}.run(site);
  const OwnedHandle one_owner(one);
  EXPECT_EQ(one.layout->rank, 0);
  EXPECT_EQ(*static_cast<float*>(one.data), 42);
}

TEST_F(Execute, ManyOperandsWorkOnTheCpu) {
  constexpr unsigned count = 300;
  std::vector<CpuArray> arrays;
  for (unsigned i = 0; i < count; ++i)
    arrays.emplace_back(std::vector<std::int64_t>{5}, ramp(5, static_cast<float>(i)));
  OwnedSite site;
  Handle result;
  TestCall call{{},
                {},
                {{&result, DType::f32, true}},
                [](Recorder& r, NodeId* out) {
                  out[0] = detail::record_input(r, 0, DType::f32);
                  for (unsigned i = 1; i < count; ++i)
                    out[0] = operation(r, Op::add, DType::f32, {out[0], detail::record_input(r, i, DType::f32)});
                },
                {}};
  for (const CpuArray& array : arrays) call.inputs.push_back(array.handle);
  call.run(site);
  const OwnedHandle owner(result);
  EXPECT_EQ(static_cast<float*>(result.data)[0], 299 * 300 / 2);
}

TEST_F(Execute, IndexOperandsCarryEightTimesTheirValue) {
  const std::int64_t shape[] = {2, 3}, strides[] = {10, 1};
  const Handle counter{nullptr, reinterpret_cast<void*>(std::intptr_t{7 * 8}),
                       detail::intern(DType::i64, 0, 0, shape, 2, strides)};
  OwnedSite site;
  Handle result;
  TestCall call{{counter},
                {},
                {{&result, DType::i64, true}},
                [](Recorder& r, NodeId* out) { out[0] = detail::record_iota(r, 0); },
                {}};
  call.run(site);
  const OwnedHandle owner(result);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(static_cast<std::int64_t*>(result.data)[i], 7 + 10 * (i / 3) + i % 3);
}

TEST_F(Execute, MisalignedViewsShareASiteWithAlignedOnes) {  // B05
  const CpuArray base({1100}, ramp(1100));
  OwnedSite site;
  for (std::int64_t first = 0; first < 8; ++first) {
    const std::int64_t item[] = {detail::slice_has_start | detail::slice_has_stop, first, first + 1025, 1};
    const Handle view = detail::view_of(base.handle, static_cast<int>(detail::ViewKind::slice), item, 4, {});
    Handle result;
    TestCall{{view}, {}, {{&result, DType::f32, true}}, add_one_to_input0(), {}}.run(site);
    const OwnedHandle owner(result);
    for (int i = 0; i < 1025; ++i) ASSERT_EQ(static_cast<float*>(result.data)[i], static_cast<float>(first + i + 1));
  }
}

TEST_F(Execute, ManyLayoutsOverflowTheTableAndStayRight) {
  OwnedSite site;
  for (int round = 0; round < 2; ++round) {
    for (std::int64_t n = 1; n <= 300; ++n) {
      const CpuArray x({n}, ramp(n));
      Handle result;
      TestCall{{x.handle}, {}, {{&result, DType::f32, true}}, add_one_to_input0(), {}}.run(site);
      const OwnedHandle owner(result);
      ASSERT_EQ(result.layout->size, n);
      ASSERT_EQ(static_cast<float*>(result.data)[n - 1], static_cast<float>(n));
    }
  }
  detail::destroy(site);
  EXPECT_EQ(site.table, nullptr);
}

}  // namespace
}  // namespace kiln::dsl
