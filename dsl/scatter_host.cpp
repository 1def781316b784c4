// dsl/scatter_host.cpp -- scatters on the CPU: updates of a bin are joined by one thread, in the order of their
// numbers.
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numeric>
#include <vector>

#include "dsl/scatter.h"
#include "runtime/cpu/thread_pool.h"
#include "support/check.h"
#include "support/float_environment.h"

namespace kiln::dsl {
namespace {

/// Updates by bin: those of bin b are order[first[b]] .. order[first[b + 1]).
struct Sorted {
  std::vector<std::int64_t> order;
  std::vector<std::int64_t> bins;   ///< that have updates
  std::vector<std::int64_t> first;  ///< per entry of `bins`, and the end
};

template <class Key>
Sorted sort_by_bin(const ScatterJob& job, const Key* keys) {
  Sorted sorted;
  const auto is_inside = [&](Key key) { return key >= 0 && key < job.bins; };
  if (job.bins > 4 * job.count + (1 << 20)) {  // few updates of many bins: no table of all bins
    for (std::int64_t i = 0; i < job.count; ++i)
      if (is_inside(keys[i])) sorted.order.push_back(i);
    std::stable_sort(sorted.order.begin(), sorted.order.end(),
                     [&](std::int64_t a, std::int64_t b) { return keys[a] < keys[b]; });
  } else {
    std::vector<std::int64_t> next(static_cast<std::size_t>(job.bins) + 1, 0);
    for (std::int64_t i = 0; i < job.count; ++i)
      if (is_inside(keys[i])) ++next[static_cast<std::size_t>(keys[i]) + 1];
    std::partial_sum(next.begin(), next.end(), next.begin());
    sorted.order.resize(static_cast<std::size_t>(next.back()));
    for (std::int64_t i = 0; i < job.count; ++i)
      if (is_inside(keys[i])) sorted.order[static_cast<std::size_t>(next[static_cast<std::size_t>(keys[i])]++)] = i;
  }
  for (std::size_t at = 0; at < sorted.order.size(); ++at) {
    const std::int64_t bin = keys[sorted.order[at]];
    if (!sorted.bins.empty() && sorted.bins.back() == bin) continue;
    sorted.bins.push_back(bin);
    sorted.first.push_back(static_cast<std::int64_t>(at));
  }
  sorted.first.push_back(static_cast<std::int64_t>(sorted.order.size()));
  return sorted;
}

Sorted sort_by_bin(const ScatterJob& job) {
  return job.far_keys ? sort_by_bin(job, job.far_keys) : sort_by_bin(job, job.keys);
}

// T in memory, U of updates, A of sums.
template <class T, class U, class A>
struct Types {
  using Element = T;
  using Update = U;
  using Sum = A;
};

template <class A>
A joined(detail::Scattering operation, A a, A b) {
  if constexpr (requires { a < b; }) {
    if (operation == detail::Scattering::maximum)
      return a != a || b != b ? (a != a ? a : b) : a < b || (a == b && 1 / static_cast<double>(a) < 0) ? b : a;
    if (operation == detail::Scattering::minimum)
      return a != a || b != b ? (a != a ? a : b) : b < a || (a == b && 1 / static_cast<double>(b) < 0) ? b : a;
  }
  if constexpr (std::is_integral_v<A>) {
    return static_cast<A>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));  // wraps
  } else {
    return a + b;
  }
}

