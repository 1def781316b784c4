// tests/unit/dsl/views_test.cpp -- views against a reference that moves element numbers about one by one.
#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <random>

#include "tests/unit/dsl/element_numbers.h"

namespace {

using namespace element_numbers;

TEST(Views, TransposePermutes) {
  const Reference a = base({2, 3, 4});
  expect_same(transpose(base_view({2, 3, 4}), {}, here),
              gather(a, {4, 3, 2}, [](const Numbers& i) { return Numbers{i[2], i[1], i[0]}; }));
  expect_same(transpose(base_view({2, 3, 4}), Numbers{1, -1, 0}, here),
              gather(a, {3, 4, 2}, [](const Numbers& i) { return Numbers{i[2], i[0], i[1]}; }));
  expect_mentions(message_of<ShapeError>([&] { transpose(base_view({2, 3}), Numbers{0, -2}, here); }),
                  {"[transpose]", "(0, -2)", "twice"});
  expect_mentions(message_of<ShapeError>([&] { transpose(base_view({2, 3}), Numbers{0}, here); }), {"(0,)", "(2, 3)"});
  expect_mentions(message_of<ShapeError>([&] { transpose(base_view({2, 3}), Numbers{0, 2}, here); }),
                  {"axis 2", "-2 to 1"});
}

TEST(Views, SqueezeUnsqueezeFlip) {
  const Reference a = base({1, 3, 1, 2});
  const Strided view = base_view({1, 3, 1, 2});
  expect_same(squeeze(view, {}, here), Reference{{3, 2}, a.elements});
  expect_same(squeeze(view, Numbers{-2}, here), Reference{{1, 3, 2}, a.elements});
  expect_same(unsqueeze(base_view({3, 2}), Numbers{0}, here), Reference{{1, 3, 2}, base({3, 2}).elements});
  expect_same(unsqueeze(base_view({3, 2}), Numbers{-1}, here), Reference{{3, 2, 1}, base({3, 2}).elements});
  expect_same(unsqueeze(base_view({3, 2}), Numbers{0, 2}, here), Reference{{1, 3, 1, 2}, base({3, 2}).elements});
  expect_same(flip(base_view({3, 2}), Numbers{0}, here),
              gather(base({3, 2}), {3, 2}, [](const Numbers& i) { return Numbers{2 - i[0], i[1]}; }));
  expect_same(flip(base_view({3, 2}), {}, here),
              gather(base({3, 2}), {3, 2}, [](const Numbers& i) { return Numbers{2 - i[0], 1 - i[1]}; }));
  EXPECT_EQ(flip(base_view({3, 0}), {}, here).offset, 0);
  expect_mentions(message_of<ShapeError>([&] { squeeze(view, Numbers{1}, here); }),
                  {"[squeeze]", "axis 1", "3 elements", "main.cpp:7"});
  expect_mentions(message_of<ShapeError>([&] { unsqueeze(base_view(Numbers(8, 1)), Numbers{0}, here); }),
                  {"rank 9", "at most 8"});
  expect_mentions(message_of<ShapeError>([&] { flip(base_view({}), Numbers{0}, here); }), {"has no axes"});
  expect_mentions(message_of<ShapeError>([&] { unsqueeze(base_view({3}), Numbers{3}, here); }), {"axis 3"});
}

TEST(Views, SliceMatchesPythonExhaustively) {
  for (std::int64_t n = 0; n <= 4; ++n) {
    for (std::int64_t step = -5; step <= 5; ++step) {
      if (step == 0) continue;
      for (int start = -7; start <= 7; ++start) {
        for (int stop = -7; stop <= 7; ++stop) {
          Item item;  // 7 stands for an absent bound
          item.has_start = start != 7;
          item.has_stop = stop != 7;
          item.start = start;
          item.stop = stop;
          item.step = step;
          const Strided view = slice(base_view({n}), std::vector{item}, here);
          ASSERT_EQ(read(view).elements, walk_slice(item, n)) << n << ": " << start << ":" << stop << ":" << step;
        }
      }
    }
  }
}

TEST(Views, SliceKnownValues) {
  const auto picked = [](std::optional<int> start, std::optional<int> stop, std::int64_t step) {
    const Item item{false, start.has_value(), stop.has_value(), start.value_or(0), stop.value_or(0), step};
    return read(slice(base_view({10}), std::vector{item}, here)).elements;
  };
  EXPECT_EQ(picked(1, 7, 2), (Numbers{1, 3, 5}));  // the examples of NumPy's indexing guide
  EXPECT_EQ(picked(-2, 10, 1), (Numbers{8, 9}));
  EXPECT_EQ(picked(-3, 3, -1), (Numbers{7, 6, 5, 4}));
  EXPECT_EQ(picked(5, {}, 1), (Numbers{5, 6, 7, 8, 9}));
  EXPECT_EQ(picked({}, {}, -4), (Numbers{9, 5, 1}));
  EXPECT_EQ(picked(20, {}, -20), (Numbers{9}));
}

TEST(Views, SliceExtremesDoNotOverflow) {
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                         most = std::numeric_limits<std::int64_t>::max();
  const auto picked = [](const Item& item) { return read(slice(base_view({5}), std::vector{item}, here)).elements; };
  EXPECT_EQ(picked({false, true, true, least, most, 1}), (Numbers{0, 1, 2, 3, 4}));
  EXPECT_EQ(picked({false, true, true, most, least, -1}), (Numbers{4, 3, 2, 1, 0}));
  EXPECT_EQ(picked({false, false, false, 0, 0, least}), (Numbers{4}));
  EXPECT_EQ(picked({false, false, false, 0, 0, most}), (Numbers{0}));
  EXPECT_EQ(picked({false, true, true, most, most, most}), Numbers{});
}

TEST(Views, SliceErrorsSayWhatToDo) {
  const Item index{true, false, false, 4, 0, 1}, zero_step{false, false, false, 0, 0, 0};
  expect_mentions(message_of<ShapeError>([&] { slice(base_view({3, 4}), std::vector{index}, here); }),
                  {"[slice]", "index 4", "axis 0", "(3, 4)", "-3 to 2", "main.cpp:7"});
  expect_mentions(message_of<ShapeError>([&] { slice(base_view({4, 0}), std::vector{Item{}, index}, here); }),
                  {"axis 1 is empty"});
  expect_mentions(message_of<ShapeError>([&] { slice(base_view({3}), std::vector{zero_step}, here); }),
                  {"step", "axis 0", "-1"});
  expect_mentions(message_of<ShapeError>([&] { slice(base_view({3}), std::vector<Item>(2), here); }),
                  {"2 indices", "(3,)"});
}

TEST(Views, EmptySlicesStayInsideTheirMemory) {
  const Item past_end{false, true, false, 3, 0, 1}, backwards{false, true, true, 0, 2, -1};
  EXPECT_EQ(slice(base_view({3, 4}), std::vector{past_end}, here).offset, 0);
  EXPECT_EQ(slice(base_view({3, 4}), std::vector{Item{}, backwards}, here).offset, 0);
}

TEST(Views, ReshapeErrors) {
  const Strided view = base_view({3, 4});
  expect_mentions(message_of<ShapeError>([&] { reshape(view, Numbers{5, 3}, here); }),
                  {"[reshape]", "12", "(3, 4)", "(5, 3)", "main.cpp:7"});
  expect_mentions(message_of<ShapeError>([&] { reshape(view, Numbers{5, -1}, here); }), {"(5, -1)", "divide"});
  expect_mentions(message_of<ShapeError>([&] { reshape(view, Numbers{-1, -1}, here); }), {"at most one", "-1"});
  expect_mentions(message_of<ShapeError>([&] { reshape(view, Numbers{-2, 6}, here); }), {"(-2, 6)", "0 or more"});
  expect_mentions(message_of<ShapeError>([&] { reshape(base_view({0}), Numbers{0, -1}, here); }), {"(0, -1)"});
  expect_mentions(message_of<ShapeError>([&] { reshape(base_view({1}), Numbers(9, 1), here); }), {"9 axes"});
  const std::int64_t big = std::int64_t{1} << 40;
  expect_mentions(message_of<ShapeError>([&] { reshape(view, Numbers{big, big}, here); }), {"2^63"});
  EXPECT_EQ(to_text(reshaped(view.shape, Numbers{2, -1}, here)), "(2, 6)");
  EXPECT_EQ(to_text(reshaped(make_shape("x", Numbers{0, 3}, here), Numbers{-1}, here)), "(0,)");
}

/// A reshape without a copy exists exactly if addresses are affine in the new indices.
bool is_affine(const Reference& elements) {
  if (elements.elements.empty()) return true;
  Numbers strides(elements.shape.size(), 0);
  const Numbers zero(elements.shape.size(), 0);
  const std::int64_t offset = at(elements, zero);
  for (std::size_t i = 0; i < strides.size(); ++i) {
    Numbers unit = zero;
    unit[i] = 1;
    if (elements.shape[i] > 1) strides[i] = at(elements, unit) - offset;
  }
  bool affine = true;
  for_each_index(elements.shape, [&](const Numbers& index) {
    std::int64_t address = offset;
    for (std::size_t i = 0; i < index.size(); ++i) address += index[i] * strides[i];
    affine = affine && address == at(elements, index);
  });
  return affine;
}

class RandomViews {
 public:
  explicit RandomViews(unsigned seed) : random_(seed) {}
  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }

