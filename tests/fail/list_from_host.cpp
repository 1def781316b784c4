// tests/fail/list_from_host.cpp -- must not compile.
// expect: kl::from_host copies values that lie side by side
#include <kiln/kiln.h>

#include <list>

namespace kl = kiln;

auto f(const std::list<float>& list) {
  // instead: return kl::from_host(std::vector<float>(list.begin(), list.end()));
  return kl::from_host(list);  // error
}
