// tests/device/overlap_borrowed_test.cpp -- case B03 where kiln cannot know from the arrays that memory is shared:
// views of borrowed pointers, with any strides and distances, at one place of the program.
#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <kiln/scatter.h>
#include "tests/support/devices.h"

namespace {

using Numbers = std::vector<std::int32_t>;

class BorrowedOverlap : public OnEachDevice {};
KILN_ON_EACH_DEVICE(BorrowedOverlap);

/// A block of memory with the number of each element in it.
struct Memory {
  explicit Memory(std::size_t n) : host(n) {
    for (std::size_t i = 0; i < n; ++i) host[i] = static_cast<std::int32_t>(i * 2654435761u >> 8) % 100000;
    device = kl::from_host(host);
  }
  Numbers host;
  kl::Array<std::int32_t> device;
};

/// A view by pointer: kiln sees a new borrowed array each time.
struct Window {
  std::vector<std::int64_t> shape, strides;
  std::int64_t offset = 0;

  kl::View<std::int32_t> of(Memory& memory) const {
    return kl::view(memory.device.data() + offset, kl::Shape(shape), kl::Shape(strides), memory.device.device());
  }
  /// Calls visit(coordinates, element number) in C order.
  template <class Visit>
  void each(const Visit& visit) const {
    std::vector<std::int64_t> at(shape.size(), 0);
    for (const std::int64_t extent : shape)
      if (extent == 0) return;
    while (true) {
      std::int64_t element = offset;
      for (std::size_t axis = 0; axis < shape.size(); ++axis) element += at[axis] * strides[axis];
      visit(at, static_cast<std::size_t>(element));
      std::size_t axis = shape.size();
      while (axis-- > 0 && ++at[axis] == shape[axis]) at[axis] = 0;
      if (axis == static_cast<std::size_t>(-1)) return;
    }
  }
  Numbers read(const Numbers& memory) const {
    Numbers values;
    each([&](const auto&, std::size_t element) { values.push_back(memory[element]); });
    return values;
  }
  void write(Numbers& memory, const Numbers& values) const {
    std::size_t next = 0;
    each([&](const auto&, std::size_t element) { memory[element] = values[next++]; });
  }
  std::string text() const {
    std::string result = "offset " + std::to_string(offset);
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      result += ", " + std::to_string(shape[axis]) + " by " + std::to_string(strides[axis]);
    return result;
  }
};

/// A window of this shape somewhere in `room` elements; no element twice if it is written.
Window random_window(std::mt19937& random, const std::vector<std::int64_t>& shape, std::int64_t room, bool written) {
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  };
  Window window{shape, std::vector<std::int64_t>(shape.size()), 0};
  std::vector<std::size_t> order(shape.size());
  for (std::size_t axis = 0; axis < order.size(); ++axis) order[axis] = axis;
  std::shuffle(order.begin(), order.end(), random);
  if (below(2)) std::sort(order.rbegin(), order.rend());  // C order
  std::int64_t step = 1 + (below(3) == 0) * below(3), low = 0, high = 0;
  for (const std::size_t axis : order) {
    const bool broadcast = !written && below(8) == 0;
    window.strides[axis] = broadcast ? 0 : below(4) == 0 ? -step : step;
    const std::int64_t reach = window.strides[axis] * (shape[axis] - 1);
    (reach < 0 ? low : high) += reach;
    if (!broadcast) step = step * shape[axis] + (below(4) == 0 ? below(5) : 0);
  }
  const std::int64_t free = room - (high - low);
  if (free <= 0) return random_window(random, shape, room, written);  // too wide: another one
  window.offset = -low + (below(2) ? below(std::min<std::int64_t>(free, 20)) : below(free));
  return window;
}

