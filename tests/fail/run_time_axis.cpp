// tests/fail/run_time_axis.cpp -- must not compile.
// expect: an axis is part of the kernel, not a run-time number; declare the parameter kl::Const<int>
// wrote: kl::jit([](auto v, auto axis) { return kl::sum(v, axis); })
// fix: kl::jit([](auto v, kl::Const<int> axis) { return kl::sum(v, axis); })
#include <kiln/kiln.h>

namespace kl = kiln;

void f(kl::Array<float>& x) {
  auto total = kl::jit([](auto v, auto axis) { return kl::sum(v, axis); });
  total(x, 0);  // error
}
