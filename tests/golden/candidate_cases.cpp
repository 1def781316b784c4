// tests/golden/candidate_cases.cpp -- representative kernels on small arrays, and a card so small that these fill it.
#include "tests/golden/candidate_cases.h"

#include <cstdio>
#include <cstdlib>

namespace kiln::golden {
namespace {

constexpr std::size_t most = 12;

Case named(const std::string& name) {
  for (const auto& list : {cases(), golden_reductions(), golden_columns(), golden_scans()}) {
    for (const Case& test : list)
      if (test.name == name) return test;
  }
  std::fprintf(stderr, "no golden case %s\n", name.c_str());
  std::abort();
}

CandidateCase with_candidates(std::string name, codegen::Kernel kernel, std::vector<std::int64_t> extents,
                              int multiprocessors) {
  CandidateCase test{std::move(name), std::move(kernel), {std::move(extents)}, {}};
  codegen::DeviceTraits card = device();
  card.multiprocessors = multiprocessors;
  const codegen::Schedule heuristic = codegen::choose_schedule(test.kernel, test.extents, card);
  test.candidates = codegen::tuning_candidates(test.kernel, test.extents, heuristic, card, most, false);
  return test;
}

}  // namespace

std::vector<CandidateCase> candidate_cases() {
  const auto golden = [](const char* name, const char* golden_name, std::vector<std::int64_t> extents,
                         int multiprocessors = 132) {
    return with_candidates(name, named(golden_name).kernel, std::move(extents), multiprocessors);
  };
  const auto kernel = [](const char* name, codegen::Kernel of, std::vector<std::int64_t> extents,
                         int multiprocessors = 132) {
    return with_candidates(name, std::move(of), std::move(extents), multiprocessors);
  };
  return {golden("flat", "saxpy_f32", {20011}, 1),
          golden("row_wise", "row_column_scalars_f32", {37, 1021}),
          golden("turned", "transpose_add_f32", {132, 72}),
          golden("dense", "dense_points_f32", {1001, 3}),
          kernel("short_rows", softmax_kernel(DType::f32), {67, 96}),
          kernel("many_short_rows", sum_kernel(DType::f32, "sc", 1), {700, 40}, 1),
          kernel("block_rows", layernorm_kernel(DType::f32), {40, 1200}, 1),
          kernel("rows_in_turn", joined_softmax_kernel(DType::bf16), {50, 8192}, 1),
          kernel("split_rows", sum_kernel(DType::f32, "sc", 1), {3, 40000}),
          kernel("moments", moments_kernel(DType::f32), {40, 1000}),
          kernel("argmax", argmax_kernel(DType::f32, "sc"), {9, 5000}),
          golden("columns", "column_sum_f32", {260, 300}),
          golden("split_columns", "column_sum_f32", {128, 5000}),
          golden("column_moments", "column_moments_f32", {64, 3000}),
          golden("held_columns", "column_softmax_f32", {96, 50}),
          golden("scan_short_rows", "scan_short_rows_f32", {70, 60}),
          golden("scan_long_rows", "scan_short_rows_f32", {3, 5000}),
          golden("scan_columns", "scan_columns_f32", {64, 500}, 1)};
}

}  // namespace kiln::golden
