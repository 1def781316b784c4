// tests/fail/unknown_element.cpp -- must not compile.
// expect: not an element type
#include <kiln/kiln.h>

namespace kl = kiln;

struct Point {
  int x, y;
};
void f(Point* p) {
  kl::Array<Point> a({3});  // error
  (void)p;
}
