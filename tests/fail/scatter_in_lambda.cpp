// tests/fail/scatter_in_lambda.cpp -- must not compile.
// expect: a scatter changes an array and is a statement
#include <kiln/kiln.h>

namespace kl = kiln;

void f(kl::Array<int>& counts, kl::Array<int>& i) {
  auto g = kl::jit([&](auto ids) {
    kl::scatter_add(counts, ids, 1);  // error
    return ids + 1;
  });
  // instead: kl::scatter_add(counts, g(i), 1);
  g(i);
}