template <class T, class A>
T rounded(A value) {
  if constexpr (std::is_same_v<T, half> || std::is_same_v<T, bfloat16>) {
    return T(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}
template <class A, class T>
A widened(T value) {
  if constexpr (std::is_same_v<T, half> || std::is_same_v<T, bfloat16>) {
    return static_cast<A>(static_cast<float>(value));
  } else {
    return static_cast<A>(value);
  }
}

/// What rounding lost of sum = a + b (Knuth).
template <class A>
A lost(A a, A b, A sum) {
  const A part = sum - a;
  return (a - (sum - part)) + (b - part);
}

/// Where sums are no wider than their elements, what rounding loses is kept, or a million updates would lose digits.
template <class Element, class Sum>
constexpr bool keeps_lost = std::is_same_v<Element, Sum> && !std::is_integral_v<Sum>;

template <class A>
bool is_finite(A value) {
  return std::isfinite(std::abs(value));
}

constexpr std::int64_t column_block = 256;

template <class Types>
struct Work {
  const ScatterJob& job;
  const Sorted& sorted;

  /// Columns [begin, end) of part o of bin number b.
  void join(std::size_t b, std::int64_t o, std::int64_t begin, std::int64_t end) const {
    using T = typename Types::Element;
    using U = typename Types::Update;
    using A = typename Types::Sum;
    A sums[column_block], low[column_block] = {};
    const bool adds = job.operation == detail::Scattering::add;
    T* const to = static_cast<T*>(job.target) + (o * job.bins + sorted.bins[b]) * job.inner;
    for (std::int64_t at = sorted.first[b]; at < sorted.first[b + 1]; ++at) {
      const std::int64_t number = sorted.order[static_cast<std::size_t>(at)];
      const U* const from =
          static_cast<const U*>(job.updates) + (job.one_update ? 0 : (o * job.count + number) * job.inner);
      const bool is_first = at == sorted.first[b];
      for (std::int64_t c = begin; c < end; ++c) {
        const A value = static_cast<A>(from[job.one_update ? 0 : c]);
        const A before = sums[c - begin];
        sums[c - begin] = is_first ? value : joined(job.operation, before, value);
        if constexpr (keeps_lost<T, A>)
          if (adds && !is_first) low[c - begin] += lost(before, value, sums[c - begin]);
      }
    }
    for (std::int64_t c = begin; c < end; ++c) {
      A sum = sums[c - begin];
      if constexpr (keeps_lost<T, A>)
        if (is_finite(low[c - begin])) sum = sum + low[c - begin];  // infinities and NaN stand for themselves
      to[c] = rounded<T>(joined(job.operation, widened<A>(to[c]), sum));
    }
  }

  static void run(void* context, std::int64_t begin, std::int64_t end) {
    const Work& work = *static_cast<const Work*>(context);
    const DefaultFloatEnvironment environment;
    for (std::int64_t b = begin; b < end; ++b)
      for (std::int64_t o = 0; o < work.job.outer; ++o)
        for (std::int64_t c = 0; c < work.job.inner; c += column_block)
          work.join(static_cast<std::size_t>(b), o, c, std::min(work.job.inner, c + column_block));
  }
};

template <class T, class U, class A>
void scatter_as(const ScatterJob& job, const Sorted& sorted) {
  Work<Types<T, U, A>> work{job, sorted};
  const auto units = static_cast<std::int64_t>(sorted.bins.size());
  const std::int64_t elements = job.outer * job.inner * static_cast<std::int64_t>(sorted.order.size());
  const std::int64_t grain = std::max<std::int64_t>(1, units * 16384 / std::max<std::int64_t>(1, elements));
  runtime::parallel_ranges(units, grain, &Work<Types<T, U, A>>::run, &work);
}

}  // namespace

void scatter_on_host(const ScatterJob& job) {
  const Sorted sorted = sort_by_bin(job);
  switch (job.type) {
    case DType::i8:
      return scatter_as<std::int8_t, std::int8_t, std::int8_t>(job, sorted);
    case DType::i16:
      return scatter_as<std::int16_t, std::int16_t, std::int16_t>(job, sorted);
    case DType::i32:
      return scatter_as<std::int32_t, std::int32_t, std::int32_t>(job, sorted);
    case DType::i64:
      return scatter_as<std::int64_t, std::int64_t, std::int64_t>(job, sorted);
    case DType::u8:
      return scatter_as<std::uint8_t, std::uint8_t, std::uint8_t>(job, sorted);
    case DType::u16:
      return scatter_as<std::uint16_t, std::uint16_t, std::uint16_t>(job, sorted);
    case DType::u32:
      return scatter_as<std::uint32_t, std::uint32_t, std::uint32_t>(job, sorted);
    case DType::u64:
      return scatter_as<std::uint64_t, std::uint64_t, std::uint64_t>(job, sorted);
    case DType::f16:
      return scatter_as<half, float, double>(job, sorted);
    case DType::bf16:
      return scatter_as<bfloat16, float, double>(job, sorted);
    case DType::f32:
      return scatter_as<float, float, double>(job, sorted);
    case DType::f64:
      return scatter_as<double, double, double>(job, sorted);
    case DType::c64:
      return scatter_as<std::complex<float>, std::complex<float>, std::complex<double>>(job, sorted);
    case DType::c128:
      return scatter_as<std::complex<double>, std::complex<double>, std::complex<double>>(job, sorted);
    case DType::b1:
      break;
  }
  KILN_INTERNAL_CHECK(false, "a scatter into {}", kiln::name_of(job.type));
}

void order_on_host(const std::int32_t* keys, std::int64_t count, std::int64_t bins, std::uint32_t* order) {
  ScatterJob job;
  job.keys = keys;
  job.count = count;
  job.bins = bins;
  const Sorted sorted = sort_by_bin(job);
  std::fill(std::copy(sorted.order.begin(), sorted.order.end(), order), order + count, 0u);
}

}  // namespace kiln::dsl
