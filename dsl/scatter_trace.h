// dsl/scatter_trace.h -- the traced parts of a scatter: places, keys and updates as values of ordinary kernels.
#pragma once

#include <kiln/detail/program.h>

#include "dsl/array_memory.h"

namespace kiln::dsl {

class ScatterReport;

/// What a trace of a scatter depends on, and the numbers that its kernels take.
struct ScatterTrace {
  Strided target;
  int axis = 0;
  DType type = DType::f32;
  Shape indices, updates;
  ScatterReport* report = nullptr;  ///< gets an inspection of each step, which then computes nothing
};

/// Joins the updates to the target in one kernel, atomically. Operands do not overlap the target.
void scatter_places(detail::Site& site, const ScatterTrace& trace, detail::Scattering operation, detail::Handle& target,
                    const detail::Parts& indices, const detail::Parts& updates, Where where);

/// The two outputs of that kernel, into arrays of shape trace.updates where `scatter` is null: the updates in the
/// target's type, and their i64 places, counted in elements from the first one of the target in memory; -1: dropped.
void evaluate_places(detail::Site& site, const ScatterTrace& trace, const detail::Layout& target,
                     const detail::Parts& indices, const detail::Parts& updates, detail::Target* targets,
                     const detail::ScatterTarget* scatter, Where where);

/// Numbers of the places along the axis, in C order of the indices; the axis' extent where there is none. i32 where
/// that holds the extent, else i64.
OwnedHandle evaluate_keys(detail::Site& site, const ScatterTrace& trace, runtime::DeviceId device,
                          const detail::Parts& indices, Where where);
/// True for axes of so many places that their keys are i64.
bool has_far_keys(const ScatterTrace& trace);

/// The updates in compute_type(trace.type), broadcast to trace.updates in C order; a number is one element.
OwnedHandle evaluate_updates(detail::Site& site, const ScatterTrace& trace, runtime::DeviceId device,
                             const detail::Parts& updates, Where where);

/// target += number * counts, which run along `axis`.
void add_counted(detail::Handle& target, const detail::Handle& counts, int axis, const detail::Parts& number,
                 ScatterReport* report, Where where);

void fill_zero(const detail::Handle& array, ScatterReport* report, Where where);

/// Evaluates, or adds an inspection to the report where there is one.
void run_step(detail::Site& site, const detail::Evaluation& evaluation, ScatterReport* report);

}  // namespace kiln::dsl
