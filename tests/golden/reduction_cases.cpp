// tests/golden/reduction_cases.cpp -- which bodies the emulation runs in which forms of row reduction.
#include "tests/golden/reduction_cases.h"

#include <fmt/format.h>

namespace kiln::golden {
namespace {

using codegen::IndexWidth;
using codegen::Kernel;
using codegen::Schedule;

Schedule form(int block, int lanes, int vector, int items, int rows = 1) {
  Schedule schedule;
  schedule.form = codegen::Template::row_reduction;
  schedule.block = block;
  schedule.lanes = lanes;
  schedule.vector = vector;
  schedule.items = items;
  schedule.rows = rows;
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
Schedule vectors(Schedule schedule) {
  schedule.whole_vectors = true;
  return schedule;
}
Schedule whole(Schedule schedule) {
  schedule.whole_rows = schedule.whole_vectors = true;
  return schedule;
}

Schedule shifted(Schedule schedule) {
  schedule.shifted = true;
  return schedule;
}

void sums(std::vector<ReductionCase>& cases) {
  const Kernel sum = sum_kernel(DType::f32, "sc", 1);
  cases.push_back({"sum_lane", sum, held(form(32, 1, 4, 1))});
  cases.push_back({"sum_lanes8", sum, held(form(64, 8, 4, 1, 4))});
  cases.push_back({"sum_lanes16_whole", sum, whole(held(form(64, 16, 4, 1, 2)))});
  cases.push_back({"sum_warp", sum, held(form(64, 32, 4, 3))});
  cases.push_back({"sum_block_held", sum, vectors(held(form(64, 64, 4, 2)))});
  cases.push_back({"sum_block_whole", sum, whole(held(form(128, 128, 4, 2)))});
  cases.push_back({"sum_block_rows", sum, held(form(64, 64, 4, 1, 2))});
  cases.push_back({"sum_steps", sum, form(64, 64, 4, 2)});
  cases.push_back({"sum_steps_whole", sum, whole(form(64, 64, 4, 2))});
  cases.push_back({"sum_split", sum, split(form(64, 64, 4, 2))});
  cases.push_back({"sum_wide_block", sum, form(512, 512, 4, 1)});
  cases.push_back({"sum_bf16_steps", sum_kernel(DType::bf16, "sc", 1), form(64, 64, 8, 2)});
  cases.push_back({"sum_misaligned", sum_kernel(DType::f32, "sc", 1, 4), held(form(64, 32, 4, 2))});
  cases.push_back({"sum_strided", sum_kernel(DType::f32, "ss", 1, 4), form(64, 64, 1, 4)});
  cases.push_back({"sum_f64", sum_kernel(DType::f64, "sc", 1), form(64, 64, 2, 2)});
  cases.push_back({"sum_full", sum_kernel(DType::f32, "c", 1), split(form(64, 64, 4, 2))});
  cases.push_back({"sum_full_held", sum_kernel(DType::f32, "c", 1), held(form(64, 64, 4, 2))});
  cases.push_back({"sum_three_kept", sum_kernel(DType::f32, "sssc", 1), held(form(64, 8, 4, 2, 2))});
}

void chains(std::vector<ReductionCase>& cases) {
  const Kernel softmax = softmax_kernel(DType::f32), half = softmax_kernel(DType::bf16);
  cases.push_back({"softmax_lanes8", softmax, held(form(64, 8, 4, 2, 2))});
  cases.push_back({"softmax_warp", half, held(form(64, 32, 8, 2))});
  cases.push_back({"softmax_block", half, vectors(held(form(64, 64, 8, 4)))});
  cases.push_back({"softmax_block_whole", half, whole(held(form(64, 64, 8, 2)))});
  cases.push_back({"softmax_steps", half, form(64, 64, 8, 2)});
  cases.push_back({"joined_steps", joined_softmax_kernel(DType::bf16), form(64, 64, 8, 2)});
  cases.push_back({"softmax_misaligned", softmax_kernel(DType::bf16, 2), held(form(64, 64, 1, 8))});
  Schedule ahead = vectors(held(form(64, 64, 8, 2)));
  ahead.grid = 7;
  cases.push_back({"softmax_ahead", half, ahead});
  ahead.vector = 4, ahead.whole_vectors = false;
  cases.push_back({"ratio_ahead", ratio_kernel(), ahead});
  cases.push_back({"ratio_warp", ratio_kernel(), held(form(64, 32, 4, 2))});
  cases.push_back({"ratio_rounded", ratio_kernel(DType::bf16), held(form(64, 32, 4, 2))});
  cases.push_back({"ratio_steps", ratio_kernel(), form(64, 64, 4, 1)});
  const Kernel layernorm = layernorm_kernel(DType::bf16);
  cases.push_back({"layernorm_block", layernorm, held(form(64, 64, 8, 2))});
  cases.push_back({"layernorm_rows", layernorm, vectors(held(form(64, 16, 8, 1, 2)))});
  cases.push_back({"layernorm_steps", layernorm, form(128, 128, 8, 1)});
}

/// Rows that start anywhere, by vectors that are aligned.
void shifts(std::vector<ReductionCase>& cases) {
  const Kernel sum = sum_kernel(DType::f32, "sc", 1, 4), bf16 = sum_kernel(DType::bf16, "sc", 1, 2);
  const Kernel softmax = softmax_kernel(DType::bf16, 2);
  cases.push_back({"shifted_sum_lanes", sum, shifted(held(form(64, 8, 4, 2, 2)))});
  cases.push_back({"shifted_sum_warp", bf16, shifted(held(form(64, 32, 8, 2)))});
  cases.push_back({"shifted_sum_block", bf16, shifted(held(form(96, 96, 8, 1)))});
  cases.push_back({"shifted_sum_steps", bf16, shifted(form(64, 64, 8, 2))});
  cases.push_back({"shifted_sum_split", sum, shifted(split(form(64, 64, 4, 1)))});
  cases.push_back({"shifted_sum_wide", sum_kernel(DType::f32, "sssc", 1, 4), shifted(held(form(64, 16, 4, 2, 2)))});
  cases.push_back({"shifted_softmax_lanes", softmax, shifted(held(form(64, 8, 8, 2, 2)))});
  cases.push_back({"shifted_softmax_block", softmax, shifted(held(form(160, 160, 8, 2)))});
  cases.push_back({"shifted_softmax_steps", softmax, shifted(form(64, 64, 8, 1))});
  cases.push_back({"shifted_layernorm_warp", layernorm_kernel(DType::bf16, 2), shifted(held(form(64, 32, 8, 2)))});
  cases.push_back({"shifted_layernorm_steps", layernorm_kernel(DType::bf16, 2), shifted(form(64, 64, 8, 2))});
  cases.push_back({"shifted_argmax", argmax_kernel(DType::f32, "sc", 4), shifted(held(form(64, 64, 4, 2)))});
  cases.push_back({"shifted_argmax_steps", argmax_kernel(DType::f32, "sc", 4), shifted(form(64, 64, 4, 1))});
  cases.push_back({"shifted_moments", moments_kernel(DType::f32, 4), shifted(form(64, 64, 4, 2))});
  cases.push_back({"shifted_logsumexp", logsumexp_kernel(DType::bf16, false, 2), shifted(form(64, 64, 8, 2))});
  const auto cluster = [](int blocks, int vector, int items, int in_shared) {
    Schedule schedule = shifted(held(form(64, 64 * blocks, vector, items)));
    schedule.cluster = blocks;
    schedule.tile = in_shared;
    return schedule;
  };
  cases.push_back({"shifted_cluster_softmax", softmax, cluster(4, 8, 3, 1)});
  cases.push_back({"shifted_cluster_layernorm", layernorm_kernel(DType::bf16, 2), cluster(2, 8, 6, 4)});
  cases.push_back({"shifted_cluster_joined", joined_softmax_kernel(DType::f32, 4), cluster(2, 4, 3, 2)});
  cases.push_back({"shifted_maximum", ratio_kernel(DType::bf16, 2), shifted(held(form(64, 64, 8, 2)))});
}

/// Blocks of any number of warps that join_block takes.
void blocks(std::vector<ReductionCase>& cases) {
  const Kernel argmax = argmax_kernel(DType::f32, "sc");
  for (const int warps : {10, 12})
    cases.push_back({fmt::format("block_of_{}_warps", warps), argmax, held(form(32 * warps, 32 * warps, 4, 1))});
}

/// Clusters of small blocks; `in_shared` vectors of each thread lie in shared memory.
Schedule together(int cluster, int vector, int items, int in_shared) {
  Schedule schedule = vectors(held(form(64, 64 * cluster, vector, items)));
  schedule.cluster = cluster;
  schedule.tile = in_shared;
  return schedule;
}

/// Two clusters take the rows in turn.
Schedule in_turn(Schedule schedule) {
  schedule.grid = 2 * schedule.cluster;
  return schedule;
}

void clusters(std::vector<ReductionCase>& cases) {
  const Kernel softmax = softmax_kernel(DType::f32), half = softmax_kernel(DType::bf16);
  cases.push_back({"cluster2_softmax", softmax, together(2, 4, 3, 2)});
  cases.push_back({"cluster4_softmax", half, together(4, 8, 3, 1)});
  cases.push_back({"cluster4_registers", half, together(4, 8, 2, 0)});
  cases.push_back({"cluster2_layernorm", layernorm_kernel(DType::bf16), together(2, 8, 6, 4)});
  cases.push_back({"cluster2_joined", joined_softmax_kernel(DType::f32), together(2, 4, 3, 2)});
  cases.push_back({"turns2_softmax", softmax, in_turn(together(2, 4, 7, 5))});
  cases.push_back({"turns2_joined", joined_softmax_kernel(DType::f32), in_turn(together(2, 4, 7, 5))});
  cases.push_back({"turns4_joined", joined_softmax_kernel(DType::bf16), in_turn(together(4, 8, 3, 2))});
  cases.push_back({"turns2_whole", joined_softmax_kernel(DType::f32), in_turn(whole(together(2, 4, 2, 1)))});
  cases.push_back({"turns2_layernorm", layernorm_kernel(DType::bf16), in_turn(together(2, 8, 6, 4))});
  cases.push_back({"turns2_axes", two_kept_two_reduced_kernel(IndexWidth::bits32, 16), in_turn(together(2, 4, 2, 1))});
  cases.push_back({"cluster2_axes", two_kept_two_reduced_kernel(IndexWidth::bits32, 16), together(2, 4, 2, 1)});
}

/// Elements of one, two and eight bytes in all forms of rows that start anywhere or are not whole vectors.
void types(std::vector<ReductionCase>& cases) {
  for (const DType type : {DType::i8, DType::i16}) {
    const std::string name = type == DType::i8 ? "i8" : "i16";
    const int alignment = type == DType::i8 ? 1 : 2;
    cases.push_back({name + "_softmax_lanes", softmax_kernel(type), held(form(64, 16, 4, 2, 2))});
    cases.push_back({name + "_softmax_elements", softmax_kernel(type, alignment), form(64, 64, 1, 4)});
    cases.push_back({name + "_softmax_cluster", softmax_kernel(type), together(2, 4, 4, 2)});
    cases.push_back({name + "_layernorm_block", layernorm_kernel(type), held(form(96, 96, 4, 3))});
    cases.push_back({name + "_logsumexp_steps", logsumexp_kernel(type), form(64, 64, 8, 1)});
    cases.push_back({name + "_moments_warp", moments_kernel(type), held(form(64, 32, 8, 2))});
    cases.push_back({name + "_sum_elements", sum_kernel(type, "sc", 1, alignment), form(64, 64, 1, 8)});
  }
  const Kernel softmax = softmax_kernel(DType::f64, 8), layernorm = layernorm_kernel(DType::f64, 8);
  cases.push_back({"f64_sum_shifted", sum_kernel(DType::f64, "sc", 1, 8), shifted(held(form(64, 32, 2, 4)))});
  cases.push_back({"f64_sum_split", sum_kernel(DType::f64, "sc", 1, 8), shifted(split(form(64, 64, 2, 2)))});
  cases.push_back({"f64_softmax_lanes", softmax_kernel(DType::f64), held(form(64, 8, 2, 2, 2))});
  cases.push_back({"f64_softmax_shifted", softmax, shifted(held(form(64, 64, 2, 4)))});
  cases.push_back({"f64_softmax_steps", softmax, shifted(form(64, 64, 2, 2))});
  cases.push_back({"f64_layernorm_shifted", layernorm, shifted(held(form(96, 96, 2, 3)))});
  cases.push_back({"f64_layernorm_steps", layernorm, form(64, 64, 1, 4)});
  cases.push_back({"f64_logsumexp_steps", logsumexp_kernel(DType::f64, false, 8), shifted(form(64, 64, 2, 2))});
  cases.push_back({"f64_moments_steps", moments_kernel(DType::f64, 8), shifted(form(64, 64, 2, 1))});
  Schedule cluster = shifted(held(form(64, 128, 2, 5)));
  cluster.cluster = 2, cluster.tile = 4;
  cases.push_back({"f64_softmax_cluster", softmax, cluster});
}

/// What choose_schedule chose for these extents, in the caller's blocks and elements per thread.
void wishes(std::vector<ReductionCase>& cases) {
  const Kernel sum = sum_kernel(DType::f32, "sc", 1), softmax = softmax_kernel(DType::bf16);
  const auto add = [&](const char* name, const Kernel& kernel, std::vector<std::int64_t> extents, int block,
                       int items) {
    codegen::LaunchWish wish;
    wish.block[0] = block;
    wish.items = items;
    cases.push_back({name, kernel, wished(kernel, {std::move(extents)}, wish)});
  };
  add("wish_lanes_block", sum, {1 << 20, 64}, 64, 0);
  add("wish_lanes_items", sum, {1 << 20, 64}, 0, 4);
  add("wish_lanes_to_block", sum, {1 << 20, 512}, 128, 4);
  add("wish_block", sum, {4096, 1024}, 64, 0);
  add("wish_block_items", sum, {4096, 1024}, 64, 16);
  add("wish_block_to_lanes", sum, {4096, 1024}, 32, 32);
  add("wish_not_held", sum, {4096, 1024}, 32, 8);
  add("wish_split", sum_kernel(DType::f32, "c", 1), {1 << 26}, 64, 8);
  add("wish_softmax", softmax, {4096, 1024}, 128, 0);
  add("wish_softmax_again", softmax, {4096, 1024}, 64, 8);
  add("wish_softmax_items", softmax, {65536, 256}, 32, 16);
}

/// More blocks than a grid has along x: they go on along y and z.
void layers(std::vector<ReductionCase>& cases) {
  const auto add = [&](const char* name, Kernel kernel, Schedule schedule) {
    kernel.index = IndexWidth::bits64;
    schedule.layers = true;
    cases.push_back({name, std::move(kernel), std::move(schedule)});
  };
  add("layers_lanes", sum_kernel(DType::f32, "sc", 1), held(form(64, 8, 4, 2, 2)));
  add("layers_held", softmax_kernel(DType::bf16), held(form(64, 64, 8, 6)));
  add("layers_steps", two_kept_two_reduced_kernel(IndexWidth::bits64, 4), form(64, 64, 1, 2));
  add("layers_cluster", moments_kernel(DType::f32), together(2, 4, 4, 2));
}

}  // namespace

std::vector<Case> golden_reductions() {
  return {{"row_sum_f32", sum_kernel(DType::f32, "sc", 1), {{1 << 22, 64}}},
          {"row_sum_long_f32", sum_kernel(DType::f32, "sc", 1), {{16384, 16384}}},
          {"full_sum_f32", sum_kernel(DType::f32, "c", 1), {{1 << 28}}},
          {"softmax_bf16", softmax_kernel(DType::bf16), {{65536, 4096}}},
          {"softmax_long_bf16", softmax_kernel(DType::bf16), {{8192, 32768}}},
          {"softmax_cluster_f32", joined_softmax_kernel(DType::f32), {{64, 1 << 20}}},
          {"softmax_f32", softmax_kernel(DType::f32), {{65536, 4096}}},
          {"layernorm_bf16", layernorm_kernel(DType::bf16), {{65536, 4096}}},
          {"logsumexp_bf16", logsumexp_kernel(DType::bf16), {{4096, 128256}}},
          {"argmax_f32", argmax_kernel(DType::f32, "c"), {{1 << 28}}},
          {"moments_f32", moments_kernel(DType::f32), {{64, 1 << 22}}},
          {"user_combiner_f32", user_combiner_kernel(), {{4096, 1000}}}};
}

std::vector<ReductionCase> row_cases() {
  std::vector<ReductionCase> cases;
  sums(cases);
  chains(cases);
  shifts(cases);
  blocks(cases);
  types(cases);
  clusters(cases);
  wishes(cases);
  layers(cases);
  cases.push_back({"logsumexp_steps", logsumexp_kernel(DType::bf16), form(64, 64, 8, 2)});
  cases.push_back({"logsumexp_f32", logsumexp_kernel(DType::f32), form(64, 64, 4, 2)});
  cases.push_back({"logsumexp_beside_sum", logsumexp_kernel(DType::f32, true), form(64, 64, 4, 2)});
  cases.push_back({"joined_f32", joined_softmax_kernel(DType::f32), form(64, 64, 4, 2)});
  cases.push_back({"logsumexp_split", logsumexp_kernel(DType::f32), split(form(64, 64, 4, 2))});
  cases.push_back({"argmax_steps", argmax_kernel(DType::f32, "sc"), form(64, 64, 4, 2)});
  cases.push_back({"argmax_lanes", argmax_kernel(DType::f32, "sc"), held(form(64, 16, 4, 2, 2))});
  cases.push_back({"argmax_full", argmax_kernel(DType::f32, "c"), split(form(64, 64, 4, 1))});
  cases.push_back({"moments_steps", moments_kernel(DType::f32), form(64, 64, 4, 2)});
  cases.push_back({"moments_split", moments_kernel(DType::f32), split(form(64, 64, 4, 2))});
  cases.push_back({"user_steps", user_combiner_kernel(), form(64, 64, 4, 2)});
  cases.push_back({"user_lanes", user_combiner_kernel(), held(form(64, 32, 4, 1))});
  cases.push_back({"several_steps", several_in_one_pass_kernel(), form(64, 64, 4, 2)});
  cases.push_back({"several_lanes", several_in_one_pass_kernel(), held(form(64, 8, 4, 2, 2))});
  cases.push_back({"integers_steps", integer_kernel(), form(64, 64, 16, 1)});
  cases.push_back({"integers_lanes", integer_kernel(), held(form(64, 8, 16, 1))});
  const Kernel axes = two_kept_two_reduced_kernel(IndexWidth::bits32, 4);
  cases.push_back({"axes_held", axes, held(form(64, 64, 1, 4))});
  cases.push_back({"axes_steps", axes, form(64, 64, 1, 4)});
  cases.push_back(
      {"axes_vectors", two_kept_two_reduced_kernel(IndexWidth::bits32, 16), vectors(held(form(64, 32, 4, 2, 2)))});
  cases.push_back({"axes_wide", two_kept_two_reduced_kernel(IndexWidth::bits64, 4), form(64, 64, 1, 2)});
  return cases;
}

}  // namespace kiln::golden
