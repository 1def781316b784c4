// kiln/detail/compiler.h -- says in one line that a compiler, or its language mode, is too old for kiln.
#pragma once

#if __cplusplus < 202002L
#error "kiln needs C++20: compile with -std=c++20 (CMake: target_compile_features(app PRIVATE cxx_std_20))"
#elif defined(__clang__) && __clang_major__ < 16
#error "kiln needs clang 16 or later, or g++ 11 or later"
#elif !defined(__clang__) && defined(__GNUC__) && __GNUC__ < 11
#error "kiln needs g++ 11 or later, or clang 16 or later"
#else
#define KILN_COMPILER_FITS 1  // what follows would only bury the message
#endif
