// tests/unit/codegen/interpreter.cpp -- evaluates legalised bodies node by node.
#include "interpreter.h"

#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace kiln::codegen::testing {
namespace {

template <class T>
T get(const Value& value) {
  T x;
  std::memcpy(&x, &value.bits, sizeof x);
  return x;
}

template <class T>
Value put(T x) {
  return to_value<T>(x);
}

/// Calls `f` with a value of the C++ type of `type`.
template <class F>
auto dispatch(DType type, F&& f) {
  switch (type) {
    case DType::b1:
      return f(bool{});
    case DType::i8:
      return f(std::int8_t{});
    case DType::i16:
      return f(std::int16_t{});
    case DType::i32:
      return f(std::int32_t{});
    case DType::i64:
      return f(std::int64_t{});
    case DType::u8:
      return f(std::uint8_t{});
    case DType::u16:
      return f(std::uint16_t{});
    case DType::u32:
      return f(std::uint32_t{});
    case DType::u64:
      return f(std::uint64_t{});
    case DType::f32:
      return f(float{});
    default:
      return f(double{});
  }
}

Value fault(const char* what) {
  ADD_FAILURE() << "the body breaks its grammar: " << what;
  return {};
}

template <class T>
Value compare(Op op, T a, T b) {
  switch (op) {
    case Op::eq:
      return put(a == b);
    case Op::ne:
      return put(a != b);
    case Op::lt:
      return put(a < b);
    case Op::le:
      return put(a <= b);
    case Op::gt:
      return put(a > b);
    default:
      return put(a >= b);
  }
}

template <class T>
Value integer_operation(Op op, T a, T b) {
  using U = std::make_unsigned_t<T>;
  using W = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
  const W x = a, y = b;
  constexpr int width = static_cast<int>(8 * sizeof(T));
  switch (op) {
    case Op::add:
      return put(static_cast<T>(static_cast<U>(x + y)));
    case Op::sub:
      return put(static_cast<T>(static_cast<U>(x - y)));
    case Op::mul:
      return put(static_cast<T>(static_cast<U>(static_cast<unsigned __int128>(x) * static_cast<unsigned __int128>(y))));
    case Op::neg:
      return put(static_cast<T>(static_cast<U>(-x)));
    case Op::div:
    case Op::mod:
      if (b == 0) return fault("division by zero");
      if (std::is_signed_v<T> && y == static_cast<W>(-1) && a == std::numeric_limits<T>::min())
        return fault("MIN / -1");
      return put(static_cast<T>(op == Op::div ? x / y : x % y));
    case Op::bit_and:
      return put(static_cast<T>(a & b));
    case Op::bit_or:
      return put(static_cast<T>(a | b));
    case Op::bit_xor:
      return put(static_cast<T>(a ^ b));
    case Op::bit_not:
      return put(static_cast<T>(~a));
    case Op::shl:
    case Op::shr:
      if (y < 0 || y >= width) return fault("shift amount");
      return op == Op::shl ? put(static_cast<T>(static_cast<U>(static_cast<U>(a) << b))) : put(static_cast<T>(a >> b));
    case Op::minimum:
      return put(a < b ? a : b);
    case Op::maximum:
      return put(a < b ? b : a);
    default:
      return fault("integer operation");
  }
}

Value boolean_operation(Op op, bool a, bool b) {
  switch (op) {
    case Op::bit_and:
      return put(a && b);
    case Op::bit_or:
      return put(a || b);
    case Op::bit_xor:
      return put(a != b);
    case Op::bit_not:
      return put(!a);
    default:
      return fault("bool operation");
  }
}

template <class T>
T extremum(Op op, T a, T b) {
  const bool ignores = op == Op::fmin || op == Op::fmax;
  if (std::isnan(a)) return ignores ? b : a;
  if (std::isnan(b)) return ignores ? a : b;
  if (a == b) return std::signbit(a) == (op == Op::minimum || op == Op::fmin) ? a : b;
  return (a < b) == (op == Op::minimum || op == Op::fmin) ? a : b;
}

template <class T>
Value trigonometric_function(Op op, T a) {
  switch (op) {
    case Op::sin:
      return put(std::sin(a));
    case Op::cos:
      return put(std::cos(a));
    case Op::tan:
      return put(std::tan(a));
    case Op::asin:
      return put(std::asin(a));
    case Op::acos:
      return put(std::acos(a));
    case Op::atan:
      return put(std::atan(a));
    case Op::sinh:
      return put(std::sinh(a));
    case Op::cosh:
      return put(std::cosh(a));
    case Op::tanh:
      return put(std::tanh(a));
    case Op::asinh:
      return put(std::asinh(a));
    case Op::acosh:
      return put(std::acosh(a));
    case Op::atanh:
      return put(std::atanh(a));
    default:
      return fault("float operation");
  }
}

template <class T>
Value float_function(Op op, T a, T b) {
  switch (op) {
    case Op::pow:
      return put(std::pow(a, b));
    case Op::hypot:
      return put(std::hypot(a, b));
    case Op::atan2:
      return put(std::atan2(a, b));
    case Op::rsqrt:
      return put(T(1) / std::sqrt(a));
    case Op::cbrt:
      return put(std::cbrt(a));
    case Op::exp:
      return put(std::exp(a));
    case Op::exp2:
      return put(std::exp2(a));
    case Op::expm1:
      return put(std::expm1(a));
    case Op::log:
      return put(std::log(a));
    case Op::log2:
      return put(std::log2(a));
    case Op::log10:
      return put(std::log10(a));
    case Op::log1p:
      return put(std::log1p(a));
    case Op::erf:
      return put(std::erf(a));
    case Op::erfc:
      return put(std::erfc(a));
    case Op::lgamma:
      return put(std::lgamma(a));
    case Op::tgamma:
      return put(std::tgamma(a));
    default:
      return trigonometric_function(op, a);
  }
}

template <class T>
Value float_operation(Op op, T a, T b, T c) {
  switch (op) {
    case Op::add:
      return put(a + b);
    case Op::sub:
      return put(a - b);
    case Op::mul:
      return put(a * b);
    case Op::div:
      return put(a / b);
    case Op::neg:
      return put(-a);
    case Op::fma:
      return put(std::fma(a, b, c));
    case Op::abs:
      return put(std::fabs(a));
    case Op::copysign:
      return put(std::copysign(a, b));
    case Op::fmod:
      return put(std::fmod(a, b));
    case Op::minimum:
    case Op::maximum:
    case Op::fmin:
    case Op::fmax:
      return put(extremum(op, a, b));
    case Op::sqrt:
      return put(std::sqrt(a));
    case Op::floor:
      return put(std::floor(a));
    case Op::ceil:
      return put(std::ceil(a));
    case Op::round:
      return put(std::nearbyint(a));
    case Op::trunc:
      return put(std::trunc(a));
    default:
      return float_function(op, a, b);
  }
}

template <class To, class From>
Value convert_number(From x) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    const long double whole = std::trunc(static_cast<long double>(x));
    if (!(whole >= static_cast<long double>(std::numeric_limits<To>::min()) &&
          whole <= static_cast<long double>(std::numeric_limits<To>::max()))) {
      return fault("conversion does not fit");
    }
  }
  return put(static_cast<To>(x));
}

