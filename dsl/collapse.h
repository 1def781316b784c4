// dsl/collapse.h -- from a loop and its accesses to the fewest loop axes, and the classes that name a kernel variant.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "codegen/ir/kernel.h"
#include "codegen/pass/passes.h"
#include "dsl/folds.h"
#include "dsl/shapes.h"

namespace kiln::dsl {

/// A loop nest and the strides of everything that is touched along it. Axis 0 is the outermost.
struct LoopNest {
  Shape shape;
  struct Walk {
    Extents strides = {};  ///< in elements
    std::int64_t offset = 0;
    int bytes = 0;         ///< of an element; 0 for values that are not in memory
    AxisFolds folds = {};  ///< strides and offset are those without them
    /// Elements between neighbouring positions of the axis.
    std::int64_t step(int axis) const;
  };
  std::vector<Walk> walks;  ///< one per access, the `first_store`-th is the first output
  std::size_t first_store = 0;
  int reduced = 0;        ///< the last so many axes are reduced (or scanned)
  bool in_order = false;  ///< a scan: the reduced axis is walked as written
};

/// Drops axes of extent 1, puts the axis of the outputs' largest step outermost, flips axes that the first output walks
/// backwards, and joins neighbouring axes that every access walks as one. The set of (access element, ...) tuples that
/// the loop visits is unchanged. The extents are all positive.
///
/// With reduced axes the same happens within the kept and within the reduced axes, which never mix, so that the
/// elements visited for each point of the kept axes stay the same set. Order and direction then follow the accesses
/// that move most bytes. One reduced axis remains even where it has a single element; if there is none to join, it has
/// extent 0. Kept extents are positive.
LoopNest collapse(const LoopNest& nest);

/// Stride class of every axis.
std::vector<codegen::AxisClass> axis_classes(const LoopNest& nest, std::size_t walk);

/// Classes of the folds of an access; empty where it has none. The stride class of a folded axis is that of its
/// positions.
std::vector<codegen::FoldedAxis> folded_axes(const LoopNest& nest, std::size_t walk);

/// The power of two, at most 16, that divides the base address and every byte step at which a vector may start. The
/// element size where no axis is contiguous: such an access is never a vector, and more classes would only mean more
/// kernels.
std::uint8_t alignment_class(const LoopNest& nest, std::size_t walk, std::uint64_t base_address, DType type);

/// What Access::dense_alignment says of the access.
std::uint8_t dense_alignment(const LoopNest& nest, std::size_t walk, std::uint64_t base_address);

/// 32-bit indices serve when every byte offset from an access's base and the element count, rounded up to a whole grid
/// of the largest block, stay below 2^31.
codegen::IndexWidth index_width(const LoopNest& nest, std::span<const DType> types);

/// Bounds of the values offset + sum(index * stride) of an iota, rounded outwards to few classes, so that kernels are
/// shared between shapes.
codegen::IotaRange iota_range(const Strided& view);

}  // namespace kiln::dsl
