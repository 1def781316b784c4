// tests/ahead/ahead_of_time.cpp -- f.compile<...> fills the disk cache for GPUs that are not here, with the kernels
// that later calls use.
//
// usage: ahead_of_time EMPTY_DIRECTORY; exits with 77 where a compiler is missing: NVRTC, or the CPU's.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <kiln/kiln.h>

namespace kl = kiln;

namespace {

int entries(const std::filesystem::path& directory) {
  int count = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(directory))
    count += file.is_regular_file() && file.path().extension() == ".kernel";
  return count;
}

int failures = 0;
void expect_entries(const std::filesystem::path& directory, int wanted, const char* rule) {
  const int found = entries(directory);
  if (found == wanted) return;
  std::printf("%s: expected %d entries, found %d\n", rule, wanted, found);
  ++failures;
}

const auto saxpy = kl::jit("saxpy", [](auto a, auto x, auto y) { return a * x + y; });
const auto other_saxpy = kl::jit("other", [](auto a, auto x, auto y) { return a * x + y; });

int run(const std::filesystem::path& cache) {
  using Matrix = kl::Sig<float, 2>;
  saxpy.compile<float, Matrix, Matrix>({.archs = {"sm_80", "sm_90"}});
  expect_entries(cache, 4, "two architectures, sizes with and without a rest");
  saxpy.compile<float, Matrix, Matrix>({.archs = {"sm_80", "sm_90"}});
  other_saxpy.compile<float, Matrix, Matrix>({.archs = {"sm_90"}});
  expect_entries(cache, 4, "what is there is not compiled again");
  saxpy.compile<float, Matrix, kl::Sig<float, 0>>({.archs = {"sm_90"}});
  expect_entries(cache, 6, "another rank is another kernel");

  // The CPU's kernels can be compared with the ones that a call uses: both arguments are distinct, aligned arrays.
  const std::vector<float> values(5 * 1025, 2.0f);
  const kl::Array<float> x = kl::from_host(values, {5, 1025}), y = kl::from_host(values, {5, 1025});
  const int before = entries(cache);
  saxpy.compile<float, Matrix, Matrix>({});
  const int compiled = entries(cache);
  if (compiled <= before) std::printf("no architectures mean the current device\n"), ++failures;
  if (saxpy(3.0f, x, y).to_host() != std::vector<float>(values.size(), 8.0f)) std::printf("wrong values\n"), ++failures;
  expect_entries(cache, compiled, "a call after compile compiles nothing");
  return failures ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::filesystem::path cache = argv[1];
  std::filesystem::remove_all(cache);
  std::filesystem::create_directories(cache);
  std::filesystem::permissions(cache, std::filesystem::perms::owner_all);
  setenv("KILN_CACHE_DIR", argv[1], 1);
  setenv("KILN_DEVICE", "cpu", 1);
  try {
    return run(cache);
  } catch (const kl::Error& error) {
    const std::string text = error.what();
    const auto says = [&](const char* reason) { return text.find(reason) != std::string::npos; };
    if (!says("NVRTC, the CUDA compiler, was not found") && !says("built without the CUDA backend") &&
        !says("cannot load the CPU compiler"))
      throw;
    std::printf("skipped: %s\n", error.what());
    return 77;
  }
}
