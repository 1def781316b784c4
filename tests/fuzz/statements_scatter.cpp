// tests/fuzz/statements_scatter.cpp -- random scatters, bincounts and histograms against loops.
#include <algorithm>

#include "tests/fuzz/statement_values.h"
#include "tests/fuzz/statements.h"

namespace fuzz {
namespace {

using Extents = std::vector<std::int64_t>;
enum class Way : std::uint8_t { add, largest, smallest };

/// What one element of the target joins.
template <class T>
struct Joined {
  std::complex<Real> sum;
  Real magnitude = 0;
  T extreme{};
  std::uint64_t bits = 0;  ///< integers, modulo 2^64
  std::size_t count = 0;
};

template <class T>
std::complex<Real> plane(T value) {
  if constexpr (is_complex_type<T>) {
    return {value.real(), value.imag()};
  } else {
    return real(value);
  }
}

template <class T>
void join(Joined<T>& joined, T value, Way way) {
  joined.sum += plane(value);
  joined.magnitude += std::abs(plane(value));
  if constexpr (std::is_integral_v<T>) joined.bits += static_cast<std::uint64_t>(value);
  if constexpr (!is_complex_type<T>) {
    const bool better = way == Way::largest ? real(value) > real(joined.extreme) : real(value) < real(joined.extreme);
    if (joined.count == 0 || better) joined.extreme = value;
  }
  ++joined.count;
}

/// `each_rounds`: additions in any order may come one after the other, and each rounds (f16 and bf16 as they are
/// stored).
template <class T>
bool is_right(const Joined<T>& want, T got, Way way, bool each_rounds) {
  if constexpr (!is_complex_type<T>) {
    if (way != Way::add) return real(got) == real(want.extreme);
  }
  if constexpr (std::is_integral_v<T>) {
    return got == static_cast<T>(want.bits);
  } else {
    const Real depth = std::ceil(std::log2(static_cast<Real>(want.count))) + 2, size = std::abs(want.sum);
    const Real each_unit = storing_unit<T>() * static_cast<Real>(want.count);
    if (std::is_same_v<T, kl::half> && size > 65000) return true;
    return std::abs(plane(got) - want.sum) <=
           depth * computing_unit<T>() * want.magnitude * 1.5L + storing_unit<T>() * 1.5L * size + 0x1p-140L +
               (each_rounds ? each_unit * want.magnitude : 0) + (std::is_same_v<T, kl::half> ? 0x1p-24L : 0);
  }
}

template <class T, class I, class Target, class Updates>
void scatter(Target&& target, const kl::Array<I>& indices, const Updates& updates, int axis, Way way, bool unordered) {
  if constexpr (is_complex_type<T>) {
    kl::scatter_add(target, indices, updates, axis);
  } else if (way == Way::largest) {
    kl::scatter_max(target, indices, updates, axis);
  } else if (way == Way::smallest) {
    kl::scatter_min(target, indices, updates, axis);
  } else if (unordered) {
    kl::scatter_add(target, indices, updates, axis, kl::unordered);
  } else {
    kl::scatter_add(target, indices, updates, axis);
  }
}

/// One call: shapes, places, values.
template <class T, class I>
struct Call {
  Extents shape;
  std::size_t axis = 0;
  std::int64_t outer = 1, bins = 1, inner = 1, count = 0;
  Way way = Way::add;
  bool one = false, transposed = false, unordered = false;
  std::vector<I> places;
  std::vector<T> start, updates;

