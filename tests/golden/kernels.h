// tests/golden/kernels.h -- representative kernels, built by hand so that only the emitter and the schedules are
// tested; those with functions of the library have run through the passes.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/emit/emit.h"
#include "codegen/schedule/launch_wish.h"

namespace kiln::golden {

struct Case {
  std::string name;  ///< tests/golden/<name>.cu
  codegen::Kernel kernel;
  codegen::Extents extents;
  codegen::LaunchWish wish = {};  ///< of the caller
};

/// Builds a kernel access by access; `axes` is written outermost first with c(ontiguous), b(roadcast), s(trided).
class Builder {
 public:
  Builder(int rank, codegen::IndexWidth index, std::string comment);
  codegen::NodeId load(DType type, std::string_view axes, int alignment = 16, bool aliased = false);
  codegen::NodeId iota(std::string_view axes);
  codegen::NodeId parameter(DType type);
  codegen::NodeId number(DType type, double value) { return kernel.body.literal_value(type, value); }
  codegen::NodeId cast(codegen::NodeId value, DType type) { return kernel.body.cast(value, type); }
  codegen::NodeId node(codegen::NodeKind kind, DType type, std::initializer_list<codegen::NodeId> operands);
  codegen::NodeId op(Op op, std::initializer_list<codegen::NodeId> operands);
  void store(codegen::NodeId value, std::string_view axes, int alignment = 16);
  /// An iota by which elements of `bytes` bytes are found.
  codegen::NodeId finding_iota(std::string_view axes, int bytes, int alignment);
  /// The element of new memory at these places.
  codegen::NodeId gather(DType type, int alignment, codegen::NodeId displacement, codegen::NodeId affine,
                         codegen::NodeId reach);
  /// `value` joins the element at `place`, by addition.
  void scatter_add(codegen::NodeId value, codegen::NodeId place);
  /// Marks the accesses that move along every axis as dense, with their base aligned to `alignment`.
  void dense(int alignment = 16);
  /// Loads may be added after stores: the contract wants the stores last.
  codegen::Kernel finish();
  /// The same with the body that the passes make of it.
  codegen::Kernel finish_legalised();

  codegen::Kernel kernel;

 private:
  std::vector<codegen::Access> stores_;
};

/// Those that read and write by index.
std::vector<Case> golden_gathers();

/// The kernels whose text is compared, in the order of the files.
std::vector<Case> cases();

/// The H200, without asking a driver.
codegen::DeviceTraits device();

codegen::Schedule schedule_of(const Case& test);
LaunchShape shape_of(const Case& test);
/// The schedule chosen for `extents`, changed as the caller wishes.
codegen::Schedule wished(const codegen::Kernel& kernel, const codegen::Extents& extents,
                         const codegen::LaunchWish& wish);
KernelSource source_of(const Case& test);

}  // namespace kiln::golden
