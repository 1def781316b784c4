// tests/fuzz/statements.h -- random uses of what is no node of a program: scatters, histograms, ufuncs, gufuncs, user
// functions.
#pragma once

#include <string>

#include "tests/fuzz/random.h"

namespace fuzz {

/// Each runs one random case on the current device and compares with loops. Empty when all is well, else what was run,
/// with its sizes and types, what differs, and the program.
std::string check_scatter(Random random);
std::string check_counts(Random random);  ///< bincount, histogram
std::string check_ufunc(Random random);
std::string check_call(Random random);  ///< gufuncs that take by index, user functions of several statements

/// One of them, of sizes of at most `limit`.
std::string check_statement(std::uint64_t seed, int limit = 1 << 30);
/// The same for the least limit at which something still differs.
std::string shrink_statement(std::uint64_t seed);

}  // namespace fuzz
