// tests/device/assignment_test.cpp -- when `=` writes in place and when an array gets other memory: the table of
// docs/semantics.md.
#include <utility>
#include <vector>

#include "tests/support/devices.h"

namespace {

using Floats = std::vector<float>;
const auto successor = kl::jit([](auto x) { return x + 1; });

class Assignment : public OnEachDevice {};
KILN_ON_EACH_DEVICE(Assignment);

/// Whether `b` keeps its memory, where views of it see what is written.
template <class Assign>
bool keeps_memory(kl::Array<float>& b, Assign assign) {
  const float* const before = b.data();
  assign();
  return b.data() == before;
}

TEST_P(Assignment, of_the_same_shape_writes_in_place) {
  const kl::Array<float> a = kl::from_host({1.f, 2.f, 3.f});
  kl::Array<float> b = kl::zeros<float>({3});
  EXPECT_TRUE(keeps_memory(b, [&] { b = a + 1; }));
  EXPECT_TRUE(keeps_memory(b, [&] { b = a; }));
  EXPECT_TRUE(keeps_memory(b, [&] { b = a(kl::range(3)); }));
  EXPECT_TRUE(keeps_memory(b, [&] { b = 0; }));
  EXPECT_TRUE(keeps_memory(b, [&] { successor.into(b)(a); }));
  EXPECT_TRUE(keeps_memory(b, [&] { kl::eval(kl::tie(b), a * 3); }));
  EXPECT_TRUE(keeps_memory(b, [&] { b += a; }));
  EXPECT_TRUE(keeps_memory(b, [&] { b(kl::all) = successor(a); }));
  EXPECT_EQ(b.to_host(), (Floats{2, 3, 4}));
}

TEST_P(Assignment, of_another_shape_or_of_an_array_that_goes_away_gives_other_memory) {
  const kl::Array<float> a = kl::from_host({1.f, 2.f, 3.f});
  kl::Array<float> b = kl::zeros<float>({3});
  const kl::View<float> former = b;
  EXPECT_FALSE(keeps_memory(b, [&] { b = successor(a); }));
  EXPECT_EQ(former.to_host(), (Floats{0, 0, 0})) << "views keep the former memory";
  EXPECT_FALSE(keeps_memory(b, [&] { b = a.clone(); }));
  EXPECT_FALSE(keeps_memory(b, [&] { b = kl::eval(a + 1); }));
  EXPECT_FALSE(keeps_memory(b, [&] { b = a(kl::range(2)); }));
  kl::Array<float> other = kl::zeros<float>({2}), empty;
  const float *const mine = b.data(), *const theirs = other.data();
  std::swap(b, other);
  EXPECT_EQ(b.data(), theirs);
  EXPECT_EQ(other.data(), mine);
  empty = 0;
  EXPECT_EQ(empty.ndim(), 0) << "a default-constructed array becomes one of one element";
  EXPECT_EQ(empty.item(), 0);
}

TEST_P(Assignment, inside_a_capture_only_the_shape_counts) {
  const kl::Array<float> a = kl::from_host({1.f, 2.f, 3.f});
  kl::Array<float> b = kl::zeros<float>({3}), swapped = kl::zeros<float>({3});
  kl::synchronize();
  const kl::Graph g = kl::capture([&] {
    EXPECT_TRUE(keeps_memory(b, [&] { b = successor(a); }));
    EXPECT_TRUE(keeps_memory(b, [&] { b = kl::eval(a + 1); }));
    EXPECT_FALSE(keeps_memory(swapped, [&] { std::swap(b, swapped); })) << "an exchange of names";
  });
  g.launch();
  EXPECT_EQ(swapped.to_host(), (Floats{2, 3, 4}));
}

}  // namespace
