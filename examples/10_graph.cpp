// examples/10_graph.cpp -- a sequence of kernels recorded once and launched many times: steps of a heat equation.
//
// A step of a small simulation is a few short kernels, and starting each of them costs the host more time than the GPU
// needs to run it. kl::capture records the steps instead of running them, with all memory in between; launching the
// graph then costs one call. On the CPU the graph is the list of kernels.
#include <kiln/kiln.h>

#include <cmath>
#include <cstdio>

namespace kl = kiln;

int main() {
  const int n = 1000;
  kl::Array<float> u = kl::zeros<float>({n}), next = kl::zeros<float>({n});
  u(kl::range(n / 2, n / 2 + 1)) = 100.0f;
  next = u;

  const auto step = [n](kl::Array<float>& from, kl::Array<float>& to) {
    const auto inner = kl::range(1, n - 1);
    to(inner) = from(inner) + 0.25f * (from(kl::range(0, n - 2)) - 2 * from(inner) + from(kl::range(2, n)));
  };
  kl::Graph two_steps = kl::capture([&] {
    step(u, next);
    step(next, u);
  });
  for (int i = 0; i < 50; ++i) two_steps.launch();
  const float heat = kl::sum(u).item();
  std::printf("%u kernels per launch; heat after 100 steps: %.3f, highest: %.3f\n", two_steps.kernels(), heat,
              kl::max(u).item());

  // Another bar, in another array: no new recording.
  kl::Array<float> other = kl::zeros<float>({n});
  other(kl::range(10, 12)) = 50.0f;
  two_steps.replace(u, other);
  for (int i = 0; i < 5; ++i) two_steps.launch();
  const float rest = kl::sum(other).item();
  std::printf("the other bar: %.3f\n", rest);
  return std::fabs(heat - 100) < 0.01f && std::fabs(rest - 100) < 0.01f ? 0 : 1;  // heat is kept
}
