// tests/unit/dsl/reduction_views_test.cpp -- views, shapes and indices of inline expressions that contain reductions:
// a view applies to the value, never to the operands below a reduction.
#include <memory>
#include <tuple>
#include <utility>

#include <gtest/gtest.h>
#include <kiln/error.h>

#include "tests/support/cpu_compiler.h"
#include "tests/unit/dsl/traced.h"

namespace kiln::dsl {
namespace {

namespace kl = kiln;
using test::message_of;
using test::text_of;

class ReductionViews : public testing::Test {
 protected:
  kl::DeviceGuard cpu_{kl::Device::cpu()};
  kl::Array<float> x_{{3, 4}};
  kl::Array<float> row_{{4}};
};

TEST_F(ReductionViews, ShapesFollowTheReduction) {
  EXPECT_EQ(kl::sum(x_).shape(), (kl::Shape{}));
  EXPECT_EQ(kl::sum(x_, 0).shape(), (kl::Shape{4}));
  EXPECT_EQ(kl::max(x_, -1, kl::keepdims).shape(), (kl::Shape{3, 1}));
  EXPECT_EQ((x_ - kl::max(x_, -1, kl::keepdims)).shape(), (kl::Shape{3, 4}));
  EXPECT_EQ(kl::sum(x_, kl::keepdims).ndim(), 2);
  EXPECT_EQ(kl::sum(x_ + row_, 1).ndim(), 1);
  EXPECT_EQ(kl::cumsum(x_, 0).shape(), (kl::Shape{3, 4}));
  EXPECT_EQ(kl::sum(x_, {}).shape(), (kl::Shape{3, 4}));
  EXPECT_EQ(kl::argmax(x_, 0).shape(), (kl::Shape{4}));
  EXPECT_EQ(kl::reduce(x_, 1, 0, [](auto a, auto b) { return a + b; }).shape(), (kl::Shape{3}));
}

TEST_F(ReductionViews, ViewsAreOfTheResult) {
  const auto sums = kl::sum(x_, 0);
  EXPECT_EQ(text_of(sums.flip()),
            "%0 = f32 input 0\n%1 = f32 reduce sum axis 0 %0\n%2 = f32 view flip() %1\nreturn %2\n");
  EXPECT_EQ(text_of(sums(kl::range(1, 3))),
            "%0 = f32 input 0\n%1 = f32 reduce sum axis 0 %0\n%2 = f32 view slice(1:3:1) %1\nreturn %2\n");
  EXPECT_EQ(sums.reshape({2, -1}).shape(), (kl::Shape{2, 2}));
  EXPECT_EQ(sums.broadcast_to({5, 4}).shape(), (kl::Shape{5, 4}));
  EXPECT_EQ(sums(2).shape(), (kl::Shape{}));
  EXPECT_EQ((x_ / kl::sum(x_, 1, kl::keepdims)).t().shape(), (kl::Shape{4, 3}));
  EXPECT_EQ(kl::cumsum(x_, 1).transpose({1, 0}).flip(0)(1, kl::all).shape(), (kl::Shape{3}));
}

TEST_F(ReductionViews, SqueezeNamesTheAxesThatItDrops) {
  EXPECT_EQ(text_of(kl::sum(x_, 0, kl::keepdims).squeeze()),
            "%0 = f32 input 0\n%1 = f32 reduce sum axis 0 keepdims %0\n%2 = f32 view squeeze(0) %1\nreturn %2\n");
  EXPECT_EQ(text_of(kl::sum(x_, 0).squeeze()), text_of(kl::sum(x_, 0)));
  EXPECT_EQ(kl::sum(x_, kl::keepdims).squeeze().shape(), (kl::Shape{}));
}

TEST_F(ReductionViews, AViewThatDoesNotFitIsRefusedAtOnce) {
  const std::string text = message_of([&] { kl::sum(x_, 0)(7); });
  for (const char* part : {"slice", "index 7", "(4,)", "reduction_views_test.cpp"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in: " << text;
  EXPECT_THROW(kl::sum(x_, 0).t()(0, 0), ShapeError);
  EXPECT_THROW(kl::sum(x_, 1).reshape({4}), ShapeError);
}

TEST_F(ReductionViews, SharedReductionsAreViewedAsAWhole) {
  const auto sums = kl::let(kl::sum(x_, 0));
  EXPECT_EQ(text_of(sums.flip(0)), text_of(kl::sum(x_, 0).flip(0)));
  // Elementwise around it: the array is viewed, and so is the shared value, broadcast to the shape of the whole.
  const auto scaled = x_ * sums;
  EXPECT_EQ(text_of(scaled.t()),
            "%0 = f32 input 0\n%1 = f32 input 1\n%2 = f32 reduce sum axis 0 %1\n"
            "%3 = f32 view broadcast_to(3, 4) %2\n%4 = f32 view transpose() %3\n%5 = f32 mul %0, %4\nreturn %5\n");
  EXPECT_EQ(scaled.t().shape(), (kl::Shape{4, 3}));
  // An elementwise fragment over a shared reduction.
  const auto nested = kl::let(kl::exp(sums + row_));
  EXPECT_EQ(nested(kl::range(0, 2)).shape(), (kl::Shape{2}));
  EXPECT_EQ(text_of(nested(kl::range(0, 2))),
            "%0 = f32 input 1\n%1 = f32 reduce sum axis 0 %0\n%2 = f32 view slice(0:2:1) %1\n%3 = f32 input 0\n"
            "%4 = f32 add %2, %3\n%5 = f32 exp %4\nreturn %5\n");
  EXPECT_EQ(text_of(sums), "%0 = f32 input 0\n%1 = f32 reduce sum axis 0 %0\nreturn %1\n")
      << "the original is untouched";
}

TEST_F(ReductionViews, KeepTheirOperandsAlive) {
  auto x = std::make_unique<kl::Array<float>>(kl::Shape{3, 4});
  auto view = kl::sum(*x, 1).flip();
  x.reset();
  auto copy = view;
  auto moved = std::move(view);
  EXPECT_EQ(text_of(copy), text_of(moved));
  view = copy;
  EXPECT_EQ(view.shape(), (kl::Shape{3}));
}

TEST_F(ReductionViews, ReleaseTheirOperands) {
  const auto references = [&] { return *reinterpret_cast<const long*>(x_.handle().storage); };
  const long before = references();
  {
    const auto shared = kl::let(kl::exp(x_ * kl::sum(x_, 0)));
    const auto rows = kl::max(shared + x_, 1, kl::keepdims).broadcast_to({3, 4}).t();
    auto both = (shared - rows.t())(kl::range(0, 2)).flip();
    both = (shared - rows.t())(kl::range(0, 2)).flip();
    const auto [largest, position] =
        kl::reduce(std::tuple(both, x_(kl::range(0, 2))), 0, std::tuple(0, 0), [](auto a, auto) { return a; });
    EXPECT_EQ(kl::sum(largest.reshape({2, 2}) + position(0), {}).shape(), (kl::Shape{2, 2}));
    EXPECT_THROW(both.reshape({5}), ShapeError);
    EXPECT_GT(references(), before);
  }
  EXPECT_EQ(references(), before);
}

TEST_F(ReductionViews, IndicesCountInTheShapeOfTheValue) {
  KILN_NEEDS_CPU_COMPILER();
  EXPECT_EQ(kl::index(kl::sum(x_, 0), 0).shape(), (kl::Shape{4}));
  EXPECT_EQ(kl::index(kl::max(x_, 1, kl::keepdims), -2).shape(), (kl::Shape{3, 1}));
  EXPECT_THROW(kl::index(kl::sum(x_), 0), ShapeError);
}

TEST_F(ReductionViews, AxesAndFunctionsArePartOfTheKey) {
  const auto tags_of = [](const auto& expression) {
    const detail::Parts parts = expression.parts();
    const Gathered gathered(&parts, 1);
    detail::Call call;
    gathered.fill(call);
    return std::vector<const void*>(call.tags, call.tags + call.tag_count);
  };
  const auto sum = tags_of(kl::sum(x_, 0));
  EXPECT_EQ(sum, tags_of(kl::sum(x_, 0)));
  EXPECT_NE(sum, tags_of(kl::sum(x_, 1)));
  EXPECT_NE(sum, tags_of(kl::sum(x_, 0, kl::keepdims)));
  EXPECT_NE(sum, tags_of(kl::prod(x_, 0)));
  EXPECT_NE(sum, tags_of(kl::sum(x_)));
  EXPECT_NE(tags_of(kl::var(x_)), tags_of(kl::var(x_, kl::ddof(1))));
  const auto add = [](auto a, auto b) { return a + b; };
  const auto multiply = [](auto a, auto b) { return a * b; };
  EXPECT_NE(tags_of(kl::reduce(x_, 0, 0, add)), tags_of(kl::reduce(x_, 0, 0, multiply)));
  EXPECT_NE(tags_of(kl::sum(x_, 0)(kl::range(0, 2))), tags_of(kl::sum(x_, 0)(kl::range(0, 3))));
}

}  // namespace
}  // namespace kiln::dsl
