// benchmarks/first_call.cpp -- what the first call of a compiled function costs: cold (compiler runs), from the disk
// cache, and from a bundle that the kiln command beside this program builds.
//
// Each measurement is a process of its own with its own cache directory; the parent reports medians.
#include <kiln/kiln.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

namespace kl = kiln;

namespace {

double milliseconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

/// Prints the time of the first function's first call, which also starts the compiler, of a second function's, and of a
/// cached call.
void child() {
  kl::Array<float> x = kl::from_host(std::vector<float>(1024, 1.0f)), y = kl::from_host(std::vector<float>(1024, 2.0f));
  kl::synchronize();
  auto first = kl::jit([](auto a, auto u, auto v) { return a * u + v; });
  auto second = kl::jit([](auto a, auto u, auto v) { return kl::exp(a * u) - v; });
  auto begin = std::chrono::steady_clock::now();
  kl::Array<float> z = first(2.0f, x, y);
  kl::synchronize();
  const double a = milliseconds_since(begin);
  begin = std::chrono::steady_clock::now();
  kl::Array<float> w = second(2.0f, x, y);
  kl::synchronize();
  const double b = milliseconds_since(begin);
  begin = std::chrono::steady_clock::now();
  second.into(w)(3.0f, x, y);
  kl::synchronize();
  std::printf("%.4f %.4f %.4f\n", a, b, milliseconds_since(begin));
}

struct Times {
  std::vector<double> first, second, warm;
};

void measure(const std::string& self, const std::string& environment, Times& times) {
  const std::string command = environment + " '" + self + "' --child";
  FILE* pipe = popen(command.c_str(), "r");
  double a = 0, b = 0, c = 0;
  if (!pipe || std::fscanf(pipe, "%lf %lf %lf", &a, &b, &c) != 3 || pclose(pipe) != 0) {
    std::fprintf(stderr, "the measuring process failed\n");
    std::exit(1);
  }
  times.first.push_back(a);
  times.second.push_back(b);
  times.warm.push_back(c);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void report(const char* name, const Times& times) {
  std::printf("  %-14s first function %9.3f ms   second function %9.3f ms   cached call %7.4f ms\n", name,
              median(times.first), median(times.second), median(times.warm));
}

std::string in_cache(const std::filesystem::path& directory) { return "KILN_CACHE_DIR='" + directory.string() + "'"; }

/// Records the child's kernels and builds a bundle of them for this device; empty where that does not work.
std::string make_bundle(const std::string& self, const std::filesystem::path& root) {
  const std::string record = (root / "trace.kiln").string(), bundle = (root / "app.klb").string();
  const kl::Device device = kl::Device::current();
  const bool is_gpu = device.kind() == kl::DeviceKind::cuda;
  const bool is_wide = std::strstr(device.arch(), "avx2") != nullptr;
  const std::string target =
      is_gpu ? std::string("--arch ") + device.arch() : std::string("--cpu ") + (is_wide ? "x86-64-v3" : "x86-64-v2");
  const std::string command = in_cache(root / "recorded") + " KILN_RECORD='" + record + "' '" + self +
                              "' --child >/dev/null && '" + self.substr(0, self.rfind('/')) + "/kiln' bundle build '" +
                              record + "' " + target + " -o '" + bundle + "' >/dev/null";
  return std::system(command.c_str()) == 0 ? bundle : "";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && !std::strcmp(argv[1], "--child")) {
    child();
    return 0;
  }
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 7;
  const std::string self = std::filesystem::canonical("/proc/self/exe").string();
  std::string pattern = (std::filesystem::temp_directory_path() / "kiln-first-call-XXXXXX").string();
  if (!mkdtemp(pattern.data())) return 1;
  const std::filesystem::path root = pattern;
  Times cold, disk, bundled;
  const std::string bundle = make_bundle(self, root);
  for (int i = 0; i < rounds; ++i) {
    const std::string cache = in_cache(root / std::to_string(i));
    measure(self, cache, cold);
    measure(self, cache, disk);
    if (!bundle.empty()) measure(self, "KILN_CACHE=off KILN_BUNDLE='" + bundle + "'", bundled);
  }
  std::filesystem::remove_all(root);
  std::printf("first call on %s, median of %d processes\n", kl::Device::current().name(), rounds);
  report("cold", cold);
  report("from disk", disk);
  if (bundle.empty())
    std::printf("  from a bundle  not measured: the kiln command beside this program could not build one\n");
  else
    report("from a bundle", bundled);
  return 0;
}