  explicit Call(Random& random) {
    const int rank = 1 + random.below(3);
    for (int a = 0; a < rank; ++a)
      shape.push_back(std::max(1, random.at_most_limit(random.pick(std::vector<int>{1, 2, 3, 5, 8, 17, 33, 100}))));
    axis = static_cast<std::size_t>(random.below(rank));
    if (rank == 1 && random.chance(50)) shape[0] = 1 + random.size_below(3000);
    while (product_of(shape) > 20000) *std::max_element(shape.begin(), shape.end()) /= 2;
    bins = shape[axis];
    inner = product_of(Extents(shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1, shape.end()));
    outer = product_of(shape) / (bins * inner);
    const std::int64_t most = std::max<std::int64_t>(1, 30000 / (outer * inner));
    const std::int64_t wanted = std::min<std::int64_t>(most, random.chance(50) ? 40 : 30000);
    count = random.chance(3) ? 0 : 1 + random.size_below(static_cast<int>(wanted));
    way = is_complex_type<T> ? Way::add : static_cast<Way>(std::max(0, random.below(5) - 2));
    one = random.chance(15), transposed = rank == 2 && random.chance(30), unordered = random.chance(20);
    const bool crowded = random.chance(30);
    for (std::int64_t i = 0; i < count; ++i) places.push_back(static_cast<I>(index(random, crowded)));
    start = random_values<T>(random, product_of(shape));
    updates = random_values<T>(random, one ? 1 : outer * count * inner);
  }

  /// Some count from the end, some name no place.
  std::int64_t index(Random& random, bool crowded) const {
    std::int64_t at = crowded ? random.below(2) : random.below(static_cast<int>(bins));
    if (std::is_signed_v<I> && random.chance(20)) at -= bins;
    if (random.chance(5)) at += bins * (std::is_signed_v<I> && random.chance(50) ? -2 : 2);
    return at;
  }

  std::vector<Joined<T>> expected() const {
    std::vector<Joined<T>> want(start.size());
    for (std::size_t i = 0; i < start.size(); ++i) join(want[i], start[i], way);
    for (std::int64_t o = 0; o < outer; ++o) {
      for (std::int64_t i = 0; i < count; ++i) {
        std::int64_t at = static_cast<std::int64_t>(places[static_cast<std::size_t>(i)]);
        if (at < 0) at += bins;
        if (at < 0 || at >= bins) continue;
        for (std::int64_t c = 0; c < inner; ++c)
          join(want[static_cast<std::size_t>((o * bins + at) * inner + c)],
               updates[one ? 0 : static_cast<std::size_t>((o * count + i) * inner + c)], way);
      }
    }
    return want;
  }

  Extents update_shape() const {
    Extents extents = shape;
    extents[axis] = count;
    if (one) extents.assign(1, 1);
    return extents;
  }

  /// As a program.
  std::string text() const {
    constexpr const char* names[] = {"add", "max", "min"};
    return fmt::format("\n{}{}{}kl::scatter_{}({}, indices, updates, {}{});", array_line("target", start, shape),
                       array_line("indices", places, {count}), array_line("updates", updates, update_shape()),
                       names[static_cast<int>(way)], transposed ? "target.t().clone().t()" : "target", axis,
                       unordered && way == Way::add ? ", kl::unordered" : "");
  }

