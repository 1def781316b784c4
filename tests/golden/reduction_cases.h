// tests/golden/reduction_cases.h -- kernels with reduced axes, each with a schedule that fixes its text.
#pragma once

#include <string>
#include <vector>

#include "tests/golden/kernels.h"

namespace kiln::golden {

struct ReductionCase {
  std::string name;  ///< an identifier
  codegen::Kernel kernel;
  codegen::Schedule schedule;
};

/// Bodies, by what they compute. `axes` are those of the first operand; the reduced ones come last.
codegen::Kernel sum_kernel(DType type, std::string_view axes, int reduced, int alignment = 16);
codegen::Kernel softmax_kernel(DType type, int alignment = 16);
/// The same after join_exponential_sums.
codegen::Kernel joined_softmax_kernel(DType type, int alignment = 16);
codegen::Kernel ratio_kernel(DType type = DType::f32, int alignment = 16);  ///< x / max(x)
codegen::Kernel layernorm_kernel(DType type, int alignment = 16);
codegen::Kernel logsumexp_kernel(DType type, bool beside_sum = false, int alignment = 16);
codegen::Kernel argmax_kernel(DType type, std::string_view axes, int alignment = 16);
codegen::Kernel moments_kernel(DType type, int alignment = 16);  ///< mean and variance, by joining (count, mean, M2)
codegen::Kernel user_combiner_kernel();        ///< two components: smallest magnitude and how often it occurs
codegen::Kernel several_in_one_pass_kernel();  ///< sum, max, product, any of one operand; and a row load
codegen::Kernel integer_kernel();              ///< i8 -> i64 sum and u8 max
codegen::Kernel two_kept_two_reduced_kernel(codegen::IndexWidth index, int alignment);

/// Representative ones whose text is compared, with the extents of the benchmarks.
std::vector<Case> golden_reductions();
std::vector<Case> golden_columns();
std::vector<Case> golden_scans();

/// What the emulation runs: every form of row and of column reduction with bodies of every kind.
std::vector<ReductionCase> row_cases();
std::vector<ReductionCase> column_cases();
std::vector<ReductionCase> scan_cases();

}  // namespace kiln::golden
