// codegen/ir/kernel.h -- one fused kernel: a body graph over a collapsed iteration space and its accesses.
//
// This is what schedules decide about and what both emitters print. It holds no extents, addresses or scalar values:
// those are arguments. Two expressions with equal kernels share one compiled binary.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codegen/ir/graph.h"

namespace kiln::codegen {

inline constexpr int max_rank = 8;
inline constexpr int short_axis = 32;  ///< innermost axes below this are too short for vectors along them

/// Stride class of one operand along one loop axis.
enum class AxisClass : std::uint8_t { contiguous, broadcast, strided };  // element stride 1, 0, anything else

/// How a value joins the element that it is scattered to.
enum class Scatter : std::uint8_t { none, add, maximum, minimum };

/// Where a displaced read beyond the ends of an axis of n elements goes: position p, from -n to 2n, becomes one of 0 to
/// n - 1.
enum class Fold : std::uint8_t {
  none,
  clamp,      ///< the nearest element: a a a | a b c d | d d d
  wrap,       ///< the axis repeats: b c d | a b c d | a b c
  reflect,    ///< mirrored at the first and last element: d c b | a b c d | c b a
  symmetric,  ///< mirrored beside them, which repeats both: c b a | a b c d | d c b
};

/// How an operand is read along one loop axis: at position start + step * coordinate, folded. Both are arguments; an
/// access moves its stride from position to position, and its pointer (or iota offset) is that of position 0.
struct FoldedAxis {
  Fold kind = Fold::none;
  bool unit_step = true;  ///< step is 1, and no argument
  friend bool operator==(const FoldedAxis&, const FoldedAxis&) = default;
};

/// How the kernel touches one operand. Loop axes are ordered outermost first; the last axis is the innermost.
struct Access {
  DType type = DType::f32;
  bool iota = false;  ///< no memory: the "address" itself, offset + sum(stride * coordinate), is the value (i64)
  bool store = false;
  bool gathered = false;  ///< memory that gather nodes read; all axes are `broadcast`: the place is theirs to compute
  std::uint8_t gathers =
      0;                 ///< of an iota: bytes of the elements that gather nodes find by it, 0 if it is a value only
  bool aliased = false;  ///< a load whose memory some store may write (same elements): no read-only path, no restrict
  /// Bytes (1..16) that divide the base address and, in bytes, every strided outer step; of gathered memory also every
  /// displacement, and every step of the iotas but those of single elements. Of an iota that finds elements: the least
  /// of the memories that it leads to.
  std::uint8_t alignment = 1;
  /// Of a store: values join elements of the memory, each at the place (elements behind the base; negative: nowhere)
  /// that the next output gives. All axes are `broadcast`.
  Scatter scatter = Scatter::none;
  bool places = false;  ///< the store after a scattering one: its output is those i64 places, and is not stored
  /// Not 0: the elements follow one another in the order of the loop, without gaps, from a base address that so many
  /// bytes (1..16) divide. Set only where the innermost axis is shorter than `short_axis`.
  std::uint8_t dense_alignment = 0;
  std::vector<AxisClass> axes;    ///< one per loop axis
  std::vector<FoldedAxis> folds;  ///< one per loop axis; empty where none is folded. Loads and iotas of kernels without
                                  ///< reduced axes only
  /// Window kernels (schedule/window.h): accesses of one number, that of the first of them, read one operand at places
  /// that differ by `displacement` from it, one number per loop axis. They share its arguments. -1: none.
  int window = -1;
  std::vector<std::int8_t> displacement;
  /// The same kernels: bytes (up to 16) that divide every step along the outer axes, and the number of elements by
  /// which coordinate 0 of the innermost axis lies behind a multiple of it.
  std::uint8_t row_alignment = 0, phase = 0;
  bool is_folded() const { return !folds.empty(); }
  bool is_folded(std::size_t axis) const { return !folds.empty() && folds[axis].kind != Fold::none; }
  friend bool operator==(const Access&, const Access&) = default;
};

enum class IndexWidth : std::uint8_t { bits32, bits64 };

struct Kernel {
  int rank = 0;  ///< loop axes after collapse; 0 = a single element
  /// The last so many loop axes are reduced (or scanned); the `rank - reduced` before them are kept. 0: elementwise.
  /// `contiguous` may then stand at the last kept axis (columns) or at the last reduced one (rows).
  int reduced = 0;
  IndexWidth index = IndexWidth::bits32;
  std::vector<Access> accesses;   ///< loads and iotas first, then one per output
  std::vector<DType> parameters;  ///< storage type of each scalar parameter
  Graph body;                     ///< load/iota/parameter/literal leaves; outputs[k] is stored by store access k
  bool calls_host = false;        ///< CPU kernels: user functions are called through arguments
  /// Parameter that holds the number of elements that values are scattered to, where blocks may keep sums of their own
  /// for all of them; -1: none.
  int bins_parameter = -1;
  std::string comment;  ///< the expression, one line, for the header of the generated text

  std::size_t first_store() const;  ///< index of the first store access
  bool has_folds() const;           ///< some access is folded
  bool has_windows() const;
};

/// Kinds of value in the argument block, in layout order.
enum class ArgumentKind : std::uint8_t {
  pointer,      ///< base address of access `a` (8 bytes; absent for iota accesses)
  offset,       ///< i64 offset of iota access `a`
  extent,       ///< length of loop axis `axis` (index width)
  stride,       ///< element stride of access `a` along `axis`, strided axes only (index width, signed)
  fold_start,   ///< position of access `a` at coordinate 0 of folded axis `axis` (index width, signed)
  fold_step,    ///< positions per coordinate, where they are not 1 (the same)
  fold_length,  ///< number of positions (the same)
  divisor,      ///< u32 pair {multiplier, shift} that divides by the extent of `axis` (32-bit index; rank >= 3, or
                ///< reduced > 0 and rank >= 2)
  parameter,    ///< scalar parameter `a` in its compute type (f16/bf16 as f32, b1 as u8)
  workspace,    ///< pointer to LaunchShape::workspace_bytes of scratch memory (kernels with reduced axes)
  counters,     ///< pointer to LaunchShape::counters zeros of u32, which the kernel leaves zero (the same)
  function,     ///< pointer to the HostCall of function `a` of the body (`calls_host` only)
};

struct Argument {
  ArgumentKind kind = ArgumentKind::pointer;
  std::uint16_t a = 0;
  std::uint16_t axis = 0;
  std::uint32_t offset = 0;  ///< byte offset in the argument block
  std::uint32_t size = 0;
};

/// The argument struct both emitters declare and the launcher fills: naturally aligned fields, in this order.
struct ArgumentLayout {
  std::vector<Argument> arguments;
  std::uint32_t size = 0;  ///< bytes, a multiple of 8
};
ArgumentLayout argument_layout(const Kernel& kernel);

/// Structural identity of a kernel: equal text if and only if the generated code may be shared.
std::string kernel_key(const Kernel& kernel);

}  // namespace kiln::codegen
