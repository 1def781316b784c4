// tests/fail/element_of_16_bytes.cpp -- must not compile.
// expect: not an element type; use bool, a fixed-width integer
// flags: -std=gnu++20
#include <kiln/kiln.h>

namespace kl = kiln;

__extension__ typedef __int128 Wide;

void f() {
  // instead: kl::Array<std::int64_t> x({4});
  kl::Array<Wide> x({4});  // error
}
