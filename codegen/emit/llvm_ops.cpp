// codegen/emit/llvm_ops.cpp -- casts, arithmetic, comparisons and function calls of a kernel body.
#include "codegen/emit/llvm_ops.h"

#include "codegen/emit/llvm_call.h"
#include "support/check.h"

namespace kiln::codegen {
namespace {

constexpr const char* op_names[] = {
#define KILN_OP(id, arity, domain, result, cuda, llvm, doc) #id,
#include <kiln/ops.def>
#undef KILN_OP
};
const char* text_of(Op op) { return op_names[static_cast<int>(op)]; }

IrValue half_to_float(IrBuilder& b, const IrValue& bits) {
  if (b.features().f16c) {
    const std::string half =
        b.emit_scalar(fmt::format("bitcast {} {} to <{} x half>", b.type(Lane::i16), bits.text, b.width()));
    return b.emit(Lane::f32, fmt::format("fpext <{} x half> {} to {}", b.width(), half, b.type(Lane::f32)));
  }
  // Exponent and mantissa shifted into place and scaled by 2^112: exact for normal and subnormal numbers.
  const IrValue wide = b.convert("zext", bits, Lane::i32);
  const IrValue magnitude = wide & b.bits(Lane::i32, 0x7fff), sign = (wide & b.bits(Lane::i32, 0x8000)) << 16;
  const IrValue finite = bitcast(bitcast(magnitude << 13, Lane::f32) * 0x1p112, Lane::i32);
  const IrValue special = magnitude << 13 | b.bits(Lane::i32, 0x7f800000);
  return bitcast(b.select(magnitude > b.bits(Lane::i32, 0x7bff), special, finite) | sign, Lane::f32);
}

IrValue float_to_half(IrBuilder& b, const IrValue& value) {
  if (b.features().f16c) {
    const std::string half =
        b.emit_scalar(fmt::format("fptrunc {} {} to <{} x half>", b.type(Lane::f32), value.text, b.width()));
    return b.emit(Lane::i16, fmt::format("bitcast <{} x half> {} to {}", b.width(), half, b.type(Lane::i16)));
  }
  const IrValue bits = bitcast(value, Lane::i32);
  const IrValue magnitude = bits & b.bits(Lane::i32, 0x7fffffff), sign = (bits >> 16) & b.bits(Lane::i32, 0x8000);
  // Normal results: round to nearest even by integer carry. Subnormal ones: the float adder rounds beside 0.5.
  const IrValue odd = (magnitude >> 13) & b.bits(Lane::i32, 1);
  const IrValue normal = (magnitude + b.bits(Lane::i32, 0xc8000fffu) + odd) >> 13;
  const IrValue small = bitcast(bitcast(magnitude, Lane::f32) + 0.5, Lane::i32) - b.bits(Lane::i32, 0x3f000000);
  const IrValue nan = b.bits(Lane::i32, 0x7e00) | ((magnitude >> 13) & b.bits(Lane::i32, 0x1ff));
  IrValue result = b.select(magnitude < b.bits(Lane::i32, 0x38800000), small, normal);
  result = b.select(magnitude >= b.bits(Lane::i32, 0x477ff000), b.bits(Lane::i32, 0x7c00), result);
  result = b.select(magnitude > b.bits(Lane::i32, 0x7f800000), nan, result);
  return b.convert("trunc", result | sign, Lane::i16);
}

IrValue brain_to_float(IrBuilder& b, const IrValue& bits) {
  return bitcast(b.convert("zext", bits, Lane::i32) << 16, Lane::f32);
}

IrValue float_to_brain(IrBuilder& b, const IrValue& value) {
  const IrValue bits = bitcast(value, Lane::i32), upper = bits >> 16;
  const IrValue rounded = (bits + b.bits(Lane::i32, 0x7fff) + (upper & b.bits(Lane::i32, 1))) >> 16;
  const IrValue nan = upper | b.bits(Lane::i32, 0x40);
  return b.convert("trunc", b.select(is_nan(value), nan, rounded), Lane::i16);
}

}  // namespace

BodyPrinter::BodyPrinter(IrBuilder& builder, MathLibrary& library, const Graph& body, bool contract)
    : b_(builder),
      library_(library),
      body_(body),
      contract_(contract),
      values_(body.size()),
      uses_(body.size(), 0),
      fixed_(body.size(), 0),
      computed_(body.size(), 0) {
  for (const Node& node : body.nodes()) {
    for (const NodeId operand : node.inputs()) ++uses_[operand];
  }
  for (const NodeId output : body.outputs) ++uses_[output];
}

std::vector<Parts> BodyPrinter::print(const BodyInputs& inputs, std::span<const DType> output_types) {
  for (NodeId id = 0; id < body_.size(); ++id) {
    if (fixed_[id] == 0) values_[id] = print_node(body_[id], inputs);
    computed_[id] = call_;
  }
  std::vector<Parts> outputs;
  for (std::size_t k = 0; k < body_.outputs.size(); ++k) outputs.push_back(output(k, output_types[k]));
  return outputs;
}

void BodyPrinter::compute(std::span<const NodeId> nodes, const BodyInputs& inputs, bool goes_on) {
  if (!goes_on) ++call_;
  for (const NodeId id : nodes) {
    values_[id] = print_node(body_[id], inputs);
    computed_[id] = call_;
  }
}

Parts BodyPrinter::output(std::size_t k, DType type) {
  Parts parts = values_[body_.outputs[k]];
  if (type == DType::b1) parts = {b_.convert("zext", parts[0], Lane::i8)};
  return parts;
}

Parts BodyPrinter::print_node(const Node& node, const BodyInputs& inputs) {
  const auto truth = [&](Parts parts) -> Parts {
    if (node.type != DType::b1) return parts;
    return {b_.compare("icmp ne", parts[0], b_.bits(Lane::i8, 0))};
  };
  switch (node.kind) {
    case NodeKind::load:
    case NodeKind::iota:
      return truth(inputs.accesses[node.payload]);
    case NodeKind::gather:
      return truth(print_gather(node));
    case NodeKind::parameter:
      return truth(inputs.parameters[node.payload]);
    case NodeKind::literal:
      return {b_.bits(lane_of(node.type), node.payload)};
    case NodeKind::real_part:
      return {values_[node.operands[0]][0]};
    case NodeKind::imag_part:
      return {values_[node.operands[0]][1]};
    case NodeKind::complex:
      return {values_[node.operands[0]][0], values_[node.operands[1]][0]};
    case NodeKind::cast:
      return {print_cast(values_[node.operands[0]][0], body_[node.operands[0]].type, node.type)};
    case NodeKind::bitcast:
      return {bitcast(values_[node.operands[0]][0], lane_of(node.type))};
    case NodeKind::mulhi: {
      const IrValue a = b_.convert("zext", values_[node.operands[0]][0], Lane::i64);
      const IrValue c = b_.convert("zext", values_[node.operands[1]][0], Lane::i64);
      return {b_.convert("trunc", (a * c) >> 32, Lane::i32)};
    }
    case NodeKind::operation:
      return {print_operation(node)};
    case NodeKind::input:
      return {inputs.states[node.payload]};
    case NodeKind::tuple: {
      Parts components;
      for (const NodeId operand : node.inputs()) components.push_back(values_[operand][0]);
      return components;
    }
    case NodeKind::element:
      return {values_[node.operands[0]][node.payload]};
    case NodeKind::call: {
      std::vector<Parts> operands;
      for (const NodeId operand : node.inputs()) operands.push_back(values_[operand]);
      if (body_.function(node).loop) return print_loop(body_.function(node), operands);
      return print_call(b_, body_, node, operands, count_);
    }
    default:
      break;
  }
  KILN_INTERNAL_CHECK(false, "node kind {} is not part of a legalised body", static_cast<int>(node.kind));
  return {};
}

Parts BodyPrinter::print_gather(const Node& node) {
  const IrValue& far = values_[node.operands[gather_displacement]][0];
  IrValue at = far, exists = far >= b_.bits(Lane::i64, 0);
  if (body_[node.operands[gather_affine]].kind != NodeKind::literal) {
    const IrValue& affine = values_[node.operands[gather_affine]][0];
    exists = exists & b_.compare("icmp ule", affine, values_[node.operands[gather_reach]][0]);
    at = at + affine;
  }
  return load_gathered(b_, memory_[node.payload], at, exists);
}

IrValue BodyPrinter::print_cast(const IrValue& value, DType from, DType to) {
  if (from == to) return value;
  if (from == DType::f16) return half_to_float(b_, value);
  if (from == DType::bf16) return brain_to_float(b_, value);
  if (to == DType::f16) return float_to_half(b_, value);
  if (to == DType::bf16) return float_to_brain(b_, value);
  const Lane lane = lane_of(to);
  if (is_floating(from) && is_floating(to)) return to == DType::f64 ? to_f64(value) : to_f32(value);
  if (is_floating(from)) return b_.convert(is_signed_integer(to) ? "fptosi" : "fptoui", value, lane);
  if (is_floating(to)) return b_.convert(is_signed_integer(from) ? "sitofp" : "uitofp", value, lane);
  if (from == DType::b1) return b_.convert("zext", value, lane);
  if (size_of(from) == size_of(to)) return value;
  if (size_of(from) > size_of(to)) return b_.convert("trunc", value, lane);
  return b_.convert(is_signed_integer(from) ? "sext" : "zext", value, lane);
}

IrValue BodyPrinter::print_operation(const Node& node) {
  const DType type = body_[node.operands[node.op == Op::where ? 1 : 0]].type;
  IrValue operands[3];
  for (std::size_t k = 0; k < node.arity; ++k) operands[k] = values_[node.operands[k]][0];
  const std::span<const IrValue> values(operands, node.arity);
  if (node.op == Op::where) return b_.select(values[0], values[1], values[2]);
  if (node.op >= Op::eq && node.op <= Op::ge) return print_comparison(node.op, type, values[0], values[1]);
  if (!is_floating(type)) return print_integer(node, type, values);
  IrValue fused;
  if (contract_ && b_.features().fma && fuse(node, fused)) return fused;
  return print_float(node, values);
}

bool BodyPrinter::fuse(const Node& node, IrValue& result) {
  if (node.op != Op::add && node.op != Op::sub) return false;
  for (int k = 0; k < 2; ++k) {
    const Node& product = body_[node.operands[static_cast<std::size_t>(k)]];
    if (product.kind != NodeKind::operation || product.op != Op::mul) continue;
    if (uses_[node.operands[static_cast<std::size_t>(k)]] != 1) continue;
    // Factors of a product from another part of the kernel may be out of reach here; the product is kept.
    if (computed_[node.operands[static_cast<std::size_t>(k)]] != call_) continue;
    IrValue a = values_[product.operands[0]][0];
    const IrValue& c = values_[product.operands[1]][0];
    IrValue addend = values_[node.operands[static_cast<std::size_t>(1 - k)]][0];
    if (node.op == Op::sub && k == 0) addend = -addend;
    if (node.op == Op::sub && k == 1) a = -a;
    result = b_.intrinsic("fma", {a, c, addend});
    return true;
  }
  return false;
}

IrValue BodyPrinter::print_comparison(Op op, DType type, const IrValue& a, const IrValue& b) {
  constexpr const char* floats[] = {"oeq", "une", "olt", "ole", "ogt", "oge"};
  constexpr const char* signs[] = {"eq", "ne", "slt", "sle", "sgt", "sge"};
  constexpr const char* unsigneds[] = {"eq", "ne", "ult", "ule", "ugt", "uge"};
  const int row = static_cast<int>(op) - static_cast<int>(Op::eq);
  if (is_floating(type)) return b_.compare(fmt::format("fcmp {}", floats[row]), a, b);
  return b_.compare(fmt::format("icmp {}", is_signed_integer(type) ? signs[row] : unsigneds[row]), a, b);
}

IrValue BodyPrinter::print_integer(const Node& node, DType type, std::span<const IrValue> v) {
  const bool sign = is_signed_integer(type);
  switch (node.op) {
    case Op::add:
      return v[0] + v[1];
    case Op::sub:
      return v[0] - v[1];
    case Op::mul:
      return v[0] * v[1];
    case Op::neg:
      return -v[0];
    case Op::div:
    case Op::mod: {
      // Lanes of a tail that hold no element read as zero, and a zero divisor traps.
      const IrValue divisor = b_.select(equal(v[1], 0), number_like(v[1], 1), v[1]);
      if (node.op == Op::div) return b_.binary(sign ? "sdiv" : "udiv", v[0], divisor);
      return b_.binary(sign ? "srem" : "urem", v[0], divisor);
    }
    case Op::bit_and:
      return v[0] & v[1];
    case Op::bit_or:
      return v[0] | v[1];
    case Op::bit_xor:
      return v[0] ^ v[1];
    case Op::bit_not:
      return v[0] ^ b_.bits(v[0].lane, ~std::uint64_t{0});
    case Op::shl:
      return b_.binary("shl", v[0], v[1]);
    case Op::shr:
      return b_.binary(sign ? "ashr" : "lshr", v[0], v[1]);
    case Op::minimum:
    case Op::fmin:
      return b_.intrinsic(sign ? "smin" : "umin", {v[0], v[1]});
    case Op::maximum:
    case Op::fmax:
      return b_.intrinsic(sign ? "smax" : "umax", {v[0], v[1]});
    default:
      break;
  }
  KILN_INTERNAL_CHECK(false, "{} of {} is not part of a legalised body", text_of(node.op), name_of(type));
  return {};
}

IrValue BodyPrinter::print_float(const Node& node, std::span<const IrValue> v) {
  switch (node.op) {
    case Op::add:
      return v[0] + v[1];
    case Op::sub:
      return v[0] - v[1];
    case Op::mul:
      return v[0] * v[1];
    case Op::div:
      return v[0] / v[1];
    case Op::neg:
      return -v[0];
    case Op::fma:
      return b_.features().fma ? b_.intrinsic("fma", {v[0], v[1], v[2]})
                               : libm_lanes(v[0].lane == Lane::f32 ? "fmaf" : "fma", v);
    case Op::erf:
      return call_math(node.payload == library_form ? "one_plus_erf" : "erf", v);
    case Op::tanh: {
      if (node.payload != library_form) return call_math("tanh", v);
      const IrValue one = b_.number(v[0].lane, 1), exponent = v[0] * b_.number(v[0].lane, -2);
      return one / (one + call_math("exp", {&exponent, 1}));  // (1 + tanh(x)) / 2
    }
    case Op::abs:
      return absolute(v[0]);
    case Op::copysign:
      return copy_sign(v[0], v[1]);
    case Op::sqrt:
      return square_root(v[0]);
    case Op::floor:
      return b_.features().rounding ? b_.intrinsic("floor", {v[0]}) : libm_lanes("floor", v);
    case Op::ceil:
      return b_.features().rounding ? b_.intrinsic("ceil", {v[0]}) : libm_lanes("ceil", v);
    case Op::round:
      return b_.features().rounding ? b_.intrinsic("rint", {v[0]}) : libm_lanes("rint", v);
    case Op::trunc:
      return b_.features().rounding ? b_.intrinsic("trunc", {v[0]}) : libm_lanes("trunc", v);
    default:
      return call_math(text_of(node.op), v);
  }
}

IrValue BodyPrinter::call_math(const char* name, std::span<const IrValue> operands) {
  MathContext context{b_, library_};
  return operands.size() == 1 ? call(context, name, {operands[0]}) : call(context, name, {operands[0], operands[1]});
}

IrValue BodyPrinter::libm_lanes(const char* name, std::span<const IrValue> operands) {
  MathContext context{b_, library_};
  const Lane lane = operands[0].lane;
  const auto wide = [&](std::size_t k) { return lane == Lane::f32 ? to_f64(operands[k]) : operands[k]; };
  const IrValue all = b_.bits(Lane::i1, 1), zero = b_.number(Lane::f64, 0);
  const IrValue result = operands.size() == 1 ? libm(context, name, {wide(0)}, all, zero)
                                              : libm(context, name, {wide(0), wide(1), wide(2)}, all, zero);
  return lane == Lane::f32 ? to_f32(result) : result;
}

}  // namespace kiln::codegen
