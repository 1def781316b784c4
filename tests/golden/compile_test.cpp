// tests/golden/compile_test.cpp -- NVRTC takes every golden kernel and every operation, without warnings or spills, and
// the accesses in its PTX are as wide as the schedule promises.
#include <algorithm>
#include <map>
#include <regex>

#include <gtest/gtest.h>

#include "codegen/ir/op_info.h"
#include "tests/golden/compiled.h"
#include "tests/golden/reduction_cases.h"

namespace kiln::golden {
namespace {

using codegen::NodeId;
using codegen::NodeKind;

int count(const std::string& text, const std::string& pattern) {
  const std::regex expression(pattern);
  return static_cast<int>(
      std::distance(std::sregex_iterator(text.begin(), text.end(), expression), std::sregex_iterator()));
}

const char* const wide_load = R"(ld\.global(\.nc)?\.(v4\.[a-z]32|v2\.[a-z]64))";
const char* const wide_store = R"(st\.global(\.wb)?\.(v4\.[a-z]32|v2\.[a-z]64))";

class Compile : public ::testing::TestWithParam<std::size_t> {};

TEST_P(Compile, GoldenKernelHasNoWarningsAndNoSpills) {
  const Case test = cases()[GetParam()];
  const codegen::Schedule schedule = schedule_of(test);
  for (const char* arch : {"sm_75", "sm_80", "sm_90", "sm_100"}) {
    const int threads = schedule.block * schedule.min_blocks;
    if (threads > 1024 && std::string_view(arch) == "sm_75") continue;  // whose multiprocessors hold no more
    const bool lacks_clusters = std::string_view(arch) == "sm_75" || std::string_view(arch) == "sm_80";
    if (schedule.cluster > 1 && lacks_clusters) continue;
    KILN_COMPILED_OR_SKIP(binary, source_of(test), arch);
    EXPECT_EQ(binary->log, "") << arch;
    // Turing has no bf16 instructions: long bf16 rows may spill there.
    if (std::string_view(arch) != "sm_75") {
      EXPECT_EQ(binary->spill_bytes, 0) << arch;
    }
    EXPECT_GT(binary->registers, 0) << arch;
    EXPECT_LE(binary->registers * std::max(threads, 512), 65536)
        << arch << ": the schedule promises " << threads << " resident threads";
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Compile, ::testing::Range<std::size_t>(0, cases().size()),
                         [](const auto& test) { return cases()[test.param].name; });

// Rule: every form of row reduction compiles without warnings or spills, in f16 as well, which the emulation lacks.
TEST(RowForms, CompileWithoutWarningsOrSpills) {
  std::vector<ReductionCase> forms = row_cases();
  for (const char* name : {"softmax_warp", "softmax_block", "softmax_steps"}) {
    const auto same = std::find_if(forms.begin(), forms.end(), [&](const auto& form) { return form.name == name; });
    ASSERT_NE(same, forms.end());
    forms.push_back({std::string(name) + "_f16", softmax_kernel(DType::f16), same->schedule});
  }
  for (const ReductionCase& form : forms) {
    KILN_COMPILED_OR_SKIP(binary, codegen::emit_cuda(form.kernel, form.schedule, {}), "sm_90");
    EXPECT_EQ(binary->log, "") << form.name;
    EXPECT_EQ(binary->spill_bytes, 0) << form.name;
  }
}

struct Accesses {
  int wide_loads, wide_stores;
};

// Rule: 16 bytes per access on the widest operand, once per thread and operand (design.md section 4).
TEST(Widths, VectorsReachThePtx) {
  const std::map<std::string, Accesses> expected = {
      {"saxpy_f32", {2, 1}},       {"swiglu_bf16", {2, 1}},         {"swiglu_by_hand_bf16", {2, 1}},
      {"activations_f32", {1, 4}}, {"prices_f32", {3, 2}},          {"dense_image_u8", {1, 1}},
      {"gelu_bias_bf16", {2, 1}},  {"transpose_add_f32", {8, 4}},   {"transpose_batch_f64", {2, 2}},
      {"complex_c64", {1, 1}},     {"big_index_i64", {1, 1}},       {"mask_b1", {1, 0}},
      {"where_clip_f64", {1, 1}},  {"two_outputs_f32_f16", {2, 1}}, {"row_column_scalars_f32", {2, 1}}};
  std::size_t seen = 0;
  for (const Case& test : cases()) {
    const auto it = expected.find(test.name);
    if (it == expected.end()) continue;
    ++seen;
    KILN_COMPILED_OR_SKIP(binary, source_of(test), "sm_90");
    EXPECT_EQ(count(binary->ptx, wide_load), it->second.wide_loads) << test.name;
    EXPECT_EQ(count(binary->ptx, wide_store), it->second.wide_stores) << test.name;
  }
  EXPECT_EQ(seen, expected.size());
}

// Rule: whole vectors need no scalar path at all.
TEST(Widths, WholeVectorsHaveNoScalarAccess) {
  for (const Case& test : cases()) {
    if (test.name != "saxpy_f32" && test.name != "swiglu_bf16" && test.name != "gelu_bias_bf16") continue;
    KILN_COMPILED_OR_SKIP(binary, source_of(test), "sm_90");
    EXPECT_EQ(count(binary->ptx, R"((ld|st)\.global)"), 3) << test.name;
  }
}

// Rule: a misaligned operand narrows only itself.
TEST(Widths, MisalignedOperandNarrowsOnlyItself) {
  Builder b(1, codegen::IndexWidth::bits32, "y = x + z + w");
  const NodeId x = b.load(DType::f32, "c", 16), z = b.load(DType::f32, "c", 8), w = b.load(DType::f32, "c", 16);
  b.store(b.op(Op::add, {b.op(Op::add, {x, z}), w}), "c", 16);
  const Case test{"", b.finish(), {{1 << 20}}};
  KILN_COMPILED_OR_SKIP(binary, source_of(test), "sm_90");
  EXPECT_EQ(count(binary->ptx, wide_load), 2);
  EXPECT_EQ(count(binary->ptx, wide_store), 1);
  EXPECT_EQ(count(binary->ptx, R"(ld\.global\.v2\.[a-z]32)"), 2);
}

// Rule: complex arrays may be aligned like their parts only; then no access covers a pair.
TEST(Widths, UnderalignedComplexMovesByParts) {
  Builder b(1, codegen::IndexWidth::bits32, "y = conj-free copy");
  const NodeId x = b.load(DType::c64, "c", 4);
  const NodeId re = b.node(NodeKind::real_part, DType::f32, {x}), im = b.node(NodeKind::imag_part, DType::f32, {x});
  b.store(b.node(NodeKind::complex, DType::c64, {im, re}), "c", 4);
  b.store(x, "c", 4);
  const Case test{"", b.finish(), {{1 << 20}}};
  KILN_COMPILED_OR_SKIP(binary, source_of(test), "sm_90");
  EXPECT_EQ(count(binary->ptx, R"((ld|st)\.global[a-z.]*\.v[24])"), 0);
  EXPECT_EQ(binary->log, "");
}

// Rule: every type joins elements by every operation that it has, in memory and in the blocks' own sums.
TEST(Scatters, EveryTypeAndOperationCompilesWithoutWarnings) {
  using codegen::Scatter;
  for (int number = 0; number < dtype_count; ++number) {
    const auto type = static_cast<DType>(number);
    if (type == DType::b1) continue;
    for (const Scatter scatter : {Scatter::add, Scatter::maximum, Scatter::minimum}) {
      if (is_complex(type) && scatter != Scatter::add) continue;
      for (const bool in_bins : {false, true}) {
        if (in_bins && (is_complex(type) || scatter != Scatter::add)) continue;
        Builder b(1, codegen::IndexWidth::bits32, "y[i] joins x");
        const NodeId place = b.load(DType::i64, "c"), x = b.load(type, "c", static_cast<int>(size_of(real_of(type))));
        b.parameter(DType::i64);
        b.scatter_add(x, place);
        Case test{"", b.finish(), {{1 << 20}, in_bins ? 256 : 0}};
        test.kernel.accesses[test.kernel.first_store()].scatter = scatter;
        if (in_bins) test.kernel.bins_parameter = 0;
        ASSERT_EQ(schedule_of(test).bins > 0, in_bins);
        KILN_COMPILED_OR_SKIP(binary, source_of(test), "sm_90");
        EXPECT_EQ(binary->log, "") << name_of(type) << " operation " << static_cast<int>(scatter);
      }
    }
  }
}

// Rule: the dense form takes every element type, both index widths, and operands that it reads by coordinates.
TEST(Dense, EveryTypeAndIndexWidthCompilesWithoutWarnings) {
  for (int number = 0; number < dtype_count; ++number) {
    const auto type = static_cast<DType>(number);
    const int alignment = static_cast<int>(size_of(real_of(type)));
    for (const auto index : {codegen::IndexWidth::bits32, codegen::IndexWidth::bits64}) {
      Builder b(3, index, "y = x where m");
      const NodeId x = b.load(type, "ssc", alignment);
      b.store(x, "ssc", alignment);
      b.store(b.load(type, "bsb", alignment), "ssc", alignment);
      if (size_of(type) == 8) b.store(b.iota("cbs"), "ssc", 8);
      b.dense(alignment);
      const Case test{"", b.finish(), {{7, 5, 3}}};
      const bool fills_an_access = type == DType::c128;
      ASSERT_EQ(schedule_of(test).form, fills_an_access ? codegen::Template::general : codegen::Template::dense);
      KILN_COMPILED_OR_SKIP(binary, source_of(test), "sm_90");
      EXPECT_EQ(binary->log, "") << name_of(type);
      EXPECT_EQ(binary->spill_bytes, 0) << name_of(type);
    }
  }
}

// Rule: many operands lower the promised occupancy rather than spill.
TEST(Registers, ManyOperandsDoNotSpill) {
  Builder b(1, codegen::IndexWidth::bits32, "y = sum of twenty arrays");
  NodeId sum = b.load(DType::f32, "c");
  for (int i = 1; i < 20; ++i) sum = b.op(Op::add, {b.op(Op::exp, {b.load(DType::f32, "c")}), sum});
  b.store(sum, "c");
  const Case test{"", b.finish(), {{1 << 20}}};
  KILN_COMPILED_OR_SKIP(binary, source_of(test), "sm_90");
  EXPECT_EQ(binary->spill_bytes, 0);
  EXPECT_EQ(count(binary->ptx, wide_load), 20);
}

// Rule: f32 kernels contain no arithmetic in double.
TEST(Types, FloatKernelsStayInFloat) {
  for (const Case& test : cases()) {
    if (test.name.find("f32") == std::string::npos && test.name.find("bf16") == std::string::npos) continue;
    KILN_COMPILED_OR_SKIP(binary, source_of(test), "sm_90");
    EXPECT_EQ(count(binary->ptx, R"(\.f64)"), 0) << test.name;
  }
}

/// One kernel with an output for every operation that legalised bodies may hold in `type`.
Case every_operation(DType type) {
  Builder b(1, codegen::IndexWidth::bits32, std::string("every operation of ") + name_of(type));
  const NodeId x = b.load(type, "c", 4), y = b.load(type, "c", 4), z = b.load(type, "c", 4),
               m = b.load(DType::b1, "c", 1);
  const bool floating = is_floating(type), boolean = type == DType::b1;
  for (int index = 0; index < op_count; ++index) {
    const auto op = static_cast<Op>(index);
    const auto& info = kiln::detail::op_info(op);
    const bool integer_only = op == Op::mod || (op >= Op::bit_and && op <= Op::shr);
    const bool both = op == Op::add || op == Op::sub || op == Op::mul || op == Op::div || op == Op::neg ||
                      op == Op::minimum || op == Op::maximum || op == Op::where || codegen::is_comparison(op);
    const bool bits =
        op == Op::bit_and || op == Op::bit_or || op == Op::bit_xor || op == Op::bit_not || op == Op::where;
    const bool total = std::string_view(info.cuda) != "-";
    if (boolean ? !bits : floating ? integer_only || !total : !both && !integer_only) continue;
    const NodeId value = op == Op::where   ? b.op(op, {m, x, y})
                         : info.arity == 1 ? b.op(op, {x})
                         : info.arity == 2 ? b.op(op, {x, y})
                                           : b.op(op, {x, y, z});
    b.store(value, "c", 4);
  }
  return {"", b.finish(), {{1000}}};
}

class Operations : public ::testing::TestWithParam<DType> {};

TEST_P(Operations, AllCompileWithoutWarnings) {
  const Case test = every_operation(GetParam());
  codegen::Schedule schedule = schedule_of(test);
  schedule.vector = schedule.items = 1;
  schedule.min_blocks = 0;
  const KernelSource source = codegen::emit_cuda(test.kernel, schedule, {});
  for (const char* arch : {"sm_75", "sm_90"}) {
    KILN_COMPILED_OR_SKIP(binary, source, arch);
    EXPECT_EQ(binary->log, "") << arch;
  }
}

INSTANTIATE_TEST_SUITE_P(Types, Operations,
                         ::testing::Values(DType::b1, DType::i8, DType::i16, DType::i32, DType::i64, DType::u8,
                                           DType::u16, DType::u32, DType::u64, DType::f32, DType::f64),
                         [](const auto& test) { return std::string(name_of(test.param)); });

// Every cast of the legal grammar, bitcasts, mulhi and literals at the ends of their ranges.
TEST(Primitives, CastsAndLiteralsCompileWithoutWarnings) {
  const DType real[] = {DType::i8,  DType::i16, DType::i32, DType::i64, DType::u8,
                        DType::u16, DType::u32, DType::u64, DType::f32, DType::f64};
  Builder b(1, codegen::IndexWidth::bits32, "casts");
  for (const DType from : real) {
    const NodeId x = b.load(from, "c", 8);
    for (const DType to : real) b.store(b.cast(x, to), "c", 8);
  }
  const NodeId f = b.load(DType::f32, "c", 8), d = b.load(DType::f64, "c", 8), m = b.load(DType::b1, "c", 8);
  b.store(b.cast(m, DType::i64), "c", 8);
  b.store(b.cast(m, DType::f32), "c", 8);
  b.store(b.cast(f, DType::f16), "c", 8);
  b.store(b.cast(b.cast(f, DType::bf16), DType::f32), "c", 8);
  const NodeId word = b.node(NodeKind::bitcast, DType::u32, {f});
  b.store(b.node(NodeKind::mulhi, DType::u32, {word, word}), "c", 8);
  b.store(b.node(NodeKind::bitcast, DType::i32, {f}), "c", 8);
  b.store(b.node(NodeKind::bitcast, DType::f32, {word}), "c", 8);
  b.store(b.node(NodeKind::bitcast, DType::u64, {d}), "c", 8);
  b.store(b.node(NodeKind::bitcast, DType::f64, {b.node(NodeKind::bitcast, DType::i64, {d})}), "c", 8);
  const std::pair<DType, std::uint64_t> literals[] = {{DType::b1, 1},           {DType::i8, 0x80},
                                                      {DType::i16, 0x8000},     {DType::i32, 0x80000000},
                                                      {DType::i64, 1ull << 63}, {DType::u8, 0xff},
                                                      {DType::u16, 0xffff},     {DType::u32, 0xffffffff},
                                                      {DType::u64, ~0ull},      {DType::f32, 0x7fc00001},
                                                      {DType::f32, 0x80000000}, {DType::f32, 1},
                                                      {DType::f32, 0xff800000}, {DType::f64, 1ull << 63},
                                                      {DType::f64, 1},          {DType::f64, 0xfff8000000000001ull}};
  for (const auto& [type, bits] : literals) b.store(b.kernel.body.literal(type, bits), "c", 8);
  const Case test{"", b.finish(), {{1000}}};
  codegen::Schedule schedule = schedule_of(test);
  schedule.vector = schedule.items = 1;
  const KernelSource source = codegen::emit_cuda(test.kernel, schedule, {});
  for (const char* arch : {"sm_75", "sm_90", "sm_100"}) {
    KILN_COMPILED_OR_SKIP(binary, source, arch);
    EXPECT_EQ(binary->log, "") << arch;
  }
}

}  // namespace
}  // namespace kiln::golden