  std::vector<T> run() const {
    const kl::Array<I> indices = kl::from_host(places, {count});
    const kl::Array<T> values = kl::from_host(updates, kl::Shape(update_shape()));
    kl::Array<T> target = kl::from_host(start, kl::Shape(shape));
    if (!transposed) {
      scatter<T>(target, indices, values, static_cast<int>(axis), way, unordered);
      return target.to_host();
    }
    kl::Array<T> turned = target.t().clone();  // the same target, stored the other way about
    scatter<T>(turned.t(), indices, values, static_cast<int>(axis), way, unordered);
    return turned.t().clone().to_host();
  }
};

template <class T, class I>
std::string scatter_of(Random& random, const char* type) {
  const Call<T, I> call(random);
  const std::vector<Joined<T>> want = call.expected();
  const std::vector<T> got = call.run();
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (is_right(want[i], got[i], call.way, call.unordered)) continue;
    const auto expected = call.way == Way::add ? want[i].sum.real() : plane(want[i].extreme).real();
    return fmt::format("scatter {} of {} updates into {} of shape {} along {}{}{}{}: element {} is {}, expected {}",
                       static_cast<int>(call.way), call.count, type, list_text(call.shape), call.axis,
                       call.one ? ", one update" : "", call.transposed ? ", transposed" : "",
                       call.unordered ? ", unordered" : "", i, static_cast<double>(plane(got[i]).real()),
                       static_cast<double>(expected)) +
           call.text();
  }
  return {};
}

template <class X, class C>
std::string histogram_of(Random& random, const char* type) {
  const int bins = 1 + random.size_below(random.chance(70) ? 20 : 2000), count = random.size_below(5000);
  const double low = (random.below(17) - 12) / 4.0, high = low + (1 + random.below(40)) / 8.0;
  const std::vector<X> values = random_values<X>(random, count);
  const C first = static_cast<C>(low), last = static_cast<C>(high), step = (last - first) / static_cast<C>(bins);
  const auto edge = [&](std::int64_t i) { return std::fma(static_cast<C>(i), step, first); };
  std::vector<std::int64_t> want(static_cast<std::size_t>(bins));
  for (const X x : values) {
    const C v = static_cast<C>(real(x));
    if (!(v >= first && v <= last)) continue;
    std::int64_t part = 0, above = bins;  // the last part whose edge is not above v
    while (above - part > 1) (edge((part + above) / 2) <= v ? part : above) = (part + above) / 2;
    ++want[static_cast<std::size_t>(part)];
  }
  const std::vector<std::int64_t> got = kl::histogram(kl::from_host(values), bins, low, high).to_host();
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (got[i] == want[i]) continue;
    return fmt::format("histogram of {} {} in {} parts of [{}, {}]: part {} has {}, expected {}", count, type, bins,
                       low, high, i, got[i], want[i]) +
           fmt::format("\n{}kl::histogram(x, {}, {}, {});", array_line("x", values, {count}), bins, low, high);
  }
  return {};
}

template <class I>
std::string bincount_of(Random& random, const char* type) {
  const int bins = 1 + random.size_below(200), count = random.size_below(5000);
  const std::vector<I> values = random_values<I>(random, count);
  std::vector<std::int64_t> want(static_cast<std::size_t>(bins));
  for (const I v : values) {
    if (real(v) >= 0 && real(v) < bins) ++want[static_cast<std::size_t>(v)];
  }
  const auto got = kl::bincount(kl::from_host(values), bins).to_host();
  if (got == want) return "";
  return fmt::format("bincount of {} {} in {} differs\n{}kl::bincount(x, {});", count, type, bins,
                     array_line("x", values, {count}), bins);
}

}  // namespace

std::string check_scatter(Random random) {
  switch (random.below(9)) {
    case 0:
      return scatter_of<double, std::int64_t>(random, "f64");
    case 1:
      return scatter_of<kl::half, std::int32_t>(random, "f16");
    case 2:
      return scatter_of<kl::bfloat16, std::uint16_t>(random, "bf16");
    case 3:
      return scatter_of<std::int32_t, std::int32_t>(random, "i32");
    case 4:
      return scatter_of<std::uint8_t, std::int16_t>(random, "u8");
    case 5:
      return scatter_of<std::int64_t, std::int64_t>(random, "i64");
    case 6:
      return scatter_of<std::complex<float>, std::int32_t>(random, "c64");
    default:
      return scatter_of<float, std::int32_t>(random, "f32");
  }
}

std::string check_counts(Random random) {
  switch (random.below(6)) {
    case 0:
      return histogram_of<float, float>(random, "f32");
    case 1:
      return histogram_of<double, double>(random, "f64");
    case 2:
      return histogram_of<kl::bfloat16, float>(random, "bf16");
    case 3:
      return histogram_of<std::int32_t, double>(random, "i32");
    case 4:
      return bincount_of<std::int32_t>(random, "i32");
    default:
      return bincount_of<std::uint8_t>(random, "u8");
  }
}

}  // namespace fuzz
