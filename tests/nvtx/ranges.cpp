// tests/nvtx/ranges.cpp -- expressions appear in a profiling tool under the user's names.
//
// usage: ranges RECORDER.so; the recorder is the tool. Status 77: this build has no NVTX.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include <kiln/kiln.h>
#include <kiln/profile.h>

namespace kl = kiln;

namespace {

int failures = 0;

void expect(bool fact, const char* rule, const std::string& seen) {
  if (fact) return;
  ++failures;
  std::printf("FAILED: %s\n  in: %s\n", rule, seen.c_str());
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::size_t count(const std::string& text, char c) {
  std::size_t n = 0;
  for (const char each : text) n += each == c;
  return n;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  setenv("NVTX_INJECTION64_PATH", argv[1], 1);  // as Nsight Systems does
  kl::Array<float> x = kl::ones<float>({64});
  const auto named = kl::jit("scaled_sum", [](auto a, auto b) { return 2 * a + b; });
  kl::Array<float> y = named(x, x);
  void* const tool = dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD);
  if (!tool) {
    std::printf("skipped: built without NVTX headers\n");
    return 77;
  }
  const auto recorded = reinterpret_cast<const char* (*)()>(dlsym(tool, "recorded_ranges"));
  std::string first = recorded();
  expect(contains(first, "domain kiln: "), "ranges are in a domain of kiln's own", first);
  expect(contains(first, "{plan scaled_sum"), "planning the first call has a range", first);
  expect(contains(first, "{scaled_sum (ranges.cpp:"), "a launch is named by the function and its place", first);
  expect(contains(first, "{kiln_flat_"), "inside it is the kernel", first);

  y = named(x, x);
  const std::string second = std::string(recorded()).substr(first.size());
  expect(second.starts_with("{scaled_sum (ranges.cpp:"), "a cached call has a range too", second);
  expect(!contains(second, "plan"), "and plans nothing", second);

  first = recorded();
  y = kl::eval(x * y - 1);
  const std::string third = std::string(recorded()).substr(first.size());
  expect(contains(third, "{expression (ranges.cpp:"), "an expression without a name shows its place", third);

  first = recorded();
  try {
    kl::eval(x + kl::ones<float>({3}));
    expect(false, "shapes that do not fit are refused", "");
  } catch (const kl::ShapeError&) {
  }
  const std::string all = recorded();
  expect(count(all, '{') == count(all, '}'), "every range is closed, also after an error", all);
  return failures == 0 ? 0 : 1;
}
