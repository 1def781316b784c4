// dsl/host_copy.cpp -- gathers a strided host array into C order; transposes go through tiles that fit the first cache.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "dsl/array_memory.h"

namespace kiln::dsl {
namespace {

struct Loop {
  std::int64_t extent = 1, from = 0, to = 0;  ///< strides in elements
};

/// The loops of the copy, outermost first: without axes of extent 1, neighbours merged where both sides allow it.
int make_loops(const Strided& view, std::array<Loop, max_rank + 2>& loops) {
  int count = 0;
  std::int64_t to = 1;
  for (int i = view.shape.rank - 1; i >= 0; --i) {  // collected innermost first
    const std::int64_t extent = view.shape.extents[i];
    if (extent == 1) continue;
    if (count > 0 && view.strides[i] == loops[count - 1].from * loops[count - 1].extent) {
      loops[count - 1].extent *= extent;  // `to` is C order and always allows it
    } else {
      loops[count++] = {extent, view.strides[i], to};
    }
    to *= extent;
  }
  std::reverse(loops.begin(), loops.begin() + count);
  return count;
}

/// Copies rows x columns elements; the columns are dense in `to`.
template <class T>
void copy_plane(T* to, const T* from, const Loop& rows, const Loop& columns) {
  if (columns.from == 1) {
    for (std::int64_t r = 0; r < rows.extent; ++r)
      std::memcpy(to + r * rows.to, from + r * rows.from, static_cast<std::size_t>(columns.extent) * sizeof(T));
    return;
  }
  constexpr std::int64_t tile = 32;
  for (std::int64_t r0 = 0; r0 < rows.extent; r0 += tile) {
    const std::int64_t r_end = std::min(r0 + tile, rows.extent);
    for (std::int64_t c0 = 0; c0 < columns.extent; c0 += tile) {
      const std::int64_t c_end = std::min(c0 + tile, columns.extent);
      for (std::int64_t r = r0; r < r_end; ++r) {
        for (std::int64_t c = c0; c < c_end; ++c) {
          // Byte copies: elements of borrowed memory may be less aligned than T.
          std::memcpy(to + r * rows.to + c, from + r * rows.from + c * columns.from, sizeof(T));
        }
      }
    }
  }
}

template <class T>
void copy_loops(T* to, const T* from, const Loop* loops, int count) {
  // The plane's rows are the loop whose source stride is smallest, so that a tile touches few cache lines.
  int row = count - 2;
  for (int i = 0; i < count - 1; ++i) {
    if (std::abs(loops[i].from) < std::abs(loops[row].from)) row = i;
  }
  std::array<std::int64_t, max_rank + 2> index = {};
  for (;;) {
    copy_plane(to, from, loops[row], loops[count - 1]);
    int i = count - 2;
    for (; i >= 0; --i) {
      if (i == row) continue;
      to += loops[i].to;
      from += loops[i].from;
      if (++index[i] < loops[i].extent) break;
      to -= loops[i].to * loops[i].extent;
      from -= loops[i].from * loops[i].extent;
      index[i] = 0;
    }
    if (i < 0) return;
  }
}

struct Wide {
  std::uint64_t parts[2];
};

}  // namespace

void copy_strided(void* to, const void* from, const Strided& view, std::size_t element_bytes) {
  const auto extents = view.shape.span();
  if (std::find(extents.begin(), extents.end(), 0) != extents.end()) return;
  std::array<Loop, max_rank + 2> loops;
  int count = make_loops(view, loops);
  while (count < 2) {  // a plane always exists
    std::move_backward(loops.begin(), loops.begin() + count, loops.begin() + count + 1);
    loops[0] = count == 0 ? Loop{1, 1, 1} : Loop{1, 0, 0};
    ++count;
  }
  const auto run = [&]<class T>(T) {
    copy_loops(static_cast<T*>(to), static_cast<const T*>(from) + view.offset, loops.data(), count);
  };
  switch (element_bytes) {
    case 1:
      return run(std::uint8_t{});
    case 2:
      return run(std::uint16_t{});
    case 4:
      return run(std::uint32_t{});
    case 8:
      return run(std::uint64_t{});
    default:
      return run(Wide{});
  }
}

}  // namespace kiln::dsl