  /// Another shape with the same number of elements.
  Numbers other_shape(std::int64_t count) {
    if (count == 0) return {pick(0, 3), 0, pick(0, 2)};
    Numbers shape;
    while (count > 1 && shape.size() < 5) {
      std::int64_t factor = pick(1, 4);
      if (count % factor != 0) factor = 1;
      shape.push_back(factor);
      count /= factor;
    }
    shape.insert(shape.begin() + pick(0, static_cast<std::int64_t>(shape.size())), count);
    return shape;
  }

  /// One random view of both; false when the reshape is impossible (and must be).
  bool step(Strided& view, Reference& a) {
    const std::int64_t rank = static_cast<std::int64_t>(a.shape.size());
    switch (pick(0, 4)) {
      case 0: {
        Numbers axes;
        for (std::int64_t i = 0; i < rank; ++i) axes.insert(axes.begin() + pick(0, i), i);
        Numbers shape;
        for (const auto axis : axes) shape.push_back(a.shape[static_cast<std::size_t>(axis)]);
        a = gather(a, shape, [&](const Numbers& index) {
          Numbers source(index.size());
          for (std::size_t i = 0; i < index.size(); ++i) source[static_cast<std::size_t>(axes[i])] = index[i];
          return source;
        });
        view = transpose(view, axes, here);
        return true;
      }
      case 1: {
        std::vector<Item> items;
        for (std::int64_t i = 0, n = pick(0, rank); i < n; ++i) {
          const std::int64_t extent = a.shape[static_cast<std::size_t>(i)];
          Item item{
              extent > 0 && pick(0, 4) == 0, pick(0, 1) == 1, pick(0, 1) == 1, pick(-6, 6), pick(-6, 6), pick(1, 3)};
          if (pick(0, 2) == 0) item.step = -item.step;
          if (item.is_index) item.start = pick(-extent, extent - 1);
          items.push_back(item);
        }
        a = slice_reference(a, items);
        view = slice(view, items, here);
        return true;
      }
      case 2: {
        if (rank >= max_rank) return true;
        const std::int64_t extra = pick(1, 3);
        Numbers shape = a.shape;
        shape.insert(shape.begin(), extra);
        a = gather(a, shape, [](const Numbers& index) { return Numbers(index.begin() + 1, index.end()); });
        view = broadcast_to("broadcast_to", view, make_shape("x", shape, here), here);
        return true;
      }
      default: {
        const Numbers shape = other_shape(product(a.shape));
        const Reference expected{shape, a.elements};
        const std::optional<Strided> reshaped_view = reshape(view, shape, here);
        EXPECT_EQ(reshaped_view.has_value(), is_affine(expected)) << to_text(a.shape) << " to " << to_text(shape);
        if (!reshaped_view) return false;
        a = expected;
        view = *reshaped_view;
        return true;
      }
    }
  }

