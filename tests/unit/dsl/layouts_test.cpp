// tests/unit/dsl/layouts_test.cpp -- one address per layout, whoever asks and however many there are.
#include "dsl/layouts.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/unit/dsl/element_numbers.h"

namespace {

using namespace element_numbers;
using kiln::detail::Handle;
using kiln::detail::Layout;

constexpr runtime::DeviceId cpu{runtime::DeviceKind::cpu, 0};

const Layout* intern_shape(const Numbers& shape, DType type = DType::f32, runtime::DeviceId device = cpu) {
  return dsl::intern(type, device, base_view(shape));
}

TEST(Layouts, EqualLayoutsHaveEqualAddresses) {
  const Layout* a = intern_shape({3, 4});
  EXPECT_EQ(a, intern_shape({3, 4}));
  EXPECT_NE(a, intern_shape({4, 3}));
  EXPECT_NE(a, intern_shape({3, 4, 1}));
  EXPECT_NE(a, intern_shape({3, 4}, DType::i32));
  EXPECT_NE(a, intern_shape({3, 4}, DType::f32, {runtime::DeviceKind::cuda, 0}));
  EXPECT_NE(intern_shape({3, 4}, DType::f32, {runtime::DeviceKind::cuda, 0}),
            intern_shape({3, 4}, DType::f32, {runtime::DeviceKind::cuda, 1}));
  Strided moved = base_view({3, 4});
  moved.offset = 5;  // where the elements begin is the handle's matter
  EXPECT_EQ(a, dsl::intern(DType::f32, cpu, moved));
  moved.strides[0] = 5;
  EXPECT_NE(a, dsl::intern(DType::f32, cpu, moved));
}

TEST(Layouts, FieldsDescribeTheElements) {
  const Layout& a = *intern_shape({3, 4}, DType::f64);
  EXPECT_EQ(a.rank, 2);
  EXPECT_EQ(a.size, 12);
  EXPECT_EQ(a.low, 0);
  EXPECT_EQ(a.high, 96);
  EXPECT_TRUE(a.contiguous);
  EXPECT_EQ(a.shape[2], 0);
  EXPECT_EQ(dsl::strided_of(a), base_view({3, 4}));

  const Layout& flipped = *dsl::intern(DType::i16, cpu, flip(base_view({3, 4}), Numbers{0}, here));
  EXPECT_EQ(flipped.low, -16);  // two rows of four i16 before the first one
  EXPECT_EQ(flipped.high, 8);
  EXPECT_FALSE(flipped.contiguous);

  const Layout& scalar = *intern_shape({}, DType::c128);
  EXPECT_EQ(scalar.rank, 0);
  EXPECT_EQ(scalar.size, 1);
  EXPECT_EQ(scalar.high, 16);

  const Layout& empty = *intern_shape({3, 0});
  EXPECT_EQ(empty.size, 0);
  EXPECT_EQ(empty.high, 0);
  EXPECT_TRUE(empty.contiguous);

  const Layout& repeated =
      *dsl::intern(DType::f32, cpu, constant(make_shape("x", Numbers{std::int64_t{1} << 40}, here)));
  EXPECT_EQ(repeated.high, 4);
}

TEST(Layouts, SizesBeyond63BitsAreErrors) {
  const Numbers shape = {std::int64_t{1} << 61};
  EXPECT_THROW(intern_shape(shape, DType::f64), ShapeError);
  EXPECT_EQ(intern_shape(shape, DType::u8)->high, shape[0]);
  const Numbers nine(9, 1);
  EXPECT_THROW(kiln::detail::intern(DType::f32, 0, 0, nine.data(), 9, nullptr), ShapeError);
  const std::int64_t negative = -1, huge_stride = std::int64_t{1} << 62, two = 2, three = 3;
  EXPECT_THROW(kiln::detail::intern(DType::f32, 0, 0, &negative, 1, nullptr), ShapeError);
  EXPECT_THROW(kiln::detail::intern(DType::f32, 0, 0, &three, 1, &huge_stride), ShapeError);
  EXPECT_THROW(kiln::detail::intern(DType::f64, 0, 0, &two, 1, &huge_stride), ShapeError);
}

TEST(Layouts, TheTableGrowsWithoutMovingAnything) {
  std::vector<const Layout*> first;
  for (std::int64_t i = 0; i < 5000; ++i) first.push_back(intern_shape({i, 7}));
  const std::size_t count = interned_layouts();
  for (std::int64_t i = 0; i < 5000; ++i) ASSERT_EQ(first[static_cast<std::size_t>(i)], intern_shape({i, 7})) << i;
  EXPECT_EQ(interned_layouts(), count);
  for (std::int64_t i = 0; i < 5000; ++i) ASSERT_EQ(first[static_cast<std::size_t>(i)]->shape[0], i);
}

TEST(Layouts, ThreadsAgree) {
  constexpr int threads = 4, shapes = 4000;
  std::vector<std::vector<const Layout*>> seen(threads, std::vector<const Layout*>(shapes));
  std::vector<std::thread> running;
  std::atomic<int> ready = 0;
  for (int t = 0; t < threads; ++t) {
    running.emplace_back([&, t] {
      for (++ready; ready < threads;) std::this_thread::yield();
      for (int i = 0; i < shapes; ++i) {
        const int k = (i * 7 + t * 1000) % shapes;  // every thread in another order
        seen[t][k] = intern_shape({k, 11, 13});
      }
    });
  }
  for (std::thread& thread : running) thread.join();
  for (int t = 1; t < threads; ++t) EXPECT_EQ(seen[t], seen[0]);
  for (int i = 0; i < shapes; ++i) ASSERT_EQ(seen[0][i]->shape[0], i);
}

/// A handle over numbers on the stack; the storage only has to exist.
struct Fixture {
  std::vector<float> values = std::vector<float>(12);
  runtime::Storage storage;
  Handle handle{reinterpret_cast<kiln::detail::Storage*>(&storage), values.data(), intern_shape({3, 4})};
};

TEST(Layouts, ViewsMoveTheDataPointer) {
  Fixture f;
  const Numbers item = {slice_is_index, 1, 0, 1, slice_has_start, 2, 0, 1};  // a(1, range(2, none))
  const Handle view = kiln::detail::view_of(f.handle, static_cast<int>(ViewSpec::Kind::slice), item.data(), 8, here);
  EXPECT_EQ(view.data, f.values.data() + 6);
  EXPECT_EQ(view.storage, f.handle.storage);
  EXPECT_EQ(f.storage.references, 1);  // view_of does not retain
  EXPECT_EQ(view.layout, intern_shape({2}));
}

TEST(Layouts, ViewsOfIndexOperandsMoveTheOffset) {
  const Handle iota{nullptr, reinterpret_cast<void*>(80), intern_shape({5}, DType::i64)};
  const Handle view = kiln::detail::view_of(iota, static_cast<int>(ViewSpec::Kind::flip), nullptr, 0, here);
  EXPECT_EQ(view.data, reinterpret_cast<void*>((10 + 4) * 8));  // the value at the first element times 8
  EXPECT_EQ(view.layout->strides[0], -1);
}

TEST(Layouts, ReshapesThatNeedACopySayClone) {
  Fixture f;
  const Handle t = kiln::detail::view_of(f.handle, static_cast<int>(ViewSpec::Kind::transpose), nullptr, 0, here);
  const Numbers flat = {12};
  expect_mentions(message_of<ShapeError>([&] {
                    kiln::detail::view_of(t, static_cast<int>(ViewSpec::Kind::reshape), flat.data(), 1, here);
                  }),
                  {"[reshape]", "(4, 3)", "(1, 4)", "(12,)", "clone()", "main.cpp:7"});
  expect_mentions(message_of<ShapeError>(
                      [&] { kiln::detail::view_of({}, static_cast<int>(ViewSpec::Kind::flip), nullptr, 0, here); }),
                  {"[flip]", "without elements"});
}

TEST(Layouts, BroadcastShapeOfLayouts) {
  const Layout* layouts[] = {intern_shape({3, 1}), intern_shape({4}), intern_shape({})};
  std::int64_t shape[kiln::detail::max_rank];
  ASSERT_EQ(kiln::detail::broadcast_shape(layouts, 3, shape, here), 2);
  EXPECT_EQ(shape[0], 3);
  EXPECT_EQ(shape[1], 4);
}

}  // namespace
