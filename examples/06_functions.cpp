// examples/06_functions.cpp -- functions of one's own: CUDA text in expressions, ufuncs with reduce, loops over items.
#include <kiln/kiln.h>

#include <cmath>
#include <cstdio>
#include <vector>

namespace kl = kiln;

bool near(double a, double b) { return std::fabs(a - b) <= 1e-5 * (1 + std::fabs(b)); }

int main() {
  kl::Array<float> x = kl::linspace(-0.5f, 1.5f, 9);

  // CUDA text, and the same in C++ for the CPU device. It fuses like a built-in; 0 and 1 are run-time parameters.
  auto smooth = kl::function<float(float, float, float)>("smooth", {"a", "b", "x"},
                                                         "float t = fminf(fmaxf((x - a) / (b - a), 0.f), 1.f);\n"
                                                         "return t * t * (3.f - 2.f * t);",
                                                         [](float a, float b, float v) {
                                                           const float t =
                                                               std::fmin(std::fmax((v - a) / (b - a), 0.0f), 1.0f);
                                                           return t * t * (3.0f - 2.0f * t);
                                                         });
  kl::Array<float> y = 2.0f * smooth(0, 1, x) - 1.0f;
  std::printf("smooth: %g %g %g\n", double(y(2).item()), double(y(4).item()), double(y(8).item()));
  if (y(2).item() != -1 || y(4).item() != 0 || y(8).item() != 1) return 1;

  // A lambda does as well where kiln's own operations suffice: no text, every device, every type.
  auto hypotenuse = kl::function("hypotenuse", [](auto a, auto b) { return kl::sqrt(a * a + b * b); });
  if (kl::max(hypotenuse(0 * x + 3, 4.0f)).item() != 5) return 1;

  // A ufunc broadcasts, and joins elements along axes: here log(exp(a) + exp(b)) without overflow.
  auto logaddexp = kl::ufunc([](auto a, auto b) { return kl::maximum(a, b) + kl::log1p(kl::exp(-kl::abs(a - b))); });
  kl::Array<float> m = kl::from_host(std::vector<float>{0, 1, 2, 100, 101, 102}, {2, 3});
  kl::Array<float> rows = logaddexp.reduce(m, -1);
  kl::Array<float> table = logaddexp.outer(x, x);
  std::printf("logaddexp: %g %g, table of %lld x %lld\n", double(rows(0).item()), double(rows(1).item()),
              static_cast<long long>(table.shape()[0]), static_cast<long long>(table.shape()[1]));
  if (!near(double(rows(0).item()), std::log(1 + std::exp(1.0) + std::exp(2.0)))) return 1;

  // Written for one matrix and one vector, applied to stacks of them; a wrong extent is an error that names the letter.
  auto matvec = kl::gufunc<"(m,n),(n)->(m)">([](auto a, auto v) { return kl::sum(a * v, 1); });
  kl::Array<float> stack = kl::ones<float>({4, 2, 3}), v = kl::from_host(std::vector<float>{1, 2, 3});
  kl::Array<float> products = matvec(stack, v);  // {4, 2}
  std::printf("matvec: %g\n", double(products(3, 1).item()));
  return products(3, 1).item() == 6 ? 0 : 1;
}
