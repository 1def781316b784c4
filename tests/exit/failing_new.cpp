// tests/exit/failing_new.cpp -- the n-th operator new of a call fails, for all n (case F03): every entry of the library
// says so by kl::OutOfMemory, and works at once when there is memory again.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <numeric>
#include <typeinfo>
#include <vector>

#include <kiln/dlpack.h>
#include <kiln/gather.h>
#include <kiln/graph.h>
#include <kiln/kiln.h>
#include <kiln/npy.h>
#include <kiln/print.h>
#include <kiln/profile.h>
#include <kiln/raw_kernel.h>
#include <kiln/scatter.h>
#include <kiln/shift.h>
#include <kiln/user_function.h>

#include "tests/exit/failing_new.h"

namespace kl = kiln;

namespace {

constinit thread_local long countdown = 0;  ///< > 0: allocations of this thread until one fails
constinit thread_local bool failed = false;

void* allocate(std::size_t bytes) {
  if (countdown > 0 && --countdown == 0) {
    failed = true;
    throw std::bad_alloc();
  }
  if (void* const memory = std::malloc(bytes ? bytes : 1)) return memory;
  throw std::bad_alloc();
}

/// What comes out where the n-th allocation fails; true where none failed.
template <class Body>
bool attempt(const char* what, long n, int& bad, Body& body) {
  countdown = n;
  failed = false;
  try {
    body();
    countdown = 0;
    return !failed;
  } catch (const kl::OutOfMemory&) {
    countdown = 0;
  } catch (const std::exception& error) {
    countdown = 0;
    std::fprintf(stderr, "%s without allocation %ld: %s: %s\n", what, n, typeid(error).name(), error.what());
    ++bad;
  }
  return false;
}

constexpr long most_allocations = 100'000;

/// Every allocation of a call whose kernels are there.
template <class Body>
int check(const char* what, Body body) {
  int bad = 0;
  body();
  for (long n = 1; n < most_allocations && bad < 3; ++n) {
    if (attempt(what, n, bad, body)) {
      body();
      return bad;
    }
    body();  // at once
  }
  std::fprintf(stderr, "%s takes memory without an end\n", what);
  return bad + 1;
}

/// Where the compiler has a part in it: some of the allocations of tracing, planning, compiling and caching.
template <class Body>
int check_some(const char* what, Body body) {
  int bad = 0;
  for (long n = 1; n < most_allocations && bad < 3; n += n / 3 + 1) {
    const auto numbered = [&] { body(n); };
    if (attempt(what, n, bad, numbered)) return bad;
    body(n);
  }
  return bad;
}

struct Nowhere {
  void write(const char*, long) {}
};

kl::Array<float> numbers(std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), 1.0f);
  return kl::from_host(values);
}

int check_arrays(const kl::Array<float>& x, const kl::Array<std::int64_t>& at) {
  int bad = 0;
  const std::vector<float> values{1, 2, 3};
  kl::Array<float> out = kl::zeros<float>({5});
  Nowhere nowhere;
  bad += check("from_host", [&] { kl::from_host(values); });
  bad += check("zeros", [&] { kl::zeros<float>({3, 4}); });
  bad += check("clone of a view", [&] { x(kl::range(0, 6, 2)).clone(); });
  bad += check("scatter_add", [&] { kl::scatter_add(out, at, x(kl::range(0, 5))); });
  bad += check("scatter_add of an expression", [&] { kl::scatter_add(out, at, x(kl::range(0, 5)) * 2.0f); });
  bad += check("random", [&] { kl::random::uniform<float>({7}, 3); });
  bad += check("text", [&] { nowhere << x; });
  bad += check("files", [&] {
    kl::save_npy("failing_new.npy", x);
    kl::load_npy<float>("failing_new.npy");
  });
  std::remove("failing_new.npy");
  bad += check("dlpack", [&] { kl::from_dlpack<const float>(kl::to_dlpack(x)); });
  return bad;
}

int check_expressions(const kl::Array<float>& x, const kl::Array<std::int64_t>& at) {
  int bad = 0;
  kl::Array<float> out = kl::zeros<float>({12});
  bad += check("eval", [&] { kl::eval(kl::exp(x) + 1.0f); });
  bad += check("assignment", [&] { out = kl::exp(x) + 1.0f; });
  bad += check("let", [&] {
    const auto a = kl::let(kl::exp(x));
    const auto b = kl::let(a * a + a);
    out = b + a;
  });
  bad += check("views of expressions",
               [&] { kl::eval((x + 1.0f).reshape({3, 4}).t().flip(0)(kl::range(1, 3), kl::all)); });
  bad += check("shift and index", [&] { out = kl::shift(x, {1}, kl::wrap) + kl::cast<float>(kl::index(x, 0)); });
  bad += check("take", [&] { kl::eval(kl::take(x * 2.0f, at)); });
  bad += check("item", [&] { static_cast<void>(kl::sum(x).item()); });
  const auto f = kl::jit([](auto a, auto b) { return std::tuple(a + b, kl::sum(a * b)); });
  bad += check("function", [&] { f(x, x); });
  bad += check_some("inspection", [&](long) { f.inspect(x, x); });
  bad += check("user function", [&] {
    const auto twice = kl::function<float(float)>("twice", {"v"}, "return 2.f * v;", [](float v) { return 2 * v; });
    kl::eval(twice(x));
  });
  return bad;
}

int check_others(const kl::Array<float>& x) {
  int bad = 0;
  const auto f = kl::jit([](auto a) { return a * 3.0f; });
  kl::Array<float> out = kl::zeros<float>({12});
  bad += check("capture", [&] {
    auto graph = kl::capture([&] { f.into(out)(x); });
    graph.launch();
  });
  bad += check("profile", [&] { kl::Profiler().stop(); });
  const kl::RawKernel kernel = kl::raw_kernel("f", "extern \"C\" __global__ void f(float* y) { *y = 1.f; }");
  bad += check("raw kernel", [&] {
    try {
      kl::Array<float> y({1});
      kernel[{.grid = 1, .block = 1}](y);
    } catch (const kl::DeviceError&) {  // a CUDA kernel on the CPU
    }
  });
  bad += check("stream", [] { const kl::Stream stream(kl::Device::cpu()); });
  bad += check_some("new function", [&](long n) {
    const auto g = kl::jit([n](auto a) { return kl::sum(kl::exp(a) * kl::lit(static_cast<float>(n))); });
    kl::Array<float> y = g(x);
  });
  return bad;
}

}  // namespace

void* operator new(std::size_t bytes) { return allocate(bytes); }
void* operator new[](std::size_t bytes) { return allocate(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

int check_failing_new() {
  const kl::Array<float> x = numbers(12);
  const kl::Array<std::int64_t> at = kl::from_host(std::vector<std::int64_t>{0, 1, 1, 4, 2});
  return check_arrays(x, at) + check_expressions(x, at) + check_others(x);
}