Value cast_value(const Value& from, DType to) {
  if (from.type == DType::f16) return put(float{half::from_bits(static_cast<std::uint16_t>(from.bits))});
  if (from.type == DType::bf16) return put(float{bfloat16::from_bits(static_cast<std::uint16_t>(from.bits))});
  if (to == DType::f16) return put(half(get<float>(from)));
  if (to == DType::bf16) return put(bfloat16(get<float>(from)));
  return dispatch(from.type, [&](auto f) {
    using From = decltype(f);
    const From x = get<From>(from);
    return dispatch(to, [&](auto t) -> Value { return convert_number<decltype(t)>(x); });
  });
}

class Interpreter {
 public:
  Interpreter(const Graph& body, const std::vector<Value>& values, const std::vector<Value>& loads,
              InterpreterOptions options)
      : body_(body), values_(values), loads_(loads), options_(options) {}

  Value evaluate(const Node& node) {
    switch (node.kind) {
      case NodeKind::input:
      case NodeKind::iota:
      case NodeKind::load:
      case NodeKind::parameter:
        return loads_.at(node.payload);
      case NodeKind::literal:
        return {node.type, node.payload, 0};
      case NodeKind::cast:
        return cast_value(operand(node, 0), node.type);
      case NodeKind::bitcast:
        return {node.type, operand(node, 0).bits, 0};
      case NodeKind::real_part:
        return {node.type, operand(node, 0).bits, 0};
      case NodeKind::imag_part:
        return {node.type, operand(node, 0).imag, 0};
      case NodeKind::complex:
        return {node.type, operand(node, 0).bits, operand(node, 1).bits};
      case NodeKind::mulhi:
        return put(static_cast<std::uint32_t>((operand(node, 0).bits * operand(node, 1).bits) >> 32));
      case NodeKind::operation:
        return operation(node);
      default:
        return fault("node kind");
    }
  }

