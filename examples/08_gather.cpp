// examples/08_gather.cpp -- rows by index, an embedding bag and its gradient, histograms.
#include <kiln/kiln.h>

#include <cstdint>
#include <cstdio>
#include <vector>

namespace kl = kiln;

int main() {
  kl::Array<float> table = kl::from_host<float>({0, 1, 10, 11, 20, 21, 30, 31}, {4, 2});
  kl::Array<std::int32_t> ids = kl::from_host<std::int32_t>({3, 0, -1, 1, 1, 2}, {2, 3});  // -1 is the last row

  kl::Array<float> rows = kl::take(table, ids, 0);  // {2, 3, 2}
  auto bags = kl::sum(kl::take(table, ids, 0), 1);  // nothing of shape {2, 3, 2} is stored
  std::printf("row %g %g, %zu kernel for the bags\n", double(rows(0, 0, 0).item()), double(rows(0, 0, 1).item()),
              kl::inspect(bags).kernels.size());
  kl::Array<float> sums = bags;
  if (sums.to_host() != std::vector<float>{60, 63, 40, 43} || rows(1, 2, 1).item() != 21) return 1;

  kl::Array<float> gradient = kl::zeros<float>({4, 2});
  kl::scatter_add(gradient, ids, 2.0f * rows, 0);  // += for every index, repeated ones too
  if (gradient.to_host() != std::vector<float>{0, 2, 40, 44, 40, 42, 120, 124}) return 1;

  kl::Array<float> best = kl::take_along_axis(rows, kl::argmax(rows, 1, kl::keepdims), 1);  // the largest of each bag
  if (best.to_host() != std::vector<float>{30, 31, 20, 21}) return 1;

  kl::Array<float> hot = kl::one_hot<float>(ids(0, kl::all), 4);  // row 1 is {1, 0, 0, 0}; -1 gives zeros
  if (hot(1, 0).item() != 1 || kl::sum(hot).item() != 2) return 1;

  kl::Array<float> x = kl::from_host<float>({0.1f, 0.4f, 0.6f, 1.0f, 1.2f});
  std::printf("%lld of the upper half\n", static_cast<long long>(kl::histogram(x, 2, 0, 1)(1).item()));
  if (kl::histogram(x, 2, 0, 1).to_host() != std::vector<std::int64_t>{2, 2}) return 1;
  return kl::bincount(ids, 4)(1).item() == 2 ? 0 : 1;
}
