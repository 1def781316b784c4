// kiln/options.h -- options of generated code and the control of a launch.
#pragma once

#include <kiln/detail/bridge.h>

namespace kiln {

/// What generated code may do. Every field is part of the kernel's key.
struct Options {
  bool contract = true;    ///< a * b + c may be rounded once (FMA)
  bool fast_math = false;  ///< approximate division and functions; NaN and infinity may be ignored
  bool lineinfo = false;   ///< debug lines point into the user's file
};

namespace detail {

/// A grid or block: one number, or up to three in braces.
struct Extent3 {
  unsigned x = 0, y = 0, z = 0;
  constexpr Extent3() = default;
  template <class I>
    requires(std::is_integral_v<I>)
  constexpr Extent3(I n) : x(checked(n)), y(1), z(1) {}
  /// Of any integer types: {(columns + 31) / 32, (rows + 31) / 32} of int or std::int64_t.
  template <class I, class J, class K = int>
    requires(std::is_integral_v<I> && std::is_integral_v<J> && std::is_integral_v<K>)
  constexpr Extent3(I x_, J y_, K z_ = 1) : x(checked(x_)), y(checked(y_)), z(checked(z_)) {}

 private:
  /// What no launch can have stays so.
  template <class I>
  static constexpr unsigned checked(I n) {
    return n < I{0} || static_cast<std::uint64_t>(n) > 0xffffffffu ? 0xffffffffu : static_cast<unsigned>(n);
  }
};

/// A native stream given to a launch and its device; made from kl::Stream.
struct StreamArgument {
  void* native = nullptr;
  bool given = false;
  int device_kind = -1, device_index = -1;
  constexpr StreamArgument() = default;
  template <class S>
    requires(requires(const S& s) { s.native_handle(); })
  StreamArgument(const S& stream) : native(stream.native_handle()), given(true) {
    if constexpr (requires { stream.device(); }) {
      device_kind = stream.device().kind_number();
      device_index = stream.device().index();
    }
  }
};

}  // namespace detail

/// Launch control: f[{.block = 256}](x). What is left out is chosen by kiln. On the CPU device only the stream means
/// anything.
///
/// Fused expressions: elementwise kernels give the same bits for every launch. Reductions and scans join their elements
/// in an order that follows from `block` and `items`, so floating sums may differ in their last bits from those of
/// other launches; each launch gives the same bits every time. What a kernel cannot have is a ShapeError that says what
/// it can.
struct Launch {
  /// Blocks. Raw kernels: as given. Fused expressions over one contiguous run: fewer blocks than there are tiles take
  /// them in turn; in other fused expressions the grid follows from the shape and fewer blocks are an error.
  detail::Extent3 grid = {};
  /// Threads of a block. Fused reductions and scans take 32 to 1024, a power of two; {x, y} spreads the threads of
  /// elementwise kernels over two axes.
  detail::Extent3 block = {};
  unsigned items = 0;                  ///< elements per thread, in fused expressions; at most 64
  unsigned shared_bytes = 0;           ///< dynamic shared memory
  unsigned cluster = 0;                ///< blocks per cluster
  bool cooperative = false;            ///< all blocks run at the same time, or the launch is an error
  detail::StreamArgument stream = {};  ///< of the device of the arrays: DeviceError for another one's
  bool tune = true;
  detail::Where where = detail::Where::current();  ///< of the braces, for messages; not to be given
};

namespace detail {

inline LaunchControl launch_control(const Launch& l) {
  LaunchControl c;
  c.grid[0] = l.grid.x, c.grid[1] = l.grid.y, c.grid[2] = l.grid.z;
  c.block[0] = l.block.x, c.block[1] = l.block.y, c.block[2] = l.block.z;
  c.items = l.items;
  c.shared_bytes = l.shared_bytes;
  c.cluster = l.cluster;
  c.cooperative = l.cooperative;
  c.tune = l.tune;
  c.stream = l.stream.native;
  c.has_stream = l.stream.given;
  c.stream_kind = l.stream.device_kind;
  c.stream_index = l.stream.device_index;
  c.where = l.where;
  return c;
}

}  // namespace detail
}  // namespace kiln