// Rule (api.md §3): the right side behaves as if it were complete before the first element is written, whatever
// overlaps.
TEST_P(BorrowedOverlap, random_windows_of_one_block) {
  std::mt19937 random(7);
  const std::vector<std::vector<std::int64_t>> shapes = {{1000},       {40, 25}, {25, 40}, {3, 64},
                                                         {10, 10, 10}, {31, 33}, {1, 500}};
  for (int round = 0; round < 400; ++round) {
    const auto& shape = shapes[random() % shapes.size()];
    Memory memory(6000);
    const Window a = random_window(random, shape, 6000, false), b = random_window(random, shape, 6000, false);
    const Window to = random_window(random, shape, 6000, true);
    const Numbers x = a.read(memory.host), y = b.read(memory.host);
    Numbers values(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) values[i] = 3 * x[i] + y[i];
    to.write(memory.host, values);
    kl::View<std::int32_t> out = to.of(memory);
    out = 3 * a.of(memory) + b.of(memory);  // one site: plans must not be taken for those of other distances
    ASSERT_EQ(memory.device.to_host(), memory.host) << round << "\n"
                                                    << a.text() << "\n"
                                                    << b.text() << "\nto " << to.text();
  }
}

TEST_P(BorrowedOverlap, random_windows_of_reductions_and_scans) {
  std::mt19937 random(8);
  const std::vector<std::vector<std::int64_t>> shapes = {{40, 25}, {25, 40}, {3, 300}, {300, 3}};
  for (int round = 0; round < 200; ++round) {
    const auto& shape = shapes[random() % shapes.size()];
    const std::int64_t rows = shape[0], columns = shape[1];
    Memory memory(3000);
    const Window a = random_window(random, shape, 3000, false), to = random_window(random, shape, 3000, true);
    const Window row = random_window(random, {rows}, 3000, true);
    const Numbers x = a.read(memory.host);
    Numbers values(x.size()), sums(static_cast<std::size_t>(rows));
    const bool scans = random() % 2, stores_sums = random() % 2;
    for (std::int64_t r = 0; r < rows; ++r) {
      std::int32_t total = 0, largest = x[static_cast<std::size_t>(r * columns)];
      for (std::int64_t c = 0; c < columns; ++c) {
        const std::int32_t value = x[static_cast<std::size_t>(r * columns + c)];
        total += value, largest = std::max(largest, value);
        values[static_cast<std::size_t>(r * columns + c)] = total;
      }
      for (std::int64_t c = 0; !scans && c < columns; ++c) {
        const auto i = static_cast<std::size_t>(r * columns + c);
        values[i] = x[i] - largest;
      }
      sums[static_cast<std::size_t>(r)] = total;
    }
    kl::View<std::int32_t> out = to.of(memory), out_row = row.of(memory);
    const kl::View<std::int32_t> in = a.of(memory);
    if (stores_sums) {
      row.write(memory.host, sums);
      out_row = kl::cast<std::int32_t>(kl::sum(in, 1));
    } else if (scans) {
      to.write(memory.host, values);
      out = kl::cast<std::int32_t>(kl::cumsum(in, 1));
    } else {
      to.write(memory.host, values);
      out = in - kl::max(in, 1, kl::keepdims);
    }
    ASSERT_EQ(memory.device.to_host(), memory.host)
        << round << "\n"
        << a.text() << "\nto " << (stores_sums ? row : to).text() << (scans ? ", scan" : "");
  }
}

/// Several results of one call may not disturb one another's operands.
TEST_P(BorrowedOverlap, several_results_over_their_operands) {
  std::mt19937 random(9);
  for (int round = 0; round < 100; ++round) {
    Memory memory(4000);
    const std::vector<std::int64_t> shape =
        round % 2 ? std::vector<std::int64_t>{900} : std::vector<std::int64_t>{30, 30};
    const Window a = random_window(random, shape, 4000, false), b = random_window(random, shape, 4000, false);
    Window first = random_window(random, shape, 2000, true), second = random_window(random, shape, 2000, true);
    second.offset += 2000;  // apart from one another
    const Numbers x = a.read(memory.host), y = b.read(memory.host);
    Numbers sum(x.size()), difference(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) sum[i] = x[i] + y[i], difference[i] = x[i] - 2 * y[i];
    first.write(memory.host, sum), second.write(memory.host, difference);
    kl::View<std::int32_t> s = first.of(memory), d = second.of(memory);
    const kl::View<std::int32_t> p = a.of(memory), q = b.of(memory);
    kl::eval(kl::tie(s, d), p + q, p - 2 * q);
    ASSERT_EQ(memory.device.to_host(), memory.host) << round;
  }
}

