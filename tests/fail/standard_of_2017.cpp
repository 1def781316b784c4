// tests/fail/standard_of_2017.cpp -- must not compile.
// flags: -std=c++17
// expect: kiln needs C++20: compile with -std=c++20
// wrote: #include <kiln/kiln.h>, compiled as C++17
// fix: -std=c++20
#include <kiln/kiln.h>
