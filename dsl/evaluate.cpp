// dsl/evaluate.cpp -- evaluates inline expressions and traced functions: parts to a Call, then execute or inspect.
#include <vector>

#include "dsl/convert.h"
#include "dsl/gather.h"
#include "dsl/out_of_memory.h"
#include "dsl/recorder.h"
#include "dsl/scalar_fault.h"
#include "dsl/shapes.h"
#include "dsl/trace.h"
#include "support/check.h"
#include "support/progress.h"

namespace kiln::dsl {
namespace {

struct Environment {
  const Gathered* gathered;
  const detail::Evaluation* evaluation;
};

void trace(detail::Recorder& recorder, const void* environment, detail::NodeId* outputs) {
  const auto& [gathered, evaluation] = *static_cast<const Environment*>(environment);
  std::vector<detail::TracedArgument> traced(evaluation->part_count);
  gathered->record(recorder, traced.data());
  if (evaluation->trace) {
    evaluation->trace(recorder, evaluation->environment, traced.data(), outputs);
  } else {
    for (unsigned i = 0; i < evaluation->part_count; ++i) outputs[i] = traced[i].node;
  }
}

/// Calls `run(call)` with everything of `e` in place.
template <class Run>
auto with_call(const detail::Evaluation& e, Run run) {
  Gathered gathered(e.parts, e.part_count, e.where.file || !e.launch ? e.where : e.launch->where, e.definition);
  if (e.signature) gathered.add_tag(e.signature);
  const Environment environment{&gathered, &e};
  detail::Call call;
  gathered.fill(call);
  call.targets = e.targets;
  call.target_count = e.target_count;
  call.trace = &trace;
  call.environment = &environment;
  call.is_function = e.trace != nullptr;
  call.name = e.name;
  call.options = e.options;
  call.launch = e.launch;
  call.scatter = e.scatter;
  call.group = e.group;
  for (unsigned i = 0; i < e.target_count; ++i) {
    if (e.targets[i].handle->layout || e.targets[i].resizable) continue;
    const bool is_moved_by_others = !call.where.file || is_of_the_cpp_library(call.where);
    fail<ShapeError>(
        "a destination without elements cannot be written{}: an array that was never assigned to, or a view that was "
        "moved from; assign to the array first, take the view again{}",
        place(call),
        is_moved_by_others ? ". std::swap and containers move views by assigning, which writes elements" : "");
  }
  return run(call);
}

}  // namespace
}  // namespace kiln::dsl

namespace kiln::detail {

void evaluate(Site& site, const Evaluation& evaluation) try {
  dsl::with_call(evaluation, [&](const Call& call) { execute(site, call); });
} catch (const std::bad_alloc&) {
  dsl::fail_without_memory("compute an expression", evaluation.where);
}

void evaluate(InlineSite& site, Handle& target, const Slot* slots) { evaluate(site, target, slots, Where{}); }

void evaluate(InlineSite& site, Handle& target, const Slot* slots, Where where) {
  const Parts parts{site.code, slots, site.size};
  Target to{&target, site.type, site.resizable};
  Evaluation evaluation(&parts, 1, &to, 1);
  evaluation.where = where;
  evaluate(site.site, evaluation);
}

Inspection* inspect(Site& site, const Evaluation& evaluation, const char* arch) try {
  return dsl::with_call(evaluation, [&](const Call& call) { return inspect(site, call, arch); });
} catch (const std::bad_alloc&) {
  dsl::fail_without_memory("inspect a call", evaluation.where);
}

void precompile(Site& site, const Evaluation& evaluation, const char* arch) try {
  dsl::with_call(evaluation, [&](const Call& call) { precompile(site, call, arch); });
} catch (const std::bad_alloc&) {
  dsl::fail_without_memory("compile a function", evaluation.where);
}

void* begin_compile_progress(const char* name, unsigned variants) try {
  return new Progress(fmt::format("compiling {}", name ? name : "a function"), "variant", variants);
} catch (const std::bad_alloc&) {
  dsl::fail_without_memory("show the progress");
}

void advance_compile_progress(void* bar, const char* arch) {
  static_cast<Progress*>(bar)->advance(arch ? arch : "this device");
}

void end_compile_progress(void* bar) noexcept { delete static_cast<Progress*>(bar); }

void check_constant(const Recorder& recorder, const ScalarArgument& number, DType type) {
  alignas(8) unsigned char bytes[16] = {};
  const bool is_flag = type == DType::b1;  // of which 0 and 1 are constants, while any number compares with 0
  const bool fits = dsl::convert_scalar(number, is_flag ? DType::u8 : type, bytes);
  if (!fits || (is_flag && bytes[0] > 1)) dsl::fail_constant(number, type, recorder.call());
}

void fail_number(const char* what, const ScalarArgument& number, DType type, Where where) {
  if (dsl::is_of_kiln(where)) where = dsl::traced_call();
  char text[96];
  fail<TypeError>("{}: the number {} does not fit {}{}; give another number, or a wider type", what,
                  dsl::scalar_text(number, text, sizeof text), name_of(type), dsl::place(where));
}

NodeId record_number(Recorder& recorder, const ScalarArgument& number, DType type, Where where, int op) {
  alignas(8) unsigned char bytes[16] = {};
  if (!dsl::convert_scalar(number, type, bytes))
    dsl::fail_conversion(op < 0 ? "" : fmt::format("kl::{}: ", op_info(static_cast<Op>(op)).name), number, type, where);
  std::uint64_t words[2];
  __builtin_memcpy(words, bytes, sizeof words);
  // Arguments carry f16 and bf16 widened to f32; literals carry their own bits.
  const float wide = __builtin_bit_cast(float, static_cast<std::uint32_t>(words[0]));
  if (type == DType::f16) words[0] = f32_to_f16_bits(wide);
  if (type == DType::bf16) words[0] = f32_to_bf16_bits(wide);
  return record_literal(recorder, type, words[0], words[1], where);
}

void check_exponent(const ScalarArgument& exponent, Where where) {
  if (!dsl::is_negative(exponent)) return;
  char text[96];
  fail<TypeError>(
      "kl::pow: an integer to the power {}{} has no integer value; cast the base to a floating type with kl::cast",
      dsl::scalar_text(exponent, text, sizeof text), dsl::place(where));
}

}  // namespace kiln::detail
