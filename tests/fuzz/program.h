// tests/fuzz/program.h -- a random program: operands in memory, nodes over them, outputs. Plain data, no kiln code.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <kiln/detail/bridge.h>

namespace fuzz {

using kiln::DType;
using kiln::Op;
using kiln::detail::ViewKind;
using Shape = std::vector<std::int64_t>;

inline std::int64_t count(const Shape& shape) {
  std::int64_t n = 1;
  for (const std::int64_t extent : shape) n *= extent;
  return n;
}

/// One pure layout change, with the numbers of record_view.
struct View {
  ViewKind kind = ViewKind::transpose;
  std::vector<std::int64_t> numbers;
};

/// An array in memory and the view of it that the program reads.
struct Operand {
  DType type = DType::f32;
  Shape base;
  std::vector<View> views;
  Shape shape;  ///< after the views
  std::uint64_t seed = 0;
  bool special = false;  ///< some values are NaN, infinite, zero, extreme
  int memory = -1;       ///< an earlier operand whose base array this one views too
};

/// Through which interface a program runs.
enum class Interface : std::uint8_t { cpp, c };

enum class NodeKind : std::uint8_t { operand, scalar, literal, operation, cast, view, index, reduce, scan, take };
enum class Function : std::uint8_t {
  sum,
  prod,
  max,
  min,
  mean,
  var,
  std_,
  any,
  all,
  argmax,
  argmin,
  norm,
  logsumexp,
  count_nonzero
};
inline constexpr int function_count = 14;

/// Functions by which users join elements; combiners.h says what they are.
enum class Joining : std::uint8_t { none, twist, larger, total, gaussian, affine, best };

struct Node {
  NodeKind kind = NodeKind::operand;
  DType type = DType::f32;
  Shape shape = {};
  std::vector<int> inputs = {};  ///< numbers of earlier nodes
  Op op = Op::add;
  Function function = Function::sum;
  std::vector<int> axes = {};  ///< reduce: those reduced, ascending; scan, index: one
  bool from_end = false;       ///< the axes are written as negative numbers
  bool unnamed = false;        ///< no axis is written, which means all
  bool keepdims = false;
  int ddof = 0;
  bool accumulates = false;         ///< kl::accumulate<type>
  Joining joining = Joining::none;  ///< reduce, scan: by a user's function, not by `function`
  int component = 0;                ///< of the values that it joins, the one that is the node
  bool has_identity = true;         ///< else elements are joined to one another only
  int mode = 0;                     ///< take: 0 every index is in range, 1 clip, 2 wrap
  View view = {};
  int slot = 0;      ///< operand or scalar
  double value = 0;  ///< scalar and literal
};

struct Output {
  int node = 0;
  int destination = -1;  ///< operand whose view is overwritten; -1: a new array
};

struct Program {
  std::uint64_t seed = 0;
  std::vector<Operand> operands;
  std::vector<Node> nodes;
  std::vector<Output> outputs;
  bool contract = true;  ///< kl::Options{.contract}
};

/// Element numbers: `source[i]` is the element of `from` that element i (C order) of the view is; -1: what fills a
/// shift.
struct Mapping {
  Shape shape = {};
  std::vector<std::int64_t> source;
};
Mapping apply_view(const View& view, const Shape& from);
/// All views of an operand, from its base array.
Mapping view_of(const Operand& operand);
/// NumPy's broadcasting; false when the shapes do not fit.
bool broadcast(Shape& into, const Shape& other);
/// For each element of `shape`, the element of `from` that broadcasts to it.
std::vector<std::int64_t> broadcast_source(const Shape& from, const Shape& shape);

/// Sums of bool and integers are 64-bit of the same signedness.
DType sum_type(DType type);
DType result_of(Function function, DType type);

Program generate(std::uint64_t seed);
/// A C++ program on the public interface that shows the same computation.
std::string to_text(const Program& program);

/// Runs on the current device and compares with the reference. Empty when all is well, else what differs.
std::string check(const Program& program, Interface interface = Interface::cpp);
/// Compiles for an architecture that need not be present. Empty, or what went wrong.
std::string compile(const Program& program, const std::string& arch);
/// A smaller program in which `check` still finds a problem.
Program shrink(Program program, const std::function<std::string(const Program&)>& check);

}  // namespace fuzz
