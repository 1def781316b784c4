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

kl::Array<float> three_numbers() { return kl::from_host(std::vector<float>{1, 2, 3}); }
kl::Array<float> known(const kl::Array<float>& x) { return x * 2.0f; }
kl::Array<float> other(const kl::Array<float>& x) { return kl::exp(x) * 2.0f + kl::sin(x); }

struct Late {
  bool used = false;
  ~Late() {
    if (!used) return;
    const kl::Array<float> x = three_numbers();
    const bool computes = kl::Device::current().kind() == kl::DeviceKind::cpu;  // the tests' GPU does not
    std::puts(!computes || known(x).to_host() == std::vector<float>{2, 4, 6} ? "known" : "wrong");
    try {
      other(x);
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
    other(three_numbers());
    std::printf("%d\n", registered - before);
    return 0;
  }
  known(three_numbers());
  late.used = true;
  return 0;
}
