// dsl/scatter.cpp -- kl::scatter_add and its like: shapes, overlap, and which way the updates take.
#include "dsl/scatter.h"

#include <limits>
#include <optional>
#include <vector>

#include <kiln/detail/structure.h>

#include "dsl/fragment.h"
#include "dsl/gather.h"
#include "dsl/out_of_memory.h"
#include "dsl/scatter_report.h"
#include "dsl/scatter_trace.h"
#include "dsl/session.h"
#include "dsl/taken_shape.h"
#include "dsl/usage.h"
#include "runtime/recorder.h"
#include "runtime/recording.h"
#include "support/check.h"

namespace kiln::dsl {
namespace {

using detail::Handle;
using detail::Instruction;
using detail::Parts;
using detail::Scattering;

bool is_number(const Parts& parts) { return parts.code[0].kind == Instruction::argument; }

Shape shape_of(const Parts& parts, Where where) {
  Shape shape;
  if (!is_number(parts)) shape.rank = detail::shape_of(parts, shape.extents.data(), where);
  return shape;
}

/// May some operand of the expression lie where the target does?
bool may_meet(const Parts& parts, const Handle& target) {
  if (is_number(parts)) return false;
  const Gathered gathered(&parts, 1);
  detail::Call call;
  gathered.fill(call);
  for (unsigned i = 0; i < call.input_count; ++i) {
    const Handle& operand = call.inputs[i];
    if (!operand.storage) continue;
    const auto distance = static_cast<const char*>(operand.data) - static_cast<const char*>(target.data);
    if (distance + operand.layout->low < target.layout->high && target.layout->low < distance + operand.layout->high)
      return true;
  }
  return false;
}

bool has_reductions(const Parts& parts) {
  if (detail::mixes_elements(parts.code, parts.size)) return true;
  for (const detail::Fragment* f : fragments_below(&parts, 1))
    if (detail::mixes_elements(f->program->data(), static_cast<unsigned>(f->program->size()))) return true;
  return false;
}

/// An expression that has become an array of its own.
class Computed {
 public:
  explicit Computed(const Parts& parts) : parts_(parts) {}
  void compute(detail::Site& site, runtime::DeviceId device, ScatterReport* report, Where where) {
    static constexpr char signature = 0;
    const DType type = parts_.code[parts_.size - 1].type;
    Handle result = report ? allocate_on(device, type, shape_of(parts_, where), "scatter", where).take() : Handle{};
    detail::Target target{&result, type, true};
    detail::Evaluation evaluation(&parts_, 1, &target, 1);
    evaluation.signature = &signature;
    evaluation.where = where;
    run_step(site, evaluation, report);
    array_ = OwnedHandle(result);
    code_ = {.kind = Instruction::input, .type = type};
    slot_ = __builtin_bit_cast(detail::Slot, array_.get());
    parts_ = {&code_, &slot_, 1};
  }
  const Parts& parts() const { return parts_; }

 private:
  Parts parts_;
  OwnedHandle array_;
  Instruction code_;
  detail::Slot slot_{};
};

/// The target's contiguous memory, or a copy of it that goes back at the end.
class Contiguous {
 public:
  Contiguous(const Handle& target, ScatterReport* report) : target_(target) {
    if (target.layout->contiguous) return;
    if (report)
      report->say("the target is not contiguous: a copy of it is changed and written back");
    else
      copy_ = OwnedHandle(detail::clone(target));
  }
  const Handle& handle() const { return copy_.get().layout ? copy_.get() : target_; }
  void write_back(Where where) {
    if (!copy_.get().layout) return;
    static constinit detail::Site site{};
    const Instruction code{.kind = Instruction::input, .type = target_.layout->dtype};
    const detail::Slot slot = __builtin_bit_cast(detail::Slot, copy_.get());
    const Parts parts{&code, &slot, 1};
    Handle to = target_;
    detail::Target target{&to, target_.layout->dtype, false};
    detail::Evaluation evaluation(&parts, 1, &target, 1);
    evaluation.where = where;
    evaluate(site, evaluation);
  }

