// tests/unit/runtime/bundle_embedded_test.cpp -- registering bundles that lie in the memory of a process.
#include "runtime/bundle/embedded.h"

#include <deque>
#include <set>
#include <thread>
#include <vector>

#include "tests/unit/runtime/bundle_test_support.h"

namespace kiln::runtime {
namespace {

using namespace test_support;

std::size_t count_bundles() {
  std::size_t count = 0;
  for (const kiln_embedded_bundle* bundle = embedded_bundles(); bundle; bundle = bundle->next) ++count;
  return count;
}

// Before any static object of this program that is made by running code: the list needs none.
__attribute__((constructor(101))) void register_early() {
  static kiln_embedded_bundle early = {"", 0, "early", nullptr};
  kiln_register_bundle(&early);
}
const std::size_t known_at_start = count_bundles();

TEST(BundleEmbeddedTest, RegistrationNeedsNoStaticObjects) { EXPECT_EQ(known_at_start, 1u); }

TEST(BundleEmbeddedTest, NewestComesFirstAndCanBeRead) {
  static const std::string bytes = small_bundle();
  static kiln_embedded_bundle bundle = {bytes.data(), bytes.size(), "small.klb (embedded)", nullptr};
  const kiln_embedded_bundle* const before = embedded_bundles();
  kiln_register_bundle(&bundle);
  ASSERT_EQ(embedded_bundles(), &bundle);
  EXPECT_EQ(bundle.next, before);
  const auto reader = BundleReader::from_memory({static_cast<const char*>(bundle.data), bundle.bytes}, bundle.name);
  EXPECT_EQ(reader->kernels().size(), small_samples().size());
}

TEST(BundleEmbeddedTest, ManyThreadsMayRegister) {
  constexpr std::size_t threads = 4, each = 1000;
  static std::deque<kiln_embedded_bundle> bundles(threads * each);
  const std::size_t before = count_bundles();
  std::vector<std::thread> running;
  for (std::size_t t = 0; t < threads; ++t)
    running.emplace_back([t] {
      for (std::size_t i = 0; i < each; ++i) kiln_register_bundle(&bundles[t * each + i]);
    });
  for (std::thread& thread : running) thread.join();
  EXPECT_EQ(count_bundles(), before + threads * each);
}

}  // namespace
}  // namespace kiln::runtime
