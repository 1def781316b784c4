// tests/exit/no_memory.cpp -- calls with almost no address space left end in a kl::Error, and nothing hangs or aborts.
//
// usage: no_memory [launches]; status 0 is expected, with KILN_CACHE=off. Each budget is a child of its own.
// "launches": on the tests' own driver, which computes nothing; then NVRTC is what has no memory.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <typeinfo>
#include <vector>

#include <kiln/kiln.h>

#include "tests/exit/failing_new.h"

namespace kl = kiln;

namespace {

constexpr int skipped = 77;

unsigned long mapped_bytes() {
  std::ifstream file("/proc/self/statm");
  unsigned long pages = 0;
  file >> pages;
  return pages * static_cast<unsigned long>(::sysconf(_SC_PAGESIZE));
}

/// 1 where anything but an Error comes out.
template <class Body>
int attempt(const char* what, Body body) {
  try {
    body();
  } catch (const kl::Error&) {
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", what, typeid(error).name());
    return 1;
  }
  return 0;
}

int compute(const kl::Array<float>& x) {
  int bad = 0;
  bad += attempt("a new kernel", [&] { kl::Array<float> y = kl::exp(x) * 3.0f + kl::sin(x); });
  bad += attempt("a large array", [] { kl::zeros<float>({1 << 28}); });
  bad += attempt("a reduction", [&] {
    const auto f = kl::jit([](auto a) { return kl::sum(a * a); });
    kl::Array<float> y = f(x);
  });
  bad += attempt("an inspection", [&] {
    const auto f = kl::jit([](auto a) { return kl::sum(a * 3.0f); });
    f.inspect(x);
  });
  bad += attempt("threads", [] {
    const auto z = kl::zeros<float>({1 << 20});
    kl::Array<float> y = z + 1.0f;
  });
  return bad;
}

/// Address space for `bytes` more; then everything must work again with more.
int child(unsigned long bytes, bool is_warm, bool computes) {
  ::alarm(60);
  const kl::Array<float> x = kl::from_host(std::vector<float>{1, 2, 3});
  if (is_warm) kl::Array<float> y = x * 2.0f;
  rlimit limit{};
  ::getrlimit(RLIMIT_AS, &limit);
  const rlimit before = limit;
  limit.rlim_cur = mapped_bytes() + bytes;
  ::setrlimit(RLIMIT_AS, &limit);
  const int bad = compute(x);
  ::setrlimit(RLIMIT_AS, &before);
  if (bad > 0) return 1;
  const std::vector<float> values = kl::Array<float>(x * 5.0f).to_host();
  return !computes || values == std::vector<float>{5, 10, 15} ? 0 : 2;
}

/// In a child: what is loaded and looked for a process decides once.
bool lacks_compiler() {
  const pid_t process = ::fork();
  if (process == 0) {
    try {
      kl::Array<float> y = kl::zeros<float>({3}) + 1.0f;
    } catch (const kl::CompileError& error) {
      ::_exit(std::strstr(error.what(), "NVRTC, the CUDA compiler, was not found") ? 1 : 0);
    }
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(process, &status, 0);
  return status != 0;
}

/// 0 or 1.
int run_child(const char* what, int (*body)()) {
  const pid_t process = ::fork();
  if (process == 0) ::_exit(body());
  int status = 0;
  ::waitpid(process, &status, 0);
  if (status != 0) std::fprintf(stderr, "%s: wait status %x\n", what, static_cast<unsigned>(status));
  return status != 0;
}

}  // namespace

int main(int argc, char**) {
  const bool computes = argc < 2;
  int bad = 0;
  if (computes) {
    bad = run_child("the n-th allocation", [] {
      ::alarm(120);
      return check_failing_new() > 0 ? 1 : 0;
    });
  } else if (lacks_compiler()) {
    std::puts("skipped: no NVRTC here");
    return skipped;
  }
  const std::vector<unsigned long> all = {0, 1, 2, 4, 8, 16, 32, 64}, few = {1, 8, 32};
  for (const unsigned long megabytes : computes ? all : few) {
    for (const bool is_warm : {false, true}) {
      const pid_t process = ::fork();
      if (process == 0) ::_exit(child(megabytes << 20, is_warm, computes));
      int status = 0;
      ::waitpid(process, &status, 0);
      if (status == 0) continue;
      std::fprintf(stderr, "%lu MB, %s: wait status %x\n", megabytes, is_warm ? "warm" : "cold",
                   static_cast<unsigned>(status));
      ++bad;
    }
  }
  return bad > 0 ? 1 : 0;
}