 private:
  Handle target_;
  OwnedHandle copy_;
};

/// One call, its shapes checked.
class Scattered {
 public:
  Scattered(detail::ScatterSites& sites, const detail::ScatterCall& call, Handle& target, const Parts& indices,
            const Parts& updates, ScatterReport* report, Where where)
      : sites_(sites), call_(call), target_(target), indices_(indices), updates_(updates), where_(where) {
    trace_.report = report;
  }

  void run() {
    if (!target_.layout)
      fail<ShapeError>("a scatter into an array that has no elements yet{}: give it a shape first", place(where_));
    resolve_shapes();
    if (element_count("scatter", trace_.updates, where_) == 0 || target_.layout->size == 0) return;
    const runtime::DeviceId device = device_of(*target_.layout);
    if (runtime::is_recording_kernels() && !trace_.report) [[unlikely]]
      Scattered(sites_, call_, target_, indices_.parts(), updates_.parts(), nullptr, where_).record_other_ways(device);
    if (may_meet(indices_.parts(), target_)) compute(indices_, sites_.indices);
    if (may_meet(updates_.parts(), target_)) compute(updates_, sites_.updates);
    if (is_cuda(device) && is_exact()) return in_one_kernel(target_);
    if (is_cuda(device) && is_number(updates_.parts())) return counted();
    sorted(device);
  }

  /// Notes the kernels of the way that the other kind of device would take. What has to be computed beforehand is.
  void record_other_ways(runtime::DeviceId device) {
    resolve_shapes();
    if (may_meet(indices_.parts(), target_)) compute(indices_, sites_.indices);
    if (may_meet(updates_.parts(), target_)) compute(updates_, sites_.updates);
    if (device.kind == runtime::DeviceKind::cuda) {
      const OnlyRecording only;
      evaluate_keys(sites_.counts, trace_, device, indices_.parts(), where_);
      if (!as_it_lies()) evaluate_updates(sites_.scatter, trace_, device, updates_.parts(), where_);
      return;
    }
    const bool alone = is_exact() || is_number(updates_.parts());
    if (alone && has_reductions(indices_.parts())) compute(indices_, sites_.indices);
    if (is_exact() && !is_number(updates_.parts()) && has_reductions(updates_.parts()))
      compute(updates_, sites_.updates);
    if (!alone) {
      ScatterJob job;
      job.type = call_.type;
      job.count = element_count("scatter", trace_.indices, where_);
      return record_scatter_sorted(job, where_);
    }
    const OnlyRecording only;
    if (is_exact())
      in_one_kernel(target_);
    else
      counted();
  }

 private:
  /// The order of the updates does not matter. To f16 and bf16 it does: sums that are rounded after each update stick,
  /// at 2048 and 256 for updates of 1.
  bool is_exact() const {
    const bool rounds_each = call_.type == DType::f16 || call_.type == DType::bf16;
    return is_integer(call_.type) || call_.operation != Scattering::add || (call_.unordered && !rounds_each);
  }

  bool is_cuda(runtime::DeviceId device) const {
    return trace_.report ? trace_.report->is_cuda() : device.kind == runtime::DeviceKind::cuda;
  }

  void resolve_shapes() {
    const Shape target = dsl::shape_of(*target_.layout);
    trace_.target = strided_of(*target_.layout);
    trace_.axis = checked_axis("scatter", call_.axis, target, where_);
    trace_.type = call_.type;
    trace_.indices = shape_of(indices_.parts(), where_);
    codegen::TakeSpec spec;
    spec.axis = static_cast<std::uint8_t>(trace_.axis);
    Shape filled = target;
    filled.extents[trace_.axis] = 1;  // an empty axis drops all updates
    trace_.updates = taken_shape(spec, filled, trace_.indices, where_);
    const Shape given = shape_of(updates_.parts(), where_);
    bool fits = given.rank <= trace_.updates.rank;
    for (int axis = 0; fits && axis < given.rank; ++axis) {
      const std::int64_t extent = given.extents[axis];
      fits = extent == 1 || extent == trace_.updates.extents[axis + trace_.updates.rank - given.rank];
    }
    if (fits) return;
    fail<ShapeError>(
        "a scatter of updates of shape {} along axis {} of shape {} by indices of shape {}{}: updates must broadcast "
        "to "
        "{}, the target's shape with the axis replaced by the axes of the indices",
        to_text(given), trace_.axis, to_text(target), to_text(trace_.indices), place(where_), to_text(trace_.updates));
  }

