// tests/unit/dsl/shapes_test.cpp -- sizes, ranges and broadcasting.
#include "dsl/shapes.h"

#include <gtest/gtest.h>

#include "tests/unit/dsl/element_numbers.h"

namespace {

using namespace element_numbers;

TEST(Shapes, TextIsPythons) {
  EXPECT_EQ(to_text(Numbers{}), "()");
  EXPECT_EQ(to_text(Numbers{3}), "(3,)");
  EXPECT_EQ(to_text(Numbers{3, 0, 4}), "(3, 0, 4)");
}

TEST(Shapes, ContiguousIsCOrder) {
  expect_same(base_view({2, 3, 4}), base({2, 3, 4}));
  expect_same(base_view({}), base({}));
  EXPECT_TRUE(is_contiguous(base_view({2, 3, 4})));
  EXPECT_TRUE(is_contiguous(base_view({3, 0, 4})));
  EXPECT_FALSE(is_contiguous(transpose(base_view({2, 3}), {}, here)));
  EXPECT_TRUE(is_contiguous(transpose(base_view({1, 3}), {}, here)));  // an axis of extent 1 has no order
  EXPECT_FALSE(is_contiguous(constant(make_shape("array", Numbers{2}, here))));
}

TEST(Shapes, SizesThatOverflowAreErrors) {
  const std::int64_t big = std::int64_t{1} << 32;
  expect_mentions(message_of<ShapeError>([&] { base_view({big, big}); }),
                  {"[array]", "2^63", "(4294967296, 4294967296)", "main.cpp:7"});
  EXPECT_EQ(element_count("array", make_shape("array", Numbers{big, big, 0}, here), here), 0);
  EXPECT_EQ(element_count("array", make_shape("array", Numbers{0, big, big}, here), here), 0);
  const Shape large = make_shape("array", Numbers{std::int64_t{1} << 61}, here);
  EXPECT_EQ(element_range("array", contiguous("array", large, here), 2, here).high, std::int64_t{1} << 61);
  expect_mentions(message_of<ShapeError>([&] { element_range("array", contiguous("array", large, here), 8, here); }),
                  {"2^63 bytes"});
  expect_mentions(message_of<ShapeError>([&] { make_shape("array", Numbers{2, -3}, here); }),
                  {"negative", "-3", "axis 1"});
  expect_mentions(message_of<ShapeError>([&] { make_shape("array", Numbers(9, 1), here); }), {"9 axes", "at most 8"});
}

TEST(Shapes, RangeCoversNegativeStrides) {
  Strided view = base_view({4, 5});
  view = flip(view, Numbers{0}, here);
  const ElementRange range = element_range("flip", view, 4, here);
  EXPECT_EQ(range.low, -15);
  EXPECT_EQ(range.high, 5);
  const ElementRange empty = element_range("array", base_view({4, 0}), 4, here);
  EXPECT_EQ(empty.low, 0);
  EXPECT_EQ(empty.high, 0);
}

TEST(Shapes, BroadcastFollowsNumPy) {
  const auto common = [](std::initializer_list<Numbers> shapes) {
    std::vector<Shape> made;
    for (const Numbers& shape : shapes) made.push_back(make_shape("add", shape, here));
    return to_text(broadcast("add", made, here));
  };
  EXPECT_EQ(common({{256, 256, 3}, {3}}), "(256, 256, 3)");
  EXPECT_EQ(common({{8, 1, 6, 1}, {7, 1, 5}}), "(8, 7, 6, 5)");
  EXPECT_EQ(common({{}, {4}}), "(4,)");
  EXPECT_EQ(common({{1}, {0}}), "(0,)");
  EXPECT_EQ(common({{3, 1}, {1, 4}, {}, {2, 1, 1}}), "(2, 3, 4)");
  EXPECT_EQ(common({}), "()");
  expect_mentions(message_of<ShapeError>([&] { common({{3, 4}, {5}}); }),
                  {"[add]", "(3, 4)", "(5,)", "4 and 5", "main.cpp:7", "reshape"});
  expect_mentions(message_of<ShapeError>([&] { common({{2}, {0}}); }), {"2 and 0"});
  expect_mentions(message_of<ShapeError>([&] { common({{1}, {7, 1, 2}, {3, 1, 4}}); }),
                  {"(7, 1, 2)", "(3, 1, 4)", "2 and 4"});
}

TEST(Shapes, BroadcastToRepeatsElements) {
  const Reference a = base({3, 1});
  const Strided view = broadcast_to("broadcast_to", base_view({3, 1}), make_shape("x", Numbers{2, 3, 4}, here), here);
  expect_same(view, gather(a, {2, 3, 4}, [](const Numbers& i) { return Numbers{i[1], 0}; }));
  expect_same(broadcast_to("broadcast_to", base_view({1}), make_shape("x", Numbers{0}, here), here), base({0}));
  expect_mentions(message_of<ShapeError>([&] {
                    broadcast_to("broadcast_to", base_view({3, 2}), make_shape("x", Numbers{2}, here), here);
                  }),
                  {"(3, 2)", "(2,)", "cannot be dropped", "main.cpp:7"});
  expect_mentions(message_of<ShapeError>(
                      [&] { broadcast_to("broadcast_to", base_view({3}), make_shape("x", Numbers{4}, here), here); }),
                  {"(3,)", "(4,)"});
}

}  // namespace
