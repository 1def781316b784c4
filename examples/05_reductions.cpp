// examples/05_reductions.cpp -- sums along axes, softmax as one kernel, a reduction of one's own, running sums.
#include <kiln/kiln.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <tuple>
#include <vector>

namespace kl = kiln;

bool near(double a, double b) { return std::fabs(a - b) <= 1e-5 * (1 + std::fabs(b)); }

int main() {
  const std::vector<float> host = {1, 2, 3, 4, 5, 6};
  kl::Array<float> x = kl::from_host(host, {2, 3}), y = x;

  float dot = kl::sum(x * y).item();        // map and reduce in one kernel, value to the host
  kl::Array<float> rows = kl::mean(x, -1);  // {2}: negative axes count from the end
  kl::Array<float> centred = x - kl::mean(x, {0, 1}, kl::keepdims);
  kl::Array<float> spread = kl::std_(x, 0, kl::ddof(1));  // divides by n - 1
  std::printf("dot %g, mean of row 1 %g, %g .. %g, %g\n", double(dot), double(rows(1).item()),
              double(centred(0, 0).item()), double(centred(1, 2).item()), double(spread(0).item()));
  if (dot != 91 || rows(1).item() != 5 || centred(0, 0).item() != -2.5f || !near(spread(0).item(), std::sqrt(4.5))) {
    return 1;
  }

  auto softmax = kl::jit([](auto v) {
    auto e = kl::exp(v - kl::max(v, -1, kl::keepdims));
    return e / kl::sum(e, -1, kl::keepdims);
  });
  kl::Array<kl::bfloat16> p = softmax(x);  // one kernel; rounded once, where it is stored
  std::printf("softmax in %zu kernel, %g\n", softmax.inspect(x).kernels.size(), double(float(p(0, 2).item())));
  const double expected = std::exp(2.0) / (1 + std::exp(1.0) + std::exp(2.0));
  if (std::fabs(double(float(p(0, 2).item())) - expected) > 0.002) return 1;

  kl::Array<float> total, squares;
  kl::eval(kl::tie(total, squares), kl::sum(x), kl::sum(x * x));  // several results, one pass over x
  if (total.item() != 21 || squares.item() != 91) return 1;

  // A reduction of one's own joins one value, or several as a std::tuple. The function must be associative and
  // commutative; the last argument but one leaves what it is joined with unchanged.
  auto [peak, where] = kl::eval(
      kl::reduce(std::tuple(kl::abs(x - 3), kl::index(x, 1)), 1, std::tuple(-1, std::int64_t{3}), [](auto a, auto b) {
        auto [v, i] = a;
        auto [w, j] = b;
        auto first = (v > w) || ((v == w) && (i < j));
        return std::tuple(kl::where(first, v, w), kl::where(first, i, j));
      }));
  std::printf("farthest from 3: %g at %lld, %g at %lld\n", double(peak(0).item()), (long long)where(0).item(),
              double(peak(1).item()), (long long)where(1).item());
  if (peak(0).item() != 2 || where(0).item() != 0 || peak(1).item() != 3 || where(1).item() != 2) return 1;

  kl::Array<float> running = kl::cumsum(x, 1);
  const std::vector<float> sums = running.to_host();
  for (const float sum : sums) std::printf("%g ", double(sum));
  std::printf("\n");
  return sums == std::vector<float>{1, 3, 6, 4, 9, 15} ? 0 : 1;
}