  void compute(Computed& expression, detail::Site& site) {
    if (trace_.report) trace_.report->say("computed before, because the scatter may not read it while it writes:");
    expression.compute(site, device_of(*target_.layout), trace_.report, where_);
  }

  void in_one_kernel(Handle& target) {
    if (has_reductions(indices_.parts())) compute(indices_, sites_.indices);
    if (!is_number(updates_.parts()) && has_reductions(updates_.parts())) compute(updates_, sites_.updates);
    if (trace_.report) trace_.report->say("updates join the target by atomic operations:");
    scatter_places(sites_.scatter, trace_, call_.operation, target, indices_.parts(), updates_.parts(), where_);
  }

  OwnedHandle allocate(DType type, const Shape& shape) {
    return allocate_on(device_of(*target_.layout), type, shape, "scatter", where_);
  }

  /// The same number for every index: how often each occurs is exact in any order.
  void counted() {
    Shape bins;
    bins.rank = 1;
    bins.extents[0] = trace_.target.shape.extents[trace_.axis];
    OwnedHandle counts = allocate(DType::i64, bins);
    if (trace_.report) trace_.report->say("one update for all: the indices are counted, and the target changed once:");
    fill_zero(counts.get(), trace_.report, where_);
    ScatterTrace count = trace_;
    count.target = strided_of(*counts.get().layout);
    count.axis = 0;
    count.type = DType::i64;
    count.updates = trace_.indices;
    if (has_reductions(indices_.parts())) compute(indices_, sites_.indices);
    static constexpr Instruction one_code{.kind = Instruction::argument, .type = DType::i64, .source = DType::i64};
    const detail::Slot one{nullptr, {1, 0}};
    Handle to = counts.get();
    scatter_places(sites_.counts, count, Scattering::add, to, indices_.parts(), {&one_code, &one, 1}, where_);
    add_counted(target_, counts.get(), trace_.axis, updates_.parts(), trace_.report, where_);
  }

  void sorted(runtime::DeviceId device) {
    if (trace_.report) trace_.report->say("updates are sorted by their index and joined in runs, in a fixed order:");
    Contiguous target(target_, trace_.report);
    const Shape& shape = trace_.target.shape;
    ScatterJob job;
    job.operation = call_.operation;
    job.type = call_.type;
    for (int axis = 0; axis < shape.rank; ++axis) {
      if (axis < trace_.axis) job.outer *= shape.extents[axis];
      if (axis > trace_.axis) job.inner *= shape.extents[axis];
    }
    job.bins = shape.extents[trace_.axis];
    job.count = element_count("scatter", trace_.indices, where_);
    if (is_cuda(device) && (job.bins >= INT32_MAX || job.count >= INT32_MAX))
      fail<ShapeError>(
          "a scatter_add of {} updates into {} places of {}{}: a GPU sorts the updates of floating and complex "
          "targets, "
          "and there must be fewer than 2^31 - 1 updates and places; add to parts of the target, or, unless it is of "
          "f16 "
          "or bf16, with kl::unordered",
          job.count, job.bins, name_of(job.type), place(where_));
    const OwnedHandle keys = evaluate_keys(sites_.counts, trace_, device, indices_.parts(), where_);
    OwnedHandle computed;
    std::optional<Handle> updates = as_it_lies();
    if (!updates) {
      computed = evaluate_updates(sites_.scatter, trace_, device, updates_.parts(), where_);
      updates = computed.get();
    }
    job.one_update = is_number(updates_.parts());
    if (has_far_keys(trace_))
      job.far_keys = static_cast<const std::int64_t*>(keys.get().data);
    else
      job.keys = static_cast<const std::int32_t*>(keys.get().data);
    job.updates = updates->data;
    job.target = target.handle().data;
    if (trace_.report) {
      report_sort(job, *trace_.report);
    } else if (device.kind == runtime::DeviceKind::cpu) {
      scatter_on_host(job);
    } else {
      const runtime::NativeStream stream = current_stream(device);
      runtime::note_use(*storage_of(target.handle()), stream);
      runtime::note_use(*storage_of(*updates), stream);
      scatter_sorted(job, device, stream);
    }
    target.write_back(where_);
  }

