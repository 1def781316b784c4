// benchmarks/support/measure.h -- one line per case: time, bytes that must move per second, and what part that is of a
// copy or a read of the device in the same run. benchmarks/table.py reads these lines.
#pragma once

#include <kiln/kiln.h>

#include <cstdint>
#include <functional>
#include <string_view>

namespace benchmarks {

/// True if the current device is a GPU.
bool on_gpu();

/// Sixteenths of the rows are enough to exceed a CPU's caches.
std::int64_t scaled(std::int64_t rows);

/// Prints the device, measures what it can do, and runs `cases`, which measures those that are wanted: all, or those
/// whose name contains one of the program's arguments. The argument --serve instead answers each name on standard input
/// (a case's, "copy" or "read") with the lines of that case alone and then "done", so that a script can measure other
/// libraries in between. The result is that of the last `cases`, true meaning that no output was wrong.
bool run(int argc, char** argv, const std::function<bool()>& cases);
/// For programs that measure by themselves: prints the device.
void start();

/// Whether a case is to be measured; for part of a name, whether a case with that part may be.
bool wanted(std::string_view name);
bool everything_is_wanted();

/// Of one launch: by events on a GPU, by the clock otherwise.
double milliseconds(const std::function<void()>& launch);

/// What a case is compared with: a copy where it writes about as much as it reads.
enum class Limit { copy, read };

/// Prints a line for `launch`, which moves at least `bytes`, if the name is wanted. The time is the median of 15 by
/// events. Before each timed launch of a case that is compared with a read, another 256 MB are read, so that no input
/// is left in the L2 cache; others run back to back. Returns GB/s, 0 where the name is not wanted.
double measure(std::string_view name, double bytes, Limit limit, const std::function<void()>& launch);
/// GB/s of a copy or a read in this run.
double limit_rate(Limit limit);

/// Random numbers from `low` to `low` + 1.
template <class T>
kiln::Array<T> random(kiln::Shape shape, float low = 0, std::uint64_t seed = 7) {
  return kiln::eval(kiln::cast<T>(kiln::random::uniform<float>(shape, seed) + low));
}

}  // namespace benchmarks
