// dsl/drafting.h -- from a trace and concrete operands to kernels: shapes, fusion groups, overlap, classes, schedules.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "dsl/draft.h"
#include "dsl/overlap.h"
#include "dsl/segment.h"
#include "dsl/trace.h"
#include "dsl/windows.h"

namespace kiln::dsl {

/// The device of the operands, else of the destinations, else the thread's current one.
runtime::DeviceId device_of_call(const detail::Call& call);

/// ShapeError, TypeError or DeviceError (operands on different devices are named) when the call is not well-formed;
/// changes nothing.
Draft draft(const Trace& trace, const detail::Call& call, runtime::DeviceId device, const Machine& machine);

/// A destination: where it is, what loop writes it, and whether it is written through a temporary.
struct Destination {
  bool allocate = false;
  const detail::Layout* layout = nullptr;
  Strided view;               ///< of the memory that the kernel writes
  std::uint64_t address = 0;  ///< 0 for memory that this call allocates (aligned to 256 bytes)
  std::optional<std::uint32_t> temporary;
  bool is_empty() const { return layout->size == 0; }
};

/// One kernel of the call: its body after the passes, and what is known about overlaps.
struct Group {
  Segment segment;
  std::vector<bool> aliased;  ///< per leaf: some output of this kernel writes the same elements
};

/// One store of a kernel to be built.
struct Store {
  Base base;
  std::uint64_t address = 0;  ///< 0 for memory that this call allocates
  DType type = DType::f32;
  Strided view;  ///< over the loop; stride 0 along reduced axes
  bool is_temporary = false;
};

/// A kernel before collapse: a body, where its leaves are, and its stores.
struct Parts {
  const Body* body = nullptr;
  const std::vector<bool>* aliased = nullptr;
  std::vector<Store> stores;
  Shape loop;
  int reduced = 0;
};

/// The steps of draft(), sharing what is known about one call.
class Drafting {
 public:
  Drafting(const Trace& trace, const detail::Call& call, runtime::DeviceId device, const Machine& machine)
      : trace_(trace), call_(call), machine_(machine) {
    draft_.device = device;
    draft_.non_negative = trace.non_negative;
  }
  Draft run();

 private:
  // drafting_operands.cpp
  void resolve_operands();
  void resolve_targets();
  void resolve_scatter();
  Destination resolve_target(std::uint32_t number, const Shape& result);
  void check_device(const detail::Handle& handle, const char* role, std::uint32_t number) const;
  // drafting_overlap.cpp
  void resolve_overlaps();
  bool conflicts(const SegmentOutput& output, std::size_t own_group) const;
  ByteSet leaf_bytes(const Leaf& leaf) const;
  ByteSet target_bytes(std::uint32_t target) const;
  ByteSet target_bytes(const SegmentOutput& output, const Segment& segment) const;
  void mark_aliases(Group& group);
  void use_temporary(std::uint32_t target, const char* reason);
  // drafting.cpp
  void build_groups();
  void run_passes(Segment& segment) const;
  void build_kernels();
  void build_copies();
  Store store_of(const SegmentOutput& output, const Segment& segment) const;
  DraftKernel build(const Parts& parts);
  void place_accesses(const Parts& parts, DraftKernel& kernel) const;
  codegen::Access access_of(const Parts& parts, DraftKernel& kernel, std::size_t number) const;
  void mark_scatter(DraftKernel& draft) const;
  codegen::Access gathered_access(const Body& body, DraftKernel& kernel, std::size_t number, codegen::Access access,
                                  std::uint64_t address) const;
  std::vector<AccessMemory> memories_of(const Parts& parts, const DraftKernel& draft) const;
  Base base_of(const Leaf& leaf) const;
  std::uint32_t temporary_base(std::uint32_t number) const;
  std::uint64_t leaf_address(const Leaf& leaf) const;
  bool is_empty(const Leaf& leaf) const;
  // drafting_schedule.cpp
  void schedule(DraftKernel& kernel);
  bool is_tuned() const;
  void schedule_on_cpu(DraftKernel& kernel) const;
  void apply_launch_control(DraftKernel& kernel);
  void apply_cluster(DraftKernel& kernel);
  void apply_grid(DraftKernel& draft) const;

  const Trace& trace_;
  const detail::Call& call_;
  const Machine& machine_;
  Draft draft_;
  std::vector<Operand> operands_;
  std::vector<Shape> shapes_;  ///< per node of the trace
  std::vector<Destination> destinations_;
  std::vector<Shape> loops_;            ///< per target
  std::vector<Temporary> temporaries_;  ///< between kernels; those of overlaps follow in draft_.temporaries
  std::vector<Group> groups_;
};

/// Sets Access::alignment of iotas that find elements.
void align_gathering_iotas(codegen::Kernel& kernel);

/// A target or temporary of layout `view` seen over the loop that stores it, along `output.axes`.
Strided over_loop(const Strided& view, const SegmentOutput& output, const Shape& loop);

/// True where `view`, over a loop with `reduced` trailing reduced axes, has more than one value per row.
bool moves_along_rows(const Strided& view, int reduced);

/// "sigmoid(a) * b" in one line of bounded length, a function of the body alone.
std::string expression_text(const codegen::Graph& body);

}  // namespace kiln::dsl
