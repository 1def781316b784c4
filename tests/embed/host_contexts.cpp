// tests/embed/host_contexts.cpp -- contexts of a host program on a real GPU (case D06): made with cuCtxCreate, none at
// all, of another GPU, a primary one that is reset. A program of its own, for a reset takes everybody's memory. 77: no
// GPU.
#include <dlfcn.h>
#include <kiln/kiln.h>

#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace kl = kiln;

namespace {

using Context = void*;

/// The driver's functions by their symbols of CUDA 12.
template <class... A>
int driver(const char* name, A... arguments) {
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  const auto function = library ? reinterpret_cast<int (*)(A...)>(dlsym(library, name)) : nullptr;
  return function ? function(arguments...) : -1;
}

int failures = 0;
void expect(bool condition, const char* rule) {
  std::printf("%s: %s\n", condition ? "right" : "WRONG", rule);
  failures += !condition;
}

Context current() {
  Context context = nullptr;
  driver("cuCtxGetCurrent", &context);
  return context;
}

/// An elementwise kernel and a reduction of several blocks, which needs memory besides.
bool computes(kl::Device device) {
  kl::DeviceGuard on(device);
  kl::Array<float> x = kl::full({1 << 20}, 2.0f);
  x = x * 3.0f + 1.0f;
  return x(12345).item() == 7.0f && kl::sum(x).item() == 7.0f * (1 << 20);
}

void run() {
  const kl::Device gpu = kl::Device::cuda(0);
  expect(computes(gpu), "on the main thread, which had no context");
  expect(computes(gpu), "again");
  std::thread([&] { expect(computes(gpu), "on a new thread without a context"); }).join();
  std::thread([&] {
    Context own = nullptr;
    const int made = driver("cuCtxCreate_v2", &own, 0u, 0);
    expect(made == 0 && own, "the host made a context of its own");
    expect(computes(gpu), "in the host's context");
    expect(current() == own, "which is still current");
    kl::DeviceGuard on(gpu);
    kl::Array<float> kept = kl::full({1000}, 5.0f);
    expect(kl::sum(kept).item() == 5000.0f, "with an array of the same context");
    kept = kl::Array<float>();
    kl::synchronize();
    driver("cuCtxDestroy_v2", own);
    expect(computes(gpu), "after the host destroyed it");
  }).join();
  if (kl::devices().size() > 2) {
    const kl::Device second = kl::Device::cuda(1);
    const Context before = current();
    expect(computes(second), "on the second GPU");
    expect(current() == before, "and the thread's context is that of the first again");
    expect(computes(gpu), "back on the first");
    try {
      kl::Array<float> here({4}, gpu), there({4}, second);
      kl::eval(here + there);
      expect(false, "arrays of two GPUs in one expression are refused");
    } catch (const kl::DeviceError&) {
      expect(true, "arrays of two GPUs in one expression are refused");
    }
  }
  for (int i = 0; i < 2; ++i) {
    expect(driver("cuDevicePrimaryCtxReset_v2", 0) == 0, "the host reset the primary context");
    expect(computes(gpu), "afterwards on a thread that had it");
    std::thread([&] { expect(computes(gpu), "afterwards on a new thread"); }).join();
  }
}

}  // namespace

int main() {
  if (!kl::Device::cuda(0).is_available()) {
    std::printf("skipped: %s\n", kl::Device::cuda(0).unavailable_reason());
    return 77;
  }
  try {
    run();
  } catch (const kl::Error& error) {
    std::printf("WRONG: %s\n", error.what());
    return 1;
  }
  return failures != 0;
}
