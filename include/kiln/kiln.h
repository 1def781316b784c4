// kiln/kiln.h -- everything: include this.
#pragma once

#include <kiln/detail/compiler.h>
#if defined(KILN_COMPILER_FITS)

#include <span>   // for kl::from_host(std::span{...}, shape)
#include <tuple>  // for several results: without it std::tuple(a, b) is a page of errors; 10 ms

// In order of dependence, each header first from here: error messages then list few "included from" lines.
// clang-format off
#include <kiln/dtype.h>
#include <kiln/op.h>
#include <kiln/detail/bridge.h>
#include <kiln/detail/program.h>
#include <kiln/detail/rules.h>
#include <kiln/detail/reduction_rules.h>
#include <kiln/detail/structure.h>
#include <kiln/detail/element.h>
#include <kiln/detail/standard_functions.h>
#include <kiln/detail/compose.h>
#include <kiln/detail/operators.h>
#include <kiln/detail/axes.h>
#include <kiln/shape.h>
#include <kiln/detail/view_operations.h>
#include <kiln/expr.h>
#include <kiln/sym.h>
#include <kiln/functions.h>
#include <kiln/gather.h>
#include <kiln/detail/combiner.h>
#include <kiln/reductions.h>
#include <kiln/shift.h>
#include <kiln/device.h>
#include <kiln/detail/assignment.h>
#include <kiln/array.h>
#include <kiln/detail/array_mistakes.h>
#include <kiln/inspect.h>
#include <kiln/eval.h>
#include <kiln/print.h>
#include <kiln/create.h>
#include <kiln/scatter.h>
#include <kiln/options.h>
#include <kiln/detail/jit_arguments.h>
#include <kiln/detail/raw_arguments.h>
#include <kiln/jit.h>
#include <kiln/user_function.h>
#include <kiln/ufunc.h>
#include <kiln/detail/loops.h>
#include <kiln/gufunc.h>
#include <kiln/raw_kernel.h>
#include <kiln/graph.h>
#include <kiln/random.h>
#include <kiln/npy.h>
#include <kiln/bundle.h>
#include <kiln/error.h>
#include <kiln/detail/refusals.h>
// clang-format on

#endif