 private:
  std::mt19937_64 random_;
};

TEST(Views, RandomChainsMatchTheReference) {
  for (unsigned seed = 0; seed < 3000; ++seed) {
    RandomViews random(seed);
    Numbers shape;
    for (std::int64_t i = 0, rank = random.pick(0, 4); i < rank; ++i) shape.push_back(random.pick(i == 0 ? 0 : 1, 4));
    Strided view = base_view(shape);
    Reference a = base(shape);
    for (int step = 0; step < 4 && random.step(view, a); ++step) {
      expect_same(view, a);
      if (HasFailure()) FAIL() << "seed " << seed << ", step " << step;
    }
  }
}

TEST(Views, SpecsDecodeAndApply) {
  const Numbers numbers = {slice_is_index, -1, 99, 99, slice_has_stop, 99, 2, 1};
  const ViewSpec spec = make_view_spec(static_cast<int>(ViewSpec::Kind::slice), numbers.data(), 8);
  ASSERT_EQ(spec.items.size(), 2u);
  EXPECT_TRUE(spec.items[0].is_index);
  EXPECT_EQ(spec.items[0].stop, 0);  // unread numbers are cleared: equal views are equal data
  EXPECT_EQ(spec.items[1].start, 0);
  const Strided view = base_view({3, 4});
  EXPECT_EQ(read(*apply_view(view, spec, here)).elements, (Numbers{8, 9}));
  EXPECT_EQ(*apply_view(view, static_cast<int>(ViewSpec::Kind::slice), numbers.data(), 8, here),
            *apply_view(view, spec, here));
  const Numbers shape = {2, -1};
  const ViewSpec reshape_spec = make_view_spec(static_cast<int>(ViewSpec::Kind::reshape), shape.data(), 2);
  EXPECT_EQ(to_text(viewed_shape(view.shape, reshape_spec, here)), "(2, 6)");
  EXPECT_FALSE(apply_view(transpose(view, {}, here), reshape_spec, here).has_value());
  EXPECT_THROW(make_view_spec(8, nullptr, 0), InternalError);
  const Numbers too_many(4 * 12, 1);
  EXPECT_THROW(apply_view(view, static_cast<int>(ViewSpec::Kind::slice), too_many.data(), 48, here), ShapeError);
}

TEST(Views, ExpressionsOfAnySizeHaveShapes) {
  const std::int64_t big = std::int64_t{1} << 31;
  const Numbers merged = {big * big};
  const ViewSpec spec = make_view_spec(static_cast<int>(ViewSpec::Kind::reshape), merged.data(), 1);
  EXPECT_EQ(to_text(viewed_shape(make_shape("x", Numbers{big, big}, here), spec, here)), "(4611686018427387904,)");
}

}  // namespace
