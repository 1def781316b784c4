// tests/golden/scan_cases.cpp -- which bodies the emulation runs in which forms of scan.
#include "tests/golden/reduction_cases.h"

namespace kiln::golden {
namespace {

using codegen::IndexWidth;
using codegen::Kernel;
using codegen::NodeId;
using codegen::Reduction;
using codegen::Schedule;

/// `lanes` 0: by columns, `rows` threads of the block along the scan.
Schedule form(int block, int lanes, int vector, int items, int rows = 1) {
  Schedule schedule;
  schedule.form = codegen::Template::scan;
  schedule.block = block;
  schedule.lanes = lanes;
  schedule.vector = vector;
  schedule.items = items;
  schedule.rows = rows;
  schedule.whole_vectors = lanes == 0;
  return schedule;
}
Schedule split(Schedule schedule) {
  schedule.split = true;
  return schedule;
}

NodeId scan(Builder& b, Reduction kind, NodeId value) {
  codegen::ReductionSpec spec;
  spec.kind = kind;
  return b.kernel.body.scan(spec, b.kernel.body[value].type, {value});
}

Builder along(std::string_view axes, IndexWidth index, std::string comment) {
  Builder b(static_cast<int>(axes.size()), index, std::move(comment));
  b.kernel.reduced = 1;
  return b;
}

Kernel cumsum(DType type, std::string_view axes, int alignment = 16, IndexWidth index = IndexWidth::bits32) {
  Builder b = along(axes, index, "cumsum(x)");
  const DType computed = type == DType::bf16 ? DType::f32 : type;
  const NodeId x = b.cast(b.load(type, axes, alignment), computed);
  b.store(b.cast(scan(b, Reduction::sum, x), type), axes, alignment);
  return b.finish();
}

/// Siblings with producers and consumers, an operand per row and positions.
Kernel several(std::string_view axes, std::string_view per_row) {
  Builder b = along(axes, IndexWidth::bits32, "x - cumsum(x * s), cummax(x), position - cummin(x)");
  const NodeId x = b.load(DType::f32, axes), s = b.load(DType::f32, per_row, 4);
  std::string positions(axes.size(), 'b');
  positions.back() = 'c';
  const NodeId position = b.cast(b.iota(positions), DType::f32);
  b.store(b.op(Op::sub, {x, scan(b, Reduction::sum, b.op(Op::mul, {x, s}))}), axes);
  b.store(scan(b, Reduction::max, x), axes);
  b.store(b.op(Op::sub, {position, scan(b, Reduction::min, x)}), axes);
  return b.finish();
}

/// A scan of a scan, and a consumer of both.
Kernel nested(std::string_view axes) {
  Builder b = along(axes, IndexWidth::bits32, "cumsum(cummax(x)) - cummax(x)");
  const NodeId high = scan(b, Reduction::max, b.load(DType::f32, axes));
  b.store(b.op(Op::sub, {scan(b, Reduction::sum, high), high}), axes);
  return b.finish();
}

Kernel integers(std::string_view axes) {
  Builder b = along(axes, IndexWidth::bits32, "cumsum(x) in i64, cummax(u)");
  const NodeId x = b.load(DType::i8, axes, 4), u = b.load(DType::u8, axes, 4);
  b.store(scan(b, Reduction::sum, b.cast(x, DType::i64)), axes, 8);
  b.store(scan(b, Reduction::max, u), axes, 1);
  return b.finish();
}

}  // namespace

std::vector<Case> golden_scans() {
  return {{"scan_vector_f32", cumsum(DType::f32, "c"), {{1 << 28}}},
          {"scan_rows_bf16", cumsum(DType::bf16, "sc"), {{65536, 4096}}},
          {"scan_short_rows_f32", cumsum(DType::f32, "sc"), {{1 << 20, 256}}},
          {"scan_columns_f32", cumsum(DType::f32, "cs"), {{16384, 16384}}},
          {"scan_columns_split_f32", cumsum(DType::f32, "cs"), {{64, 1 << 22}}},
          {"scan_several_f32", several("sc", "cb"), {{4096, 32768}}}};
}

std::vector<ReductionCase> scan_cases() {
  std::vector<ReductionCase> cases;
  const Kernel rows = cumsum(DType::f32, "sc"), columns = cumsum(DType::f32, "cs");
  cases.push_back({"scan_lane", rows, form(64, 1, 4, 1)});
  cases.push_back({"scan_lanes8", rows, form(64, 8, 4, 1)});
  cases.push_back({"scan_warp", rows, form(64, 32, 4, 4)});
  cases.push_back({"scan_block", rows, form(64, 64, 4, 2)});
  cases.push_back({"scan_block_split", rows, split(form(64, 64, 4, 2))});
  cases.push_back({"scan_misaligned", cumsum(DType::f32, "sc", 4), form(64, 64, 4, 1)});
  cases.push_back({"scan_single", cumsum(DType::f32, "ss", 4), split(form(64, 64, 1, 2))});
  cases.push_back({"scan_bf16", cumsum(DType::bf16, "sc"), split(form(64, 64, 8, 1))});
  cases.push_back({"scan_f64_vector", cumsum(DType::f64, "c"), split(form(64, 64, 2, 4))});
  cases.push_back({"scan_wide", cumsum(DType::f32, "ssc", 4, IndexWidth::bits64), form(64, 64, 1, 4)});
  cases.push_back({"scan_columns", columns, form(64, 0, 4, 4, 4)});
  cases.push_back({"scan_columns_split", columns, split(form(64, 0, 4, 4, 8))});
  cases.push_back({"scan_columns_short", columns, form(64, 0, 4, 8, 1)});
  cases.push_back({"scan_columns_narrow", cumsum(DType::f32, "cs", 4), split(form(64, 0, 1, 4, 32))});
  cases.push_back({"scan_columns_bf16", cumsum(DType::bf16, "cs"), form(64, 0, 8, 2, 8)});
  cases.push_back({"scan_columns_wide", cumsum(DType::f32, "scs", 16, IndexWidth::bits64), form(64, 0, 4, 2, 4)});
  cases.push_back({"scan_several_rows", several("sc", "cb"), split(form(64, 64, 4, 2))});
  cases.push_back({"scan_several_lanes", several("sc", "cb"), form(64, 16, 4, 1)});
  cases.push_back({"scan_several_columns", several("cs", "cb"), split(form(64, 0, 4, 2, 4))});
  cases.push_back({"scan_nested_rows", nested("sc"), split(form(64, 64, 4, 1))});
  cases.push_back({"scan_nested_walk", nested("sc"), form(64, 64, 4, 1)});
  cases.push_back({"scan_nested_columns", nested("cs"), split(form(64, 0, 2, 2, 8))});
  const auto layers = [](Schedule schedule) {
    schedule.layers = true;
    return schedule;
  };
  const Kernel wide = cumsum(DType::f32, "ssc", 4, IndexWidth::bits64);
  cases.push_back({"scan_layers_lanes", wide, layers(form(64, 8, 1, 4))});
  cases.push_back({"scan_layers_block", wide, layers(form(64, 64, 1, 4))});
  cases.push_back(
      {"scan_layers_columns", cumsum(DType::f32, "scs", 16, IndexWidth::bits64), layers(form(64, 0, 4, 2, 4))});
  const auto add = [&](const char* name, const Kernel& kernel, std::vector<std::int64_t> extents, int block,
                       int items) {
    codegen::LaunchWish wish;
    wish.block[0] = block;
    wish.items = items;
    cases.push_back({name, kernel, wished(kernel, {std::move(extents)}, wish)});
  };
  add("scan_wish_lanes", rows, {1 << 20, 256}, 64, 8);
  add("scan_wish_block", rows, {65536, 4096}, 64, 4);
  add("scan_wish_split", cumsum(DType::f32, "c"), {1 << 28}, 128, 12);
  add("scan_wish_columns", columns, {16384, 16384}, 64, 0);
  add("scan_wish_columns_split", columns, {64, 1 << 22}, 512, 8);
  cases.push_back({"scan_integers_rows", integers("sc"), form(64, 64, 8, 1)});
  cases.push_back({"scan_integers_columns", integers("cs"), split(form(64, 0, 4, 4, 8))});
  return cases;
}

}  // namespace kiln::golden
