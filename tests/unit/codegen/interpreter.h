// tests/unit/codegen/interpreter.h -- a scalar interpreter of legalised bodies, in plain C++, for comparing meanings.
//
// It refuses what the grammar of passes.h promises away: division by zero, shifts by the width, conversions that do not
// fit.
#pragma once

#include <complex>
#include <cstdint>
#include <cstring>
#include <functional>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/ir/op_info.h"
#include "codegen/pass/builder.h"
#include "codegen/pass/passes.h"

namespace kiln::codegen::testing {

/// A value of any element type: its bits, and a complex number's imaginary bits.
struct Value {
  DType type = DType::f32;
  std::uint64_t bits = 0;
  std::uint64_t imag = 0;
};

template <class T>
Value to_value(T x) {
  Value value;
  value.type = dtype_of<T>;
  if constexpr (is_complex(dtype_of<T>)) {
    const auto re = x.real(), im = x.imag();
    std::memcpy(&value.bits, &re, sizeof re);
    std::memcpy(&value.imag, &im, sizeof im);
  } else {
    std::memcpy(&value.bits, &x, sizeof x);
  }
  return value;
}

template <class T>
T from_value(const Value& value) {
  EXPECT_EQ(value.type, dtype_of<T>);
  if constexpr (is_complex(dtype_of<T>)) {
    typename T::value_type parts[2];
    std::memcpy(&parts[0], &value.bits, sizeof parts[0]);
    std::memcpy(&parts[1], &value.imag, sizeof parts[1]);
    return {parts[0], parts[1]};
  } else {
    T x;
    std::memcpy(static_cast<void*>(&x), &value.bits, sizeof x);
    return x;
  }
}

struct InterpreterOptions {
  bool contract = false;  ///< fuse every mul that feeds an add or sub, as a contracting compiler may
};

/// The outputs of a legalised body for one point; `loads[a]` is the element of access a.
std::vector<Value> interpret(const Graph& body, const std::vector<Value>& loads, InterpreterOptions options = {});

/// One node that is no reduction, from the values of its operands (by id).
Value evaluate(const Graph& body, const Node& node, const std::vector<Value>& values, const std::vector<Value>& loads,
               InterpreterOptions options);

/// Records `op` on values as the front end does: operands cast by the type rule.
NodeId record(Graph& graph, Op op, std::vector<NodeId> operands);

/// A body made by `build` from loads of the argument types, run through the pipeline and ready to call.
class Compiled {
 public:
  using Build = std::function<NodeId(Graph&, const std::vector<NodeId>&)>;
  Compiled(const std::vector<DType>& types, const Build& build);
  /// One table operation on loads.
  Compiled(Op op, const std::vector<DType>& types);

  const Graph& body() const { return body_; }
  template <class R, class... Ts>
  R call(Ts... arguments) const {
    return from_value<R>(interpret(body_, {to_value(arguments)...}, options)[0]);
  }
  InterpreterOptions options;

 private:
  Graph body_;
};

/// `op` on run-time values, in one line.
template <class R, class... Ts>
R apply(Op op, Ts... arguments) {
  return Compiled(op, {dtype_of<Ts>...}).template call<R>(arguments...);
}

/// A conversion of a run-time value.
template <class R, class T>
R convert(T x) {
  const Compiled compiled({dtype_of<T>},
                          [](Graph& g, const std::vector<NodeId>& in) { return g.user_cast(in[0], dtype_of<R>); });
  return compiled.template call<R>(x);
}

/// The same value and the same bits, except that any NaN equals any NaN.
template <class T>
::testing::AssertionResult same(T a, T b) {
  if ((a != a && b != b) || std::memcmp(&a, &b, sizeof a) == 0) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << a << " is not " << b;
}

}  // namespace kiln::codegen::testing
