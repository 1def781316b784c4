// tests/device/error_places_test.cpp -- every message names the user's line, the types as written, and what to do.
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/support/devices.h"
#include "tests/support/messages.h"

namespace {

using messages::message_of;

class ErrorPlaces : public OnEachDevice {};
KILN_ON_EACH_DEVICE(ErrorPlaces);

std::string at(int line) { return "error_places_test.cpp:" + std::to_string(line) + ")"; }

#define EXPECT_NAMES(message, text) EXPECT_NE((message).find(text), std::string::npos) << (message)

TEST_P(ErrorPlaces, operators_that_do_not_know_their_line_take_that_of_the_evaluation) {
  kl::Array<float> a({6});
  kl::Array<std::int32_t> b({5});
  EXPECT_NAMES(message_of([&] { kl::eval(a == b); }), at(__LINE__));
  EXPECT_NAMES(message_of([&] { kl::Array<bool> different = a != b; }), at(__LINE__));
}

TEST_P(ErrorPlaces, operators_know_their_line_when_the_assignment_does_not) {
  kl::Array<float> a({6}), b({5});
  kl::Array<bool> different;
  kl::Array<std::int8_t> small({2}), sums;
  kl::View<float> five = b;
  EXPECT_NAMES(message_of([&] { different = a == b; }), at(__LINE__));
  EXPECT_NAMES(message_of([&] { different = a != b; }), at(__LINE__));
  EXPECT_NAMES(message_of([&] { five = 2.0f + a; }), at(__LINE__));
  EXPECT_NAMES(message_of([&] { sums = 300 + small; }), at(__LINE__));
  EXPECT_NAMES(message_of([&] { five = kl::lit(2) < a; }), at(__LINE__));
  kl::View<bool> five_flags = different = kl::zeros<bool>({5});
  EXPECT_NAMES(message_of([&] { five_flags = a == 2.0f; }), at(__LINE__));
  EXPECT_NAMES(message_of([&] { five_flags = 2 != a; }), at(__LINE__));
}

TEST_P(ErrorPlaces, numbers_arrays_and_views_on_the_right_carry_their_line) {
  kl::Array<std::int8_t> small({2, 2});
  kl::View<std::int8_t> all = small;
  kl::Array<float> f({2, 3}), g({2, 3}), unset;
  kl::View<float> row = f(0);
  const kl::View<const float> fixed = g;
  EXPECT_NAMES(message_of([&] { small = 300; }), at(__LINE__));
  EXPECT_NAMES(message_of([&] { all = 300; }), at(__LINE__));
  EXPECT_NAMES(message_of([&] { small(0) = 300; }), at(__LINE__));
  EXPECT_NAMES(message_of([&] { small(0, 1) = kl::lit(300); }), at(__LINE__));
  EXPECT_NAMES(message_of([&] { f(0) = g; }), at(__LINE__));
  EXPECT_NAMES(message_of([&] { row = g; }), at(__LINE__));
  EXPECT_NAMES(message_of([&] { row = fixed; }), at(__LINE__));
  EXPECT_NAMES(message_of([&] { row = g(kl::all, kl::all); }), at(__LINE__));
  EXPECT_NAMES(message_of([&] { f(0) = row.reshape({3, 1}); }), at(__LINE__));
  EXPECT_NAMES(message_of([&] { f(0) = kl::Array<int>({2, 3}); }), at(__LINE__));
  EXPECT_NAMES(message_of([&] { f.broadcast_to({2, 2, 3}) = f; }), at(__LINE__));
  EXPECT_NAMES(message_of([&] { f.broadcast_to({2, 2, 3}) = 1; }), at(__LINE__));
  EXPECT_NAMES(message_of([&] { row = unset; }), at(__LINE__));
  kl::View<float> moved = f;
  const kl::View<float> taken = std::move(moved);
  EXPECT_NAMES(message_of([&] { moved = g; }), at(__LINE__));
  EXPECT_NAMES(message_of([&] { moved = g; }), "take the view again");
  EXPECT_NAMES(message_of([&] { moved = 1; }), at(__LINE__));
}

// Rule: an array takes the place along of what it is assigned; only of a variable of its own type it needs none.
TEST_P(ErrorPlaces, arrays_know_the_line_where_they_are_assigned) {
  kl::Array<float> f({2, 3});
  kl::Array<int> none;
  const kl::Array<int> nothing;
  kl::View<float> moved = f;
  const kl::View<float> taken = std::move(moved);
  EXPECT_NAMES(message_of([&] { f = none; }), at(__LINE__));
  EXPECT_NAMES(message_of([&] { f = nothing; }), at(__LINE__));
  EXPECT_NAMES(message_of([&] { f = kl::Array<double>(); }), at(__LINE__));
  EXPECT_NAMES(message_of([&] { f = moved; }), at(__LINE__));
  const float* const data = f.data();
  f = kl::full<int>({2, 3}, 4);
  EXPECT_EQ(f.data(), data) << "computed into the memory that is there";
  EXPECT_EQ(f.to_host(), (std::vector<float>(6, 4)));
  f = kl::View<const float>(f)(1);
  EXPECT_EQ(f.to_host(), (std::vector<float>(3, 4))) << "another shape reallocates";
  f = {};
  EXPECT_EQ(f.size(), 0);
}

// Rule: containers and algorithms that assign say that they did, and that this writes elements.
TEST_P(ErrorPlaces, views_in_containers_say_that_assigning_writes) {
  kl::Array<float> f = kl::zeros<float>({2, 3}), g = kl::ones<float>({2, 2});
  struct Holder {
    kl::View<float> view;
  };
  std::vector<kl::View<float>> views{f(0), f(1)};
  views.reserve(8);
  const std::string inserted = message_of([&] { views.insert(views.begin(), g(0)); });
  EXPECT_NAMES(inserted, " of the C++ library)");
  EXPECT_NAMES(inserted, "by assigning, which writes elements");
  Holder one{f(0)}, other{g(0)};
  const std::string swapped = message_of([&] { std::swap(one, other); });
  EXPECT_NAMES(swapped, "by assigning, which writes elements");
}

TEST_P(ErrorPlaces, views_of_another_device_name_the_line_of_the_assignment) {
  if (!on_gpu()) GTEST_SKIP() << "needs two devices";
  kl::Array<float> here({3}), there({3}, kl::Device::cpu());
  kl::View<float> view = here;
  EXPECT_NAMES(message_of([&] { view = there; }), at(__LINE__));
  EXPECT_NAMES(message_of([&] { here(kl::range(0, 3)) = there; }), at(__LINE__));
}

TEST_P(ErrorPlaces, scalars_that_do_not_fit_name_their_operation) {
  kl::Array<std::int8_t> small({2});
  EXPECT_NAMES(message_of([&] { small = 300; }), "assignment: the scalar 300 (i32) does not fit i8");
  EXPECT_NAMES(message_of([&] { kl::eval(small + 300); }), "kl::add: the scalar 300 (i32) does not fit i8");
  EXPECT_NAMES(message_of([&] { small *= 300; }), "kl::mul: the scalar 300");
  EXPECT_NAMES(message_of([&] { kl::eval(kl::clip(small, 0, 300)); }), "kl::clip: the scalar 300");
  EXPECT_NAMES(message_of([&] { kl::eval(kl::where(small > 0, small, 300)); }), "kl::where: the scalar 300");
  const auto f = kl::jit([](auto a, auto k) { return a - k; });
  EXPECT_NAMES(message_of([&] { f(small, 300); }), "kl::sub: the scalar 300");
  const auto g = kl::jit([](auto a) { return a - 300; });
  EXPECT_NAMES(message_of([&] { g(small); }), "kl::sub: the scalar 300");
}

TEST_P(ErrorPlaces, assignments_that_carry_their_line_still_write) {
  kl::Array<float> f = kl::zeros<float>({2, 3}), g = kl::full({3}, 2.0f);
  kl::View<float> row = f(0);
  struct Holder {
    kl::View<float> view;
  };
  row = 1;
  f(1) = g;
  EXPECT_EQ(f.to_host(), (std::vector<float>{1, 1, 1, 2, 2, 2}));
  row = kl::full<double>({1}, 4.0);
  EXPECT_EQ(f.to_host(), (std::vector<float>{4, 4, 4, 2, 2, 2})) << "broadcasts and converts";
  row = f(1);
  EXPECT_EQ(f.to_host(), (std::vector<float>{2, 2, 2, 2, 2, 2}));
  kl::View<float> first = f(kl::all, 0), last = f(kl::all, 2);
  last = 5;
  first = last;
  EXPECT_EQ(f.to_host(), (std::vector<float>{5, 2, 5, 5, 2, 5})) << "of two variables";
  Holder one{f(kl::all, 1)};
  const Holder other{f(kl::all, 0)};
  one = other;
  EXPECT_EQ(f.to_host(), (std::vector<float>{5, 5, 5, 5, 5, 5})) << "of members";
  one = Holder{kl::zeros<float>({2})(kl::all)};
  EXPECT_EQ(f.to_host(), (std::vector<float>{5, 0, 5, 5, 0, 5}));
  kl::Array<int> counts = kl::zeros<int>({2});
  counts = 2.75;
  EXPECT_EQ(counts.to_host(), (std::vector<int>{2, 2})) << "a float given to integers is truncated as by a cast";
  kl::Array<float> scalar;
  scalar = 3;
  EXPECT_EQ(scalar.ndim(), 0);
  EXPECT_EQ(scalar.item(), 3);
}

TEST_P(ErrorPlaces, expressions_are_assigned_to_variables) {
  const kl::Array<float> x = kl::full({2}, 3.0f);
  auto e = x * 1;
  auto other = x * 2;
  e = other;
  EXPECT_EQ(kl::eval(e).to_host(), (std::vector<float>{6, 6}));
  e = x * 4;
  EXPECT_EQ(kl::eval(e).to_host(), (std::vector<float>{12, 12}));
  e = std::move(other);
  EXPECT_EQ(kl::eval(e).to_host(), (std::vector<float>{6, 6}));
}

TEST_P(ErrorPlaces, slices_name_their_line) {
  kl::Array<float> a({6});
  const kl::Array<float> c({6});
  EXPECT_NAMES(message_of([&] { a(7); }), at(__LINE__));
  EXPECT_NAMES(message_of([&] { c(kl::range(0, 6, 0)); }), at(__LINE__));
  EXPECT_NAMES(message_of([&] { (a + c)(kl::all, 0); }), at(__LINE__));
  EXPECT_NAMES(message_of([&] { a(kl::all)(-7); }), at(__LINE__));
}

TEST_P(ErrorPlaces, functions_name_a_line_of_the_lambda) {
  const int line = __LINE__ + 1;
  const auto f = kl::jit([](auto x, auto s) { return x + s; });
  const kl::Array<std::int8_t> x = kl::zeros<std::int8_t>({4});
  kl::Array<std::int8_t> three({3});
  EXPECT_NAMES(message_of([&] { f.into(three)(x, 1); }), at(line));
  EXPECT_NAMES(message_of([&] { f(x, 300); }), at(line));
  EXPECT_EQ(f(x, 5).to_host(), (std::vector<std::int8_t>(4, 5))) << "usable after the errors";
}

TEST_P(ErrorPlaces, shapes_come_with_the_types_before_promotion) {
  kl::Array<float> a({6});
  kl::Array<std::int32_t> b({5});
  const std::string message = message_of([&] { kl::eval(a * b); });
  EXPECT_NAMES(message, "(6,) of f32");
  EXPECT_NAMES(message, "(5,) of i32");
}

TEST_P(ErrorPlaces, an_axis_of_a_scalar_is_not_a_range_from_0_to_minus_1) {
  const auto f = kl::jit([](auto x) { return kl::index(x, 0); });
  EXPECT_NAMES(message_of([&] { f(kl::full<float>({}, 1.f)); }), "without axes");
}

TEST_P(ErrorPlaces, a_refused_scalar_leaves_every_output_as_it_was) {
  kl::Array<std::int8_t> four = kl::zeros<std::int8_t>({4}), two = kl::zeros<std::int8_t>({2});
  EXPECT_THROW(kl::eval(kl::tie(four, two), four + 1, two + 300), kl::TypeError);
  EXPECT_EQ(four.to_host(), (std::vector<std::int8_t>(4, 0))) << "outputs of different shapes are several kernels";
  EXPECT_EQ(two.to_host(), (std::vector<std::int8_t>(2, 0)));
}

TEST(ErrorPlacesWithoutGpu, a_missing_gpu_names_the_way_to_the_cpu) {
  if (kl::Device::cuda(0).is_available()) GTEST_SKIP() << "there is a GPU here";
  EXPECT_NAMES(message_of([] { kl::Array<float> a({3}, kl::Device::cuda(0)); }), "KILN_DEVICE=cpu");
}

TEST_P(ErrorPlaces, inspections_name_the_line_that_asks) {
  if (on_gpu()) GTEST_SKIP() << "texts are the same, and a compile each";
  const kl::Array<float> x = kl::ones<float>({4});
  const auto f = kl::jit([](auto a, auto b) { return a + b; });
  const auto g = kl::ufunc([](auto a) { return a + 1; });
  const auto h = kl::gufunc<"(n)->()">([](auto a) { return kl::sum(a); });
  const auto many = kl::jit([](auto... a) { return (a + ...); });
  EXPECT_NAMES(std::string(f.inspect(x, 2).explain()), at(__LINE__));
  EXPECT_NAMES(std::string(g.inspect(x).explain()), at(__LINE__));
  EXPECT_NAMES(std::string(h.inspect(x).explain()), at(__LINE__));
  EXPECT_NAMES(std::string(many.inspect(x, x, x, x, x, x, x, x).explain()), at(__LINE__));
  EXPECT_NAMES(std::string(f.inspect_for("cpu", x, 2).explain()), at(__LINE__));
  const std::string nine(many.inspect(x, x, x, x, x, x, x, x, x).explain());
  EXPECT_EQ(nine.find("jit"), std::string::npos) << "a line of kiln's says nothing: " << nine;
}

TEST_P(ErrorPlaces, reductions_know_their_line) {
  kl::Array<float> x({3, 4}), none({0, 4});
  EXPECT_NAMES(message_of([&] { kl::eval(kl::sum(x, 2)); }), at(__LINE__));
  EXPECT_NAMES(message_of([&] { kl::eval(kl::sum(x, 2)); }), at(__LINE__));
  EXPECT_NAMES(message_of([&] { kl::eval(x + kl::sum(x, 1)); }), at(__LINE__));
  EXPECT_NAMES(message_of([&] { kl::eval(1 + kl::cumsum(x)); }), at(__LINE__));
  EXPECT_NAMES(message_of([&] { kl::sum(x, 0)(9); }), at(__LINE__));
  EXPECT_NAMES(message_of([&] { kl::index(kl::sum(x, 0), 1); }), at(__LINE__));
  EXPECT_NAMES(message_of([&] { kl::eval(kl::max(none, 0)); }), at(__LINE__));
  EXPECT_NAMES(message_of([&] { kl::eval(kl::max(none, 0)); }), at(__LINE__));
  EXPECT_NAMES(message_of([&] { kl::eval(kl::max(none, 0)); }), "kl::max");
  const auto largest = kl::jit([](auto v) {
    return kl::max(v, 0) + 1;  // named, since the call does not know its own line
  });
  EXPECT_NAMES(message_of([&] { largest(none); }), at(__LINE__ - 2));
}

TEST_P(ErrorPlaces, functions_of_several_values_are_named_as_they_were_called) {
  kl::Array<float> x({3, 4}), y({3, 5});
  const auto pairs = [](auto a, auto b) {
    return std::tuple(std::get<0>(a) + std::get<0>(b), std::get<1>(a) + std::get<1>(b));
  };
  const auto reduced = [&] { kl::eval(std::get<0>(kl::reduce(std::tuple(x, y), 1, std::tuple(0, 0), pairs))); };
  const auto running = [&] { kl::eval(std::get<0>(kl::scan(std::tuple(x, y), 1, std::tuple(0, 0), pairs))); };
  EXPECT_NAMES(message_of(reduced), "kl::reduce: operands of shapes");
  EXPECT_NAMES(message_of(running), "kl::scan: operands of shapes");
}

}  // namespace