 private:
  const Value& operand(const Node& node, std::size_t i) const { return values_[node.operands[i]]; }

  template <class T>
  Value contracted(const Node& node, T a, T b) {
    const T sign = node.op == Op::sub ? T(-1) : T(1);
    const Node& left = body_[node.operands[0]];
    const Node& right = body_[node.operands[1]];
    if (left.kind == NodeKind::operation && left.op == Op::mul) {
      return put(std::fma(get<T>(operand(left, 0)), get<T>(operand(left, 1)), sign * b));
    }
    if (right.kind == NodeKind::operation && right.op == Op::mul) {
      return put(std::fma(sign * get<T>(operand(right, 0)), get<T>(operand(right, 1)), a));
    }
    return put(a + sign * b);
  }

  Value operation(const Node& node) {
    const Op op = node.op;
    if (op == Op::where) return get<bool>(operand(node, 0)) ? operand(node, 1) : operand(node, 2);
    const DType type = operand(node, 0).type;
    if (type == DType::b1) {
      return boolean_operation(op, get<bool>(operand(node, 0)), node.arity > 1 && get<bool>(operand(node, 1)));
    }
    return dispatch(type, [&](auto zero) -> Value {
      using T = decltype(zero);
      const T a = get<T>(operand(node, 0));
      const T b = node.arity > 1 ? get<T>(operand(node, 1)) : T{};
      if (is_comparison(op)) return compare(op, a, b);
      if constexpr (std::is_floating_point_v<T>) {
        if (node.payload == library_form && op == Op::erf) return put(std::erfc(-a));
        if (node.payload == library_form && op == Op::tanh) return put(1 / (1 + std::exp(-2 * a)));
        if (options_.contract && (op == Op::add || op == Op::sub)) return contracted(node, a, b);
        return float_operation<T>(op, a, b, node.arity > 2 ? get<T>(operand(node, 2)) : T{});
      } else if constexpr (!std::is_same_v<T, bool>) {
        return integer_operation<T>(op, a, b);
      }
      return {};
    });
  }

  const Graph& body_;
  const std::vector<Value>& values_;
  const std::vector<Value>& loads_;
  InterpreterOptions options_;
};

}  // namespace

std::vector<Value> interpret(const Graph& body, const std::vector<Value>& loads, InterpreterOptions options) {
  std::vector<Value> values(body.size());
  for (NodeId id = 0; id < body.size(); ++id) values[id] = evaluate(body, body[id], values, loads, options);
  std::vector<Value> outputs;
  for (const NodeId output : body.outputs) outputs.push_back(values[output]);
  return outputs;
}

Value evaluate(const Graph& body, const Node& node, const std::vector<Value>& values, const std::vector<Value>& loads,
               InterpreterOptions options) {
  return Interpreter(body, values, loads, options).evaluate(node);
}

NodeId record(Graph& graph, Op op, std::vector<NodeId> operands) {
  std::vector<DType> types;
  for (const NodeId operand : operands) types.push_back(graph[operand].type);
  const TypeRule rule = type_rule(op, types);
  EXPECT_EQ(rule.error, "");
  const std::size_t first_value = op == Op::where ? 1 : 0;
  for (std::size_t i = first_value; i < operands.size() && !rule.keeps_operands; ++i) {
    operands[i] = graph.cast(operands[i], rule.operand);
  }
  return graph.operation(op, rule.result, operands);
}

Compiled::Compiled(const std::vector<DType>& types, const Build& build) {
  Graph graph;
  std::vector<NodeId> inputs;
  for (std::size_t i = 0; i < types.size(); ++i) inputs.push_back(graph.load(i, types[i]));
  graph.outputs = {build(graph, inputs)};
  verify(graph, true);
  body_ = run_pipeline(graph, {});
  verify_legal(body_);
}

Compiled::Compiled(Op op, const std::vector<DType>& types)
    : Compiled(types, [op](Graph& graph, const std::vector<NodeId>& inputs) { return record(graph, op, inputs); }) {}

}  // namespace kiln::codegen::testing
