// tests/fail/constant_beyond_its_type.cpp -- must not compile.
// expect: number_does_not_fit
#include <kiln/kiln.h>

namespace kl = kiln;

// instead: constexpr kl::Const<long long> most = 3000000000LL;
constexpr kl::Const<int> most = 3000000000LL;  // error