/// Large enough for many blocks and threads, each of which would read what another has written.
TEST_P(BorrowedOverlap, long_rows_by_any_small_distance) {
  constexpr std::int64_t n = 1'000'000;
  for (const std::int64_t distance : {1, 2, 3, 4, 7, 8, 31, 32, 1000, 4099, -1, -2, -3, -4, -8, -33, -1000, -4099}) {
    Memory memory(n + 5000);
    const std::int64_t from = distance < 0 ? -distance : 0, to = distance < 0 ? 0 : distance;
    kl::View<std::int32_t> out = kl::view(memory.device.data() + to, {n}, memory.device.device());
    out = kl::view(memory.device.data() + from, {n}, memory.device.device()) * 2 + 1;
    const Numbers before = memory.host;
    for (std::int64_t i = 0; i < n; ++i)
      memory.host[static_cast<std::size_t>(to + i)] = 2 * before[static_cast<std::size_t>(from + i)] + 1;
    ASSERT_EQ(memory.device.to_host(), memory.host) << distance;
  }
}

/// Elements of another size in the same bytes: what is written is not where it is read, though addresses agree.
TEST_P(BorrowedOverlap, narrowing_and_widening_over_the_same_bytes) {
  constexpr std::int64_t n = 100'000;
  std::vector<std::int64_t> wide(n);
  for (std::int64_t i = 0; i < n; ++i) wide[static_cast<std::size_t>(i)] = i * 40503 % 100000;
  kl::Array<std::int64_t> memory = kl::from_host(wide);
  auto* const narrow_data = reinterpret_cast<std::int32_t*>(memory.data());
  kl::View<std::int32_t> narrow = kl::view(narrow_data, {n}, memory.device());
  narrow = kl::cast<std::int32_t>(memory) + 1;
  const kl::Array<std::int32_t> copy = narrow.clone();
  kl::View<std::int64_t> widened = kl::view(memory.data(), {n}, memory.device());
  Numbers got = copy.to_host();
  for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(got[static_cast<std::size_t>(i)], i * 40503 % 100000 + 1) << i;
  widened = kl::cast<std::int64_t>(narrow) * 3;
  const std::vector<std::int64_t> back = memory.to_host();
  for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(back[static_cast<std::size_t>(i)], (i * 40503 % 100000 + 1) * 3) << i;
}

TEST_P(BorrowedOverlap, reads_and_writes_by_index) {
  Memory memory(3000);
  const auto at = [&](std::int64_t offset, std::int64_t n) {
    return kl::view(memory.device.data() + offset, {n}, memory.device.device());
  };
  for (std::int64_t i = 0; i < 1000; ++i)
    memory.host[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i * 7 % 1000);
  memory.device = kl::from_host(memory.host);
  kl::View<std::int32_t> out = at(500, 1000);  // over the indices and over what they read
  out = kl::take(at(900, 1000), at(0, 1000));
  const Numbers before = memory.host;
  for (std::size_t i = 0; i < 1000; ++i) memory.host[500 + i] = before[900 + static_cast<std::size_t>(before[i])];
  ASSERT_EQ(memory.device.to_host(), memory.host);
  Memory other(3000);
  for (std::int64_t i = 0; i < 1000; ++i)
    other.host[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i * 3 % 100);
  other.device = kl::from_host(other.host);
  kl::View<std::int32_t> sums = kl::view(other.device.data() + 950, {100}, other.device.device());
  kl::scatter_add(sums, kl::view(other.device.data(), {1000}, other.device.device()),
                  kl::view(other.device.data() + 500, {1000}, other.device.device()));
  const Numbers old = other.host;
  for (std::size_t i = 0; i < 1000; ++i) other.host[950 + static_cast<std::size_t>(old[i])] += old[500 + i];
  ASSERT_EQ(other.device.to_host(), other.host);
}

}  // namespace