  /// The array of updates where it can be read as it is, on the device of the target.
  std::optional<Handle> as_it_lies() const {
    const Parts& parts = updates_.parts();
    if (parts.size != 1 || parts.code[0].kind != Instruction::input) return std::nullopt;
    const Handle handle = handle_of(*parts.slots);
    if (!handle.layout || !handle.layout->contiguous || handle.layout->dtype != compute_type(call_.type))
      return std::nullopt;
    const bool fits =
        dsl::shape_of(*handle.layout) == trace_.updates && device_of(*handle.layout) == device_of(*target_.layout);
    return fits ? std::optional(handle) : std::nullopt;
  }

  detail::ScatterSites& sites_;
  const detail::ScatterCall& call_;
  Handle& target_;
  Computed indices_, updates_;
  Where where_;
  ScatterTrace trace_;
};

}  // namespace
}  // namespace kiln::dsl

namespace kiln::dsl {

void refuse_in_cpu_graph(runtime::DeviceId device, const char* what, Where where) {
  if (device.kind != runtime::DeviceKind::cpu || !runtime::recording_of(runtime::backend(device), nullptr)) return;
  fail<DeviceError>(
      "{} inside of kl::capture on the CPU device{}: it is not one kernel there, and a graph of the CPU is a list of "
      "kernels. Call it between two graphs, or capture on a GPU",
      what, place(where));
}

}  // namespace kiln::dsl

namespace kiln::detail {

void scatter(ScatterSites& sites, const ScatterCall& call, Handle& target, const Parts& indices, const Parts& updates,
             Where where) try {
  const runtime::DeviceId device = target.layout ? dsl::device_of(*target.layout) : dsl::current_device();
  dsl::refuse_in_cpu_graph(device, "writing by index (kl::scatter_add, kl::bincount, ...)", where);
  dsl::Scattered(sites, call, target, indices, updates, nullptr, where).run();
} catch (const std::bad_alloc&) {
  dsl::fail_without_memory("scatter", where);
}

Inspection* inspect_scatter(ScatterSites& sites, const ScatterCall& call, Handle& target, const Parts& indices,
                            const Parts& updates, const char* arch, Where where) try {
  if (!target.layout)
    fail<ShapeError>("inspect: a scatter into an array that has no elements yet{}: give it a shape first",
                     dsl::place(where));
  dsl::ScatterReport report(arch, dsl::device_of(*target.layout), where);
  dsl::Scattered(sites, call, target, indices, updates, &report, where).run();
  return report.finish();
} catch (const std::bad_alloc&) {
  dsl::fail_without_memory("inspect a scatter", where);
}

void check_histogram(std::int32_t bins, double lo, double hi, Where where) {
  if (bins <= 0) fail<ShapeError>("a histogram of {} parts{}: there must be at least one", bins, dsl::place(where));
  if (!(hi >= lo) || !(hi - lo <= std::numeric_limits<double>::max()))
    fail<TypeError>("a histogram from {} to {}{}: both ends must be finite, and the first not above the second", lo, hi,
                    dsl::place(where));
}

void check_vector(const char* what, const std::int64_t* shape, int rank, Where where) {
  if (rank == 1) return;
  const std::string extents =
      shape ? "has shape " + dsl::to_text({shape, static_cast<std::size_t>(rank)}) : fmt::format("has {} axes", rank);
  fail<ShapeError>("kl::ufunc: {} {}{}; give a vector: reshape({{-1}}) makes one", what, extents, dsl::place(where));
}

void no_axis_to_stretch(Where where) {
  fail<ShapeError>("reduceat of a kl::ufunc on a single number{}: it joins stretches of the last axis",
                   dsl::place(where));
}

}  // namespace kiln::detail
