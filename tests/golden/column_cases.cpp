// tests/golden/column_cases.cpp -- which bodies the emulation runs in which forms of column reduction.
#include <algorithm>

#include "codegen/ir/stages.h"
#include "tests/golden/reduction_cases.h"

namespace kiln::golden {
namespace {

using codegen::AxisClass;
using codegen::IndexWidth;
using codegen::Kernel;
using codegen::Schedule;

Schedule form(int block, int vector, int items) {
  Schedule schedule;
  schedule.form = codegen::Template::column_reduction;
  schedule.block = block;
  schedule.vector = vector;
  schedule.items = items;
  schedule.whole_vectors = true;
  return schedule;
}
Schedule held(Schedule schedule) {
  schedule.resident = true;
  return schedule;
}
Schedule split(Schedule schedule) {
  schedule.split = true;
  return schedule;
}

/// The kernel over the same values, its operands contiguous along the last kept axis instead of the last reduced one.
Kernel turned(Kernel kernel) {
  const auto kept = static_cast<std::size_t>(kernel.rank - kernel.reduced - 1);
  for (codegen::Access& access : kernel.accesses) {
    if (access.iota || !codegen::is_per_element(kernel, access)) continue;
    if (access.axes.back() == AxisClass::contiguous) access.axes.back() = AxisClass::strided;
    if (access.axes[kept] == AxisClass::strided) access.axes[kept] = AxisClass::contiguous;
  }
  return kernel;
}

}  // namespace

std::vector<Case> golden_columns() {
  return {{"column_sum_f32", sum_kernel(DType::f32, "cs", 1), {{16384, 16384}}},
          {"column_sum_split_bf16", sum_kernel(DType::bf16, "cs", 1), {{64, 1 << 22}}},
          {"middle_sum_f32", sum_kernel(DType::f32, "scs", 1), {{64, 1024, 4096}}},
          {"column_moments_f32", turned(moments_kernel(DType::f32)), {{256, 262144}}},
          {"column_softmax_f32", turned(softmax_kernel(DType::f32)), {{65536, 1024}}},
          {"column_softmax_long_bf16", turned(softmax_kernel(DType::bf16)), {{16384, 16384}}},
          {"column_several_f32", turned(several_in_one_pass_kernel()), {{4096, 1000}}}};
}

std::vector<ReductionCase> column_cases() {
  std::vector<ReductionCase> cases;
  const Kernel sum = sum_kernel(DType::f32, "cs", 1);
  cases.push_back({"column_sum", sum, form(64, 4, 8)});
  cases.push_back({"column_sum_split", sum, split(form(64, 4, 8))});
  cases.push_back({"column_sum_single", sum_kernel(DType::f32, "cs", 1, 4), form(64, 1, 16)});
  cases.push_back({"column_sum_misaligned", sum_kernel(DType::f32, "cs", 1, 8), form(64, 4, 4)});
  cases.push_back({"column_sum_strided", sum_kernel(DType::f32, "ss", 1, 4), form(64, 2, 4)});
  cases.push_back({"column_sum_bf16", sum_kernel(DType::bf16, "cs", 1), split(form(64, 8, 4))});
  cases.push_back({"column_sum_f64", sum_kernel(DType::f64, "cs", 1), form(64, 2, 8)});
  cases.push_back({"column_sum_middle", sum_kernel(DType::f32, "scs", 1), form(64, 4, 4)});
  cases.push_back({"column_sum_axes", sum_kernel(DType::f32, "scss", 2), split(form(64, 4, 4))});
  for (const DType type : {DType::f32, DType::bf16}) {
    const std::string name = type == DType::f32 ? "_f32" : "_bf16";
    const int vector = type == DType::f32 ? 4 : 8;
    cases.push_back({"column_softmax_held" + name, turned(softmax_kernel(type)), held(form(64, vector, 8))});
    cases.push_back({"column_softmax_again" + name, turned(softmax_kernel(type)), form(64, vector, 4)});
    cases.push_back({"column_layernorm_held" + name, turned(layernorm_kernel(type)), held(form(64, vector, 4))});
    cases.push_back({"column_layernorm_again" + name, turned(layernorm_kernel(type)), form(64, vector, 4)});
    cases.push_back({"column_logsumexp" + name, turned(logsumexp_kernel(type)), split(form(64, vector, 4))});
  }
  cases.push_back({"column_argmax", argmax_kernel(DType::f32, "cs"), form(64, 1, 8)});
  cases.push_back({"column_argmax_split", argmax_kernel(DType::f32, "cs"), split(form(64, 4, 2))});
  cases.push_back({"column_moments", turned(moments_kernel(DType::f32)), form(64, 4, 8)});
  cases.push_back({"column_moments_parts", turned(moments_kernel(DType::f32)), split(form(64, 4, 8))});
  cases.push_back({"column_moments_split", turned(moments_kernel(DType::bf16)), split(form(64, 8, 4))});
  cases.push_back({"column_user", turned(user_combiner_kernel()), split(form(64, 4, 4))});
  cases.push_back({"column_several", turned(several_in_one_pass_kernel()), split(form(64, 4, 4))});
  cases.push_back({"column_integers", turned(integer_kernel()), split(form(64, 8, 4))});
  const auto add = [&](const char* name, const Kernel& kernel, std::vector<std::int64_t> extents, int block,
                       int items) {
    codegen::LaunchWish wish;
    wish.block[0] = block;
    wish.items = items;
    cases.push_back({name, kernel, wished(kernel, {std::move(extents)}, wish)});
  };
  add("column_wish_block", sum, {16384, 16384}, 64, 0);
  add("column_wish_items", sum, {16384, 16384}, 128, 12);
  add("column_wish_split", sum, {64, 1 << 22}, 128, 8);
  add("column_wish_held", turned(softmax_kernel(DType::f32)), {65536, 1024}, 128, 16);
  add("column_wish_again", turned(softmax_kernel(DType::f32)), {65536, 1024}, 64, 4);
  const Kernel axes = turned(two_kept_two_reduced_kernel(IndexWidth::bits32, 4));
  cases.push_back({"column_axes_held", axes, held(form(64, 1, 8))});
  cases.push_back({"column_axes_again", axes, form(64, 1, 4)});
  cases.push_back({"column_axes_vectors", turned(two_kept_two_reduced_kernel(IndexWidth::bits32, 16)), form(64, 4, 2)});
  cases.push_back({"column_axes_wide", turned(two_kept_two_reduced_kernel(IndexWidth::bits64, 4)), form(64, 2, 2)});
  Kernel wide = sum;
  wide.index = IndexWidth::bits64;
  cases.push_back({"column_layers", wide, form(64, 4, 8)});
  cases.back().schedule.layers = true;
  return cases;
}

}  // namespace kiln::golden
