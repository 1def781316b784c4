// tests/support/cpu_compiler.h -- visible skips of unit tests in builds without the CPU compiler.
#pragma once

#include <gtest/gtest.h>

#ifdef KILN_WITHOUT_CPU_COMPILER
#define KILN_NEEDS_CPU_COMPILER() GTEST_SKIP() << "built without the CPU compiler (KILN_CPU_JIT=OFF)"
#else
#define KILN_NEEDS_CPU_COMPILER() static_cast<void>(0)
#endif
