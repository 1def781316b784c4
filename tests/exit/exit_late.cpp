// tests/exit/exit_late.cpp -- what compilers leave for the end of the process, and what is left of kiln then (D01).
//
// usage: exit_late handlers: prints how many handlers of exit the first compile of the process registered.
//        exit_late destructor: a static object uses kiln in its destructor, after kiln's own handler of exit;
//        prints "known refused": what is loaded runs, what would need a compiler throws CompileError.
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <string>
#include <vector>

#include <kiln/kiln.h>

namespace kl = kiln;

namespace {

constinit std::atomic<int> registered{0};

std::vector<float> compute(float factor, bool new_kernel) {
  const kl::Array<float> x = kl::from_host(std::vector<float>{1, 2, 3});
  if (new_kernel) return kl::Array<float>(kl::exp(x) * factor + kl::sin(x)).to_host();
  return kl::Array<float>(x * factor).to_host();
}

struct Late {
  bool used = false;
  std::vector<float> expected;
  ~Late() {
    if (!used) return;
    std::puts(compute(2, false) == expected ? "known" : "wrong");
    try {
      compute(2, true);
      std::puts("compiled");
    } catch (const kl::CompileError&) {
      std::puts("refused");
    }
  }
};
Late late;  // constructed before kiln is used: destroyed after kiln's handler has run

}  // namespace

/// Seen by every library of the process in the place of the C library's.
extern "C" int __cxa_atexit(void (*handler)(void*), void* argument, void* library) {
  static auto* const real =
      reinterpret_cast<int (*)(void (*)(void*), void*, void*)>(::dlsym(RTLD_NEXT, "__cxa_atexit"));
  ++registered;
  return real(handler, argument, library);
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  ::alarm(60);
  const std::string mode = argv[1];
  if (mode == "handlers") {
    const int before = registered;
    compute(2, true);
    std::printf("%d\n", registered - before);
    return 0;
  }
  late.expected = compute(2, false);
  late.used = true;
  return 0;
}
