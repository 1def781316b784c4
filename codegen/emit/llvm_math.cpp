// codegen/emit/llvm_math.cpp -- the function table of the CPU maths, C library calls and rare branches.
#include "codegen/emit/llvm_math.h"

#include "support/check.h"

namespace kiln::codegen {
namespace {

struct LibmRow {
  const char* name;
  int arity;
};
constexpr LibmRow libm_rows[] = {
#define KILN_LIBM(name, arity, function) {#name, arity},
#include "support/libm.def"
#undef KILN_LIBM
};

int libm_index(std::string_view name) {
  int index = 0;
  for (const LibmRow& row : libm_rows) {
    if (name == row.name) return index;
    ++index;
  }
  KILN_INTERNAL_CHECK(false, "no C library function {}", name);
  return -1;
}

const MathFormula* find_formula(std::string_view name) {
  for (auto rows : {exponential_formulas(), logarithm_formulas(), trigonometric_formulas(), special_formulas()}) {
    for (const MathFormula& row : rows) {
      if (name == row.name) return &row;
    }
  }
  KILN_INTERNAL_CHECK(false, "no CPU formula for math.{}", name);
  return nullptr;
}

IrValue all_lanes_libm(MathContext& context, const MathFormula& row, const IrValue* operands, Lane lane) {
  IrBuilder& builder = context.builder;
  const IrValue a = lane == Lane::f32 ? to_f64(operands[0]) : operands[0];
  const IrValue all = builder.bits(Lane::i1, 1), zero = builder.number(Lane::f64, 0);
  IrValue result;
  if (row.arity == 1) {
    result = libm(context, row.name, {a}, all, zero);
  } else {
    const IrValue b = lane == Lane::f32 ? to_f64(operands[1]) : operands[1];
    result = libm(context, row.name, {a, b}, all, zero);
  }
  return lane == Lane::f32 ? to_f32(result) : result;
}

}  // namespace

std::string MathLibrary::require(std::string_view name, Lane lane) {
  const std::string symbol = fmt::format("@math.{}.{}", name, lane == Lane::f32 ? "f32" : "f64");
  if (!done_.insert(symbol).second) return symbol;
  const MathFormula& row = *find_formula(name);
  IrBuilder builder(width_, features_);
  MathContext context{builder, *this};
  IrValue operands[2] = {builder.value(lane, "%a"), builder.value(lane, "%b")};
  const auto formula = lane == Lane::f32 ? row.f32 : row.f64;
  const IrValue result = formula ? formula(context, operands) : all_lanes_libm(context, row, operands, lane);
  builder.line(fmt::format("ret {} {}", builder.type(lane), result.text));
  definitions_ +=
      fmt::format("\ndefine internal {0} {1}({0} %a{2}, ptr %libm) #{4} {{\nentry:\n{3}}}\n", builder.type(lane),
                  symbol, row.arity > 1 ? ", " + builder.type(lane) + " %b" : "", builder.text(),
                  row.cold   ? 2
                  : inlines_ ? 1
                             : 3);
  return symbol;
}

void MathLibrary::define(const std::string& symbol, const std::function<std::string()>& print) {
  if (!done_.insert(symbol).second) return;
  const std::string text = print();  // may define others
  definitions_ += text;
}

std::string MathLibrary::require_libm(std::string_view name) {
  const std::string symbol = fmt::format("@libm.{}", name);
  if (!done_.insert(symbol).second) return symbol;
  const int index = libm_index(name), arity = libm_rows[index].arity;
  const IrBuilder shape(width_, features_);
  const std::string vector = shape.type(Lane::f64), mask = shape.type(Lane::i1);
  std::string parameters, spills, loads, call;
  for (int k = 0; k < arity; ++k) {
    parameters += fmt::format("{} %x{}, ", vector, k);
    spills += fmt::format("  %s{0} = alloca {1}, align 64\n  store {1} %x{0}, ptr %s{0}, align 64\n", k, vector);
    loads += fmt::format("  %p{0} = getelementptr double, ptr %s{0}, i64 %i\n  %v{0} = load double, ptr %p{0}\n", k);
    call += fmt::format("{}double %v{}", k ? ", " : "", k);
  }
  definitions_ += fmt::format(
      "\n; {name} of the C library in the lanes of the mask\n"
      "define internal {vector} {symbol}({parameters}{mask} %mask, {vector} %otherwise, ptr %libm) #2 {{\nentry:\n"
      "{spills}  %r = alloca {vector}, align 64\n  store {vector} %otherwise, ptr %r, align 64\n"
      "  %m = alloca <{width} x i8>, align 64\n  %mb = zext {mask} %mask to <{width} x i8>\n"
      "  store <{width} x i8> %mb, ptr %m, align 64\n"
      "  %slot = getelementptr ptr, ptr %libm, i64 {index}\n  %function = load ptr, ptr %slot\n  br label %lane\n"
      "lane:\n  %i = phi i64 [ 0, %entry ], [ %next, %continue ]\n  %mp = getelementptr i8, ptr %m, i64 %i\n"
      "  %ml = load i8, ptr %mp\n  %on = icmp ne i8 %ml, 0\n  br i1 %on, label %call, label %continue\n"
      "call:\n{loads}  %v = call double %function({call})\n  %rp = getelementptr double, ptr %r, i64 %i\n"
      "  store double %v, ptr %rp\n  br label %continue\n"
      "continue:\n  %next = add i64 %i, 1\n  %more = icmp ult i64 %next, {width}\n"
      "  br i1 %more, label %lane, label %exit\n"
      "exit:\n  %result = load {vector}, ptr %r, align 64\n  ret {vector} %result\n}}\n",
      fmt::arg("name", name), fmt::arg("vector", vector), fmt::arg("symbol", symbol),
      fmt::arg("parameters", parameters), fmt::arg("mask", mask), fmt::arg("spills", spills), fmt::arg("width", width_),
      fmt::arg("index", index), fmt::arg("loads", loads), fmt::arg("call", call));
  return symbol;
}

IrValue libm(MathContext& context, std::string_view name, std::initializer_list<IrValue> operands, const IrValue& mask,
             const IrValue& otherwise) {
  IrBuilder& builder = context.builder;
  const std::string symbol = context.library.require_libm(name), vector = builder.type(Lane::f64);
  std::string text = fmt::format("call {} {}(", vector, symbol);
  for (const IrValue& operand : operands) text += fmt::format("{} {}, ", vector, operand.text);
  text += fmt::format("{} {}, {} {}, ptr %libm)", builder.type(Lane::i1), mask.text, vector, otherwise.text);
  return builder.emit(Lane::f64, text);
}

IrValue call(MathContext& context, std::string_view name, std::initializer_list<IrValue> operands) {
  IrBuilder& builder = context.builder;
  const Lane lane = operands.begin()->lane;
  std::string text = fmt::format("call {} {}(", builder.type(lane), context.library.require(name, lane));
  for (const IrValue& operand : operands) text += fmt::format("{} {}, ", builder.type(lane), operand.text);
  return builder.emit(lane, text + "ptr %libm)");
}

IrValue unless_rare(MathContext& context, const IrValue& mask, const IrValue& common,
                    const std::function<IrValue()>& rare) {
  IrBuilder& builder = context.builder;
  const std::string any = builder.emit_scalar(fmt::format("call i1 @llvm.vector.reduce.or.{}({} {})",
                                                          builder.suffix(Lane::i1), builder.type(Lane::i1), mask.text));
  const std::string rare_block = builder.fresh("rare"), join = builder.fresh("join"), from = builder.block();
  builder.line(fmt::format("br i1 {}, label {}, label {}, !prof !0", any, rare_block, join));
  builder.label(rare_block.substr(1));
  const IrValue value = rare();
  const std::string rare_end = builder.block();
  builder.line(fmt::format("br label {}", join));
  builder.label(join.substr(1));
  return builder.emit(common.lane, fmt::format("phi {} [ {}, %{} ], [ {}, %{} ]", builder.type(common.lane),
                                               common.text, from, value.text, rare_end));
}

}  // namespace kiln::codegen
