// codegen/emit/llvm_loops.cpp -- loop headers, latches and carries.
#include "codegen/emit/llvm_loops.h"

#include <fmt/format.h>

namespace kiln::codegen {
namespace {

/// A fresh label; the builder's names start with '%'.
std::string fresh_label(IrBuilder& b, std::string_view stem) { return b.fresh(stem).substr(1); }

std::string binary(IrBuilder& b, const char* instruction, const std::string& a, const std::string& c) {
  return b.emit_scalar(fmt::format("{} i64 {}, {}", instruction, a, c));
}

void open_header(IrBuilder& b, CountedLoop& loop, const std::string& from) {
  const std::string before = b.block();
  loop.name = fresh_label(b, "loop");
  loop.counter = fmt::format("%{}.i", loop.name);
  b.line(fmt::format("br label %{}", loop.name));
  b.label(loop.name);
  b.line(fmt::format("{0} = phi i64 [ {1}, %{2} ], [ {0}.next, %{3}.latch ]", loop.counter, from, before, loop.name));
}

void open_body(IrBuilder& b, const CountedLoop& loop, const std::string& to) {
  const std::string more = b.emit_scalar(fmt::format("icmp slt i64 {}, {}", loop.counter, to));
  b.line(fmt::format("br i1 {0}, label %{1}.body, label %{1}.done", more, loop.name));
  b.label(loop.name + ".body");
}

}  // namespace

CountedLoop begin_loop(IrBuilder& b, const std::string& from, const std::string& to, std::int64_t step) {
  CountedLoop loop;
  loop.step = step;
  open_header(b, loop, from);
  open_body(b, loop, to);
  return loop;
}

void end_loop(IrBuilder& b, const CountedLoop& loop) {
  b.line(fmt::format("br label %{}.latch", loop.name));
  b.label(loop.name + ".latch");
  b.line(fmt::format("{0}.next = add i64 {0}, {1}", loop.counter, loop.step));
  b.line(fmt::format("br label %{}", loop.name));
  b.label(loop.name + ".done");
}

CarryLoop begin_carry_loop(IrBuilder& b, const std::vector<std::string>& extents, const std::string& from,
                           const std::string& to) {
  CarryLoop carry;
  carry.extents = extents;
  std::vector<std::string> first(extents.size(), "0");
  std::string rest = from;
  for (std::size_t d = extents.size(); d-- > 0 && from != "0";) {
    if (d == 0) {
      first[d] = rest;
      break;
    }
    const std::string divisor = scalar_greatest(b, extents[d], "1");
    first[d] = binary(b, "urem", rest, divisor);
    rest = binary(b, "udiv", rest, divisor);
  }
  const std::string before = b.block();
  open_header(b, carry.loop, from);
  for (std::size_t d = 0; d < extents.size(); ++d) {
    const std::string name = fmt::format("%{}.c{}", carry.loop.name, d);
    b.line(
        fmt::format("{0} = phi i64 [ {1}, %{2} ], [ {0}.next, %{3}.latch ]", name, first[d], before, carry.loop.name));
    carry.coordinates.push_back(name);
  }
  open_body(b, carry.loop, to);
  return carry;
}

void end_carry_loop(IrBuilder& b, const CarryLoop& carry) {
  const CountedLoop& loop = carry.loop;
  b.line(fmt::format("br label %{}.latch", loop.name));
  b.label(loop.name + ".latch");
  b.line(fmt::format("{0}.next = add i64 {0}, 1", loop.counter));
  std::string step = "1";
  for (std::size_t d = carry.extents.size(); d-- > 0;) {
    const std::string sum = binary(b, "add", carry.coordinates[d], step);
    const std::string wraps = b.emit_scalar(fmt::format("icmp eq i64 {}, {}", sum, carry.extents[d]));
    b.line(fmt::format("{}.next = select i1 {}, i64 0, i64 {}", carry.coordinates[d], wraps, sum));
    if (d > 0) step = b.emit_scalar(fmt::format("zext i1 {} to i64", wraps));
  }
  b.line(fmt::format("br label %{}", loop.name));
  b.label(loop.name + ".done");
}

std::string scalar_add(IrBuilder& b, const std::string& a, const std::string& c) {
  if (a == "0") return c;
  return c == "0" ? a : binary(b, "add", a, c);
}

std::string scalar_multiply(IrBuilder& b, const std::string& a, const std::string& c) {
  if (a == "0" || c == "0") return "0";
  if (a == "1") return c;
  return c == "1" ? a : binary(b, "mul", a, c);
}

std::string scalar_least(IrBuilder& b, const std::string& a, const std::string& c) {
  return b.emit_scalar(fmt::format("call i64 @llvm.smin.i64(i64 {}, i64 {})", a, c));
}

std::string scalar_greatest(IrBuilder& b, const std::string& a, const std::string& c) {
  return b.emit_scalar(fmt::format("call i64 @llvm.smax.i64(i64 {}, i64 {})", a, c));
}

std::string ceil_divide(IrBuilder& b, const std::string& a, const std::string& c) {
  const std::string padded = binary(b, "add", a, binary(b, "sub", c, "1"));
  return binary(b, "udiv", padded, c);
}

std::string product_of(IrBuilder& b, const std::vector<std::string>& factors) {
  std::string product = "1";
  for (const std::string& factor : factors) product = scalar_multiply(b, product, factor);
  return product;
}

std::string begin_if(IrBuilder& b, const std::string& condition) {
  std::string name = fresh_label(b, "if");
  b.line(fmt::format("br i1 {0}, label %{1}, label %{1}.done", condition, name));
  b.label(name);
  return name;
}

void end_if(IrBuilder& b, const std::string& name) {
  b.line(fmt::format("br label %{}.done", name));
  b.label(name + ".done");
}

}  // namespace kiln::codegen
